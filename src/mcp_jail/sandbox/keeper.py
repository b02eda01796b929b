"""The keeper as the guard holds it: what it asks the process that is the parent of its jail.

Guard and keeper speak over one SEQPACKET pair; descriptors travel by SCM_RIGHTS. The guard asks:
`spawn NUL bwrap NUL argv...` with the child's descriptors 0, 1, 2, ... in order, and `forget NUL
path`, a file to unlink at the end. The keeper answers `spawned NUL pid` with a pidfd, or
`failed NUL text`, and says `ended NUL wait-status` when the jail is over.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
from typing import Final

from mcp_jail.core.spec import Value
from mcp_jail.errors import JailBuildError
from mcp_jail.sandbox.keeping import MESSAGE_LIMIT, begin

SPAWN_DEADLINE: Final = 10.0  # seconds for a fork


class Spawned(Value, frozen=True):
    """What the keeper started: bwrap's process id, and a pidfd that is the caller's to close."""

    pid: int
    pidfd: int


class Keeper:
    """The guard's end of a keeper process."""

    def __init__(self, pid: int, channel: socket.socket) -> None:
        self.pid = pid
        self.channel = channel

    def spawn(self, bwrap: str, argv: list[str], fds: list[int]) -> Spawned:
        """Start bwrap with these descriptors as its 0, 1, 2, ...; JailBuildError when it cannot."""
        request = _message("spawn", bwrap, *argv)
        if len(request) > MESSAGE_LIMIT:
            raise JailBuildError(
                f"the server's command line has {len(request)} bytes, at most {MESSAGE_LIMIT} fit"
            )
        self.channel.settimeout(SPAWN_DEADLINE)
        try:
            socket.send_fds(self.channel, [request], fds)
            answer, given, _, _ = socket.recv_fds(self.channel, MESSAGE_LIMIT, 1)
        except OSError as error:
            raise JailBuildError(f"the keeper does not answer: {error}") from error
        kind, _, text = answer.partition(b"\0")
        if kind != b"spawned" or not given:
            raise JailBuildError(
                f"bwrap could not be started: {os.fsdecode(text) or 'keeper gone'}"
            )
        return Spawned(pid=int(text), pidfd=given[0])

    def forget(self, path: str) -> None:
        """Have a file unlinked when the jail is over, however the guard ends; now if it is."""
        try:
            self.channel.send(_message("forget", path))
        except OSError:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)

    def status(self, timeout: float) -> int | None:
        """The jail's wait status once it is over, None when the time runs out first.

        A keeper that was killed takes the jail with it; that reads as death by SIGKILL.
        """
        self.channel.settimeout(max(timeout, 0.000001))
        try:
            answer = self.channel.recv(MESSAGE_LIMIT)
        except (TimeoutError, BlockingIOError):
            return None
        except OSError:
            return signal.SIGKILL
        kind, _, text = answer.partition(b"\0")
        return int(text) if kind == b"ended" else signal.SIGKILL

    def close(self) -> None:
        """Tell the keeper to end the jail and itself, and wait for both."""
        self.channel.close()
        try:
            os.waitpid(self.pid, 0)
        except ChildProcessError:
            return


def start() -> Keeper:
    """Fork a keeper. The guard must be single-threaded, as it is before its loop starts."""
    return Keeper(*begin())


def _message(*parts: str) -> bytes:
    return b"\0".join(os.fsencode(part) for part in parts)
