"""The keeper as the guard holds it: what it asks the process that is the parent of its jail.

Guard and keeper speak over one SEQPACKET pair; descriptors travel by SCM_RIGHTS. The guard asks:
`spawn NUL bwrap NUL argv...` with the child's descriptors 0, 1, 2, ... in order, and `forget NUL
path`, a file to unlink at the end, and `assist NUL module`, to run a program of ours outside the
jail with three descriptors. The keeper answers `spawned NUL pid` with a pidfd, or
`failed NUL text`, and says `ended NUL wait-status` when the jail is over.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
from typing import Final

from mcp_jail.core.spec import Value
from mcp_jail.errors import JailBuildError, JailError
from mcp_jail.sandbox.keeping import MESSAGE_LIMIT, begin

SPAWN_DEADLINE: Final = 10.0  # seconds for a fork


class Spawned(Value, frozen=True):
    """What the keeper started: its process id, and a pidfd that is the caller's to close."""

    pid: int
    pidfd: int


class AssistantError(JailError):
    """A program of ours outside the jail that the keeper did not start; the jail goes on."""


class Keeper:
    """The guard's end of a keeper process."""

    def __init__(self, pid: int, channel: socket.socket) -> None:
        self.pid = pid
        self.channel = channel
        self._status: int | None = None
        self._is_deaf = False  # did not answer in time: its next answer would be to that

    def spawn(self, bwrap: str, argv: list[str], fds: list[int]) -> Spawned:
        """Start bwrap with these descriptors as its 0, 1, 2, ...; JailBuildError when it cannot."""
        request = _message("spawn", bwrap, *argv)
        if len(request) > MESSAGE_LIMIT:
            raise JailBuildError(
                f"the server's command line has {len(request)} bytes, at most {MESSAGE_LIMIT} fit"
            )
        try:
            return self._start(request, fds)
        except OSError as error:
            raise JailBuildError(f"the keeper does not answer: {error}") from error
        except _RefusedError as error:
            raise JailBuildError(f"bwrap could not be started: {error}") from error

    def assist(self, module: str, *, stdin: int, stdout: int) -> Spawned:
        """Start a program of ours outside the jail, in the keeper's care; AssistantError.

        `module` is one of `keeping.ASSISTANTS`. Its error stream is ours. It is killed at the end
        of the run at the latest; its pidfd becomes readable when it has ended.
        """
        try:
            return self._start(_message("assist", module), [stdin, stdout, 2])
        except (OSError, _RefusedError) as error:
            raise AssistantError(f"'{module}' could not be started: {error}") from error

    def _start(self, request: bytes, fds: list[int]) -> Spawned:
        """What the keeper starts when it is asked; OSError, _RefusedError."""
        if self._is_deaf:
            raise _RefusedError("the keeper does not answer")
        self.channel.settimeout(SPAWN_DEADLINE)
        self._is_deaf = True
        socket.send_fds(self.channel, [request], fds)
        answer, given, _, _ = socket.recv_fds(self.channel, MESSAGE_LIMIT, 1)
        self._is_deaf = False
        kind, _, text = answer.partition(b"\0")
        if kind == b"spawned" and given:
            return Spawned(pid=int(text), pidfd=given[0])
        if kind == b"ended":
            self._status = int(text)
            raise _RefusedError("the jail is over")
        raise _RefusedError(os.fsdecode(text) or "keeper gone")

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
        if self._status is not None:
            return self._status
        self.channel.settimeout(max(timeout, 0.000001))
        try:
            kind, _, text = self.channel.recv(MESSAGE_LIMIT).partition(b"\0")
            if self._is_deaf and kind in {b"spawned", b"failed"}:
                kind, _, text = self.channel.recv(MESSAGE_LIMIT).partition(b"\0")
        except (TimeoutError, BlockingIOError):
            return None
        except OSError:
            return signal.SIGKILL
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


class _RefusedError(Exception):
    """The keeper's own words for what it did not start."""


def _message(*parts: str) -> bytes:
    return b"\0".join(os.fsencode(part) for part in parts)
