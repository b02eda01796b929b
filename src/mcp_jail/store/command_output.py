"""What a command of the user prints, within limits: no shell, no input, no descriptor of ours.

What it starts belongs to its session; all of that is killed where it breaks a limit. What it leaves
running, though it kept them, is the keeper's, who ends it with the run.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from typing import Final

from mcp_jail.errors import JailError

# Bytes of an error stream that are kept; its last line says why.
ERRORS_KEPT: Final = 4 * 1024
CHUNK: Final = 64 * 1024


class CommandError(JailError):
    """A command that printed nothing we can take; `said` is its error stream's last line."""


def command_output(argv: tuple[str, ...], *, limit: int, deadline: float) -> bytes:
    """What a command prints until it ends; CommandError.

    It may print `limit` bytes and must end before `deadline`, of the monotonic clock.
    """
    name = argv[0]
    try:
        process = subprocess.Popen(  # noqa: S603  # the user's own words, no shell
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        hint = "" if "/" in name else f"it is looked for in {os.environ.get('PATH', os.defpath)}"
        raise CommandError(f"'{name}' cannot be started: {error.strerror}", hint=hint) from None
    reading = _Reading(process, limit)
    try:
        fault = reading.until(deadline)
    finally:
        reading.close()
    if fault:
        _kill_session(process)
        raise CommandError(f"'{name}' {fault}", said=reading.said)
    status = process.wait()
    if status:
        how = f"ended with {status}" if status > 0 else f"was killed by signal {-status}"
        raise CommandError(f"'{name}' {how}", said=reading.said)
    return reading.output


class _Reading:
    """Both streams of a process, until it has ended or a limit is broken."""

    def __init__(self, process: subprocess.Popen[bytes], limit: int) -> None:
        self.output = b""
        self.errors = b""
        self._limit = limit
        self._pidfd = os.pidfd_open(process.pid)
        self._streams = [s for s in (process.stdout, process.stderr) if s is not None]
        self._out, self._err = (stream.fileno() for stream in self._streams)
        self._selector = selectors.DefaultSelector()
        for fd in (self._pidfd, self._out, self._err):
            self._selector.register(fd, selectors.EVENT_READ)

    @property
    def said(self) -> tuple[str, ...]:
        """The last line of its error stream."""
        return tuple(self.errors.decode(errors="replace").strip().splitlines()[-1:])

    def until(self, deadline: float) -> str:
        """Read until the process ends; else what it did wrong."""
        while (left := deadline - time.monotonic()) > 0:
            ready = {key.fd for key, _ in self._selector.select(left)}
            for fd in ready - {self._pidfd}:
                self._read(fd)
            if len(self.output) > self._limit:
                return f"prints more than {self._limit} bytes"
            # Who forked may leave a stream open for ever: the end of the process counts, and what
            # it wrote before is in the pipe by then.
            if ready == {self._pidfd}:
                return ""
        return "does not end in time"

    def close(self) -> None:
        self._selector.close()
        os.close(self._pidfd)
        for stream in self._streams:
            stream.close()

    def _read(self, fd: int) -> None:
        data = os.read(fd, CHUNK)
        if not data:
            self._selector.unregister(fd)
        elif fd == self._out:
            self.output += data
        else:
            self.errors = (self.errors + data)[-ERRORS_KEPT:]


def _kill_session(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
