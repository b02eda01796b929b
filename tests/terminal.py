"""A person at a terminal: a command with a pseudo-terminal on all its streams."""

from __future__ import annotations

import os
import select
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

# Seconds to wait for a text, and for the end.
PATIENCE: Final = 30.0


class Terminal:
    """What a command shows, and what a person types into it."""

    def __init__(self, process: subprocess.Popen[bytes], descriptor: int) -> None:
        self.process = process
        self.shown = ""
        self._descriptor = descriptor

    def wait_for(self, text: str) -> None:
        """Read until a text is shown; AssertionError when it does not come."""
        deadline = time.monotonic() + PATIENCE
        while text not in self.shown:
            assert self._read(deadline - time.monotonic()), f"no {text!r} in:\n{self.shown}"

    def type(self, text: str) -> None:
        """Type something."""
        os.write(self._descriptor, text.encode())

    def end(self) -> int:
        """Read all that comes; the exit code."""
        deadline = time.monotonic() + PATIENCE
        while self._read(deadline - time.monotonic()):
            pass
        return self.process.wait(PATIENCE)

    def _read(self, seconds: float) -> bool:
        ready, _, _ = select.select([self._descriptor], [], [], max(0.0, seconds))
        assert ready, f"nothing comes after:\n{self.shown}"
        try:
            data = os.read(self._descriptor, 1 << 16)
        except OSError:  # EIO: the command has closed its end
            return False
        self.shown += data.decode().replace("\r\n", "\n")
        return bool(data)


@contextmanager
def terminal(
    words: Sequence[str | Path], environ: Mapping[str, str], cwd: Path
) -> Iterator[Terminal]:
    """A command before a person; killed at the end if it still runs."""
    ours, theirs = os.openpty()
    process = subprocess.Popen(
        words, stdin=theirs, stdout=theirs, stderr=theirs, env=dict(environ), cwd=cwd
    )
    os.close(theirs)
    try:
        yield Terminal(process, ours)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        os.close(ours)
