"""The error stream: our words for the person, and the server's with its teeth drawn.

A host shows or logs this stream, so what a server writes there is stripped of control sequences
(CVE-2023-28100 and its kin, and OSC 52 clipboard writes), prefixed with its name and capped. A host
that does not read it never blocks us: what does not fit is dropped.
"""

from __future__ import annotations

import os
import re
import select
import stat
from collections.abc import Callable
from functools import cache

from mcp_jail.proxy.lines import CHUNK

# Bytes of one line of the server's that are shown; a longer one is cut.
LINE_LIMIT = 2 * 1024

# Bytes of a line that has no end yet; a secret that begins in what is shown ends in this.
HELD_LIMIT = LINE_LIMIT + 1024

# Bytes of the server's that are shown in one run. A chatty server writes about 10 KiB an hour.
RUN_LIMIT = 4 * 1024 * 1024

# Linux guarantees that a write up to this size to a pipe that polls as writable does not block.
PIPE_BUF = 4096


class ErrorStream:
    """Writes whole, clean lines to a descriptor and never waits for its reader."""

    def __init__(self, name: str, *, fd: int = 2) -> None:
        self._given = fd
        self._fd = _own_end(fd)
        self._prefix = f"[{name}] "
        self._rest = b""
        self._is_cutting = False
        self._shown = 0
        self._hide: Callable[[str], str] = str
        self.at_end = False  # whether the server's own stream is closed

    def hide(self, hide: Callable[[str], str]) -> None:
        """From now on, have this take the secrets out of every line."""
        self._hide = hide

    def tell(self, text: str) -> None:
        """Say something of ours."""
        self._write(f"mcp-jail: {clean(self._hide(text))}\n")

    def pass_on(self, server: int) -> bool:
        """Pass on what the server wrote to its error stream; false when there is no more now."""
        try:
            data = os.read(server, CHUNK)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if data:
            self.server_wrote(data)
            return True
        if not self.at_end:
            self.at_end = True
            self.server_ended()
        return False

    def server_wrote(self, data: bytes) -> None:
        """Pass on what the server wrote to its error stream, line by line."""
        *lines, rest = (self._rest + data).split(b"\n")
        for line in lines:
            if self._is_cutting:
                self._is_cutting = False
            else:
                self._show(line)
        if len(rest) > HELD_LIMIT and not self._is_cutting:
            self._show(rest)
            self._is_cutting = True
        self._rest = b"" if self._is_cutting else rest

    def server_ended(self) -> None:
        """Show a last line that had no newline."""
        if self._rest:
            self._show(self._rest)
            self._rest = b""

    def close(self) -> None:
        """Let go of the stream, where it was opened anew."""
        if self._fd != self._given:
            os.close(self._fd)
            self._fd = self._given

    def _show(self, line: bytes) -> None:
        if self._shown > RUN_LIMIT:
            return
        self._shown += min(len(line), LINE_LIMIT) + 1
        cut = " ... (cut)" if len(line) > LINE_LIMIT else ""
        # Cut last, as half of a secret is not found.
        text = self._hide(clean(line[:HELD_LIMIT].decode(errors="replace")))
        text = text.encode(errors="replace")[:LINE_LIMIT].decode(errors="replace") + cut
        self._write(f"{self._prefix}{text}\n")
        if self._shown > RUN_LIMIT:
            self.tell(
                f"the server wrote more than {RUN_LIMIT >> 20} MiB of errors; the rest is dropped"
            )

    def _write(self, text: str) -> None:
        data = text.encode(errors="replace")
        poll = select.poll()
        poll.register(self._fd, select.POLLOUT)
        for start in range(0, len(data), PIPE_BUF):
            ready = poll.poll(0)
            if not ready or not ready[0][1] & select.POLLOUT:
                return
            try:
                os.write(self._fd, data[start : start + PIPE_BUF])
            except OSError:
                return


def _own_end(fd: int) -> int:
    """The stream opened anew without blocking, where that can be: a terminal may be held (Ctrl-S).

    The flag must not be set on the descriptor we were given: the client's shell shares it.
    """
    try:
        mode = os.fstat(fd).st_mode
        if not (stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)):
            return fd
        flags = os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
        return os.open(f"/proc/self/fd/{fd}", flags)
    except OSError:
        return fd


def clean(text: str) -> str:
    """Text with control sequences taken out and hidden characters shown as escapes."""
    control, hidden = _patterns()
    return hidden.sub(lambda found: f"\\u{{{ord(found[0]):x}}}", control.sub("", text))


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Compiled when there is something to say: wide classes take 3 ms and 0.2 MB."""
    # CSI and OSC sequences whole, then any other control character but tab. C1 included.
    control = r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|[^\t -~\xa0-\U0010ffff]"
    # Characters that reorder or hide text: bidi controls, zero width, tags, line separators.
    hidden = "[\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]"
    return re.compile(control), re.compile(hidden)
