"""The descriptors between guard and jail: pipes, a socket, files in memory."""

from __future__ import annotations

import fcntl
import os
import socket
from collections.abc import Iterable
from typing import Final

PIPE_SIZE: Final = 1 << 20  # bytes; what an ordinary user may ask for (/proc/sys/fs/pipe-max-size)
Fds = list[int]


class Channels:
    """Both ends of everything between guard and jail, until `close_theirs` or `close`.

    Only the guard holds the writing ends of `block` and `go`, so that its death is an end of file.
    """

    def __init__(self) -> None:
        self._stdin, self._stdout, self._stderr, self._block = (os.pipe() for _ in range(4))
        ours, theirs = socket.socketpair()
        self._go = (ours.detach(), theirs.detach())
        for fd in (self._stdin[1], self._stdout[0]):
            _widen(fd)
        self._files: list[int] = []

    @property
    def ours(self) -> dict[str, int]:
        """The guard's ends, by name."""
        return {
            "stdin": self._stdin[1],
            "stdout": self._stdout[0],
            "stderr": self._stderr[0],
            "block": self._block[1],
            "go": self._go[0],
        }

    def theirs(self, options: bytes, seccomp: bytes, starter: bytes, data: list[bytes]) -> Fds:
        """What the child gets as 0, 1, 2, ...: stdio, options, filter, block, starter, go, data."""
        stdio = [self._stdin[0], self._stdout[1], self._stderr[1]]
        settings = [self._memory(content) for content in (options, seccomp)]
        starting = [self._block[0], self._memory(starter), self._go[1]]
        return [*stdio, *settings, *starting, *map(self._memory, data)]

    def close_theirs(self) -> None:
        """Close what the child has by now."""
        pairs = (self._stdin, self._stdout, self._stderr, self._block, self._go)
        held = {fd for pair in pairs for fd in pair} - set(self.ours.values())
        close_all([*held, *self._files])

    def close(self) -> None:
        """Close everything."""
        self.close_theirs()
        close_all(self.ours.values())

    def _memory(self, content: bytes) -> int:
        fd = os.memfd_create("mcp-jail")
        self._files.append(fd)
        os.write(fd, content)
        os.lseek(fd, 0, os.SEEK_SET)
        return fd


def close_all(fds: Iterable[int]) -> None:
    """Close each descriptor."""
    for fd in fds:
        os.close(fd)


def _widen(fd: int) -> None:
    try:
        fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, PIPE_SIZE)
    except OSError:
        return  # above the user's share of pipe memory; a smaller pipe is slower, not weaker
