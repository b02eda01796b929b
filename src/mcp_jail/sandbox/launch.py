"""A plan as a running child, in the order that leaves nothing behind at any moment.

1. The keeper is forked; from here on the guard may be killed and nothing stays.
2. bwrap is started by the keeper and builds the jail. The server is held back by a pipe whose
   reading end is opened for writing too: with a plain pipe the guard's death is an end of file, and
   an end of file starts the server.
3. From outside: the namespaces are others than ours, the network has no interface but lo, and each
   bind is the very directory that was judged.
4. `go` lets the server start; `status` reads what the kernel says of it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import select
import signal
import time
from collections.abc import Iterable, Iterator
from typing import Final

from mcp_jail.core.spec import MountKind, Plan
from mcp_jail.errors import JailBuildError
from mcp_jail.sandbox import keeper as keepers
from mcp_jail.sandbox.bwrap import Descriptors, arguments, encode
from mcp_jail.sandbox.outside import (
    ServerStatus,
    check_identities,
    check_interfaces,
    check_mounts,
    check_namespaces,
    children,
    end_holders,
    inside_number,
    read_status,
)

PIPE_SIZE: Final = 1 << 20  # bytes; what an ordinary user may ask for (/proc/sys/fs/pipe-max-size)
SETUP_DEADLINE: Final = 10.0  # seconds bwrap may take; it needs 5 to 10 ms on an idle machine
NAP: Final = 0.0003  # seconds between two looks
SERVER_NUMBER: Final = 2  # in its PID namespace: bwrap is 1 and forks the server first
FIRST_DATA: Final = 7  # the child's descriptors: 0-2 stdio, 3 options, 4 filter, 5 info, 6 block


class NotHeldError(JailBuildError):
    """The kernel does not hold the running server as planned; carries what it says instead."""

    def __init__(self, status: ServerStatus) -> None:
        super().__init__("the server is not held by the kernel")
        self.status = status


class Jail:
    """A jail being built or running. Its descriptors belong to the caller, `close` closes them.

    `stdin` is written to, `stdout` and `stderr` are read; all are blocking. `pidfd` becomes
    readable when the jail is over.
    """

    def __init__(
        self, plan: Plan, keeper: keepers.Keeper, spawned: keepers.Spawned, ends: dict[str, int]
    ) -> None:
        self.plan = plan
        self.keeper = keeper
        self.bwrap_pid = spawned.pid
        self.pidfd = spawned.pidfd
        self.stdin = ends["stdin"]
        self.stdout = ends["stdout"]
        self.stderr = ends["stderr"]
        self._info = ends["info"]
        self._block = ends["block"]
        self._init: int | None = None
        self._init_pidfd = -1
        self._server: tuple[int, int] | None = None  # its number, and a pidfd
        self._verified = False
        self._went = False
        self._closed = False
        self._status: int | None = None

    @property
    def init_pid(self) -> int:
        """The host's number of the process that is PID 1 inside."""
        if self._init is None:
            self._init = self._read_info()
            try:
                self._init_pidfd = os.pidfd_open(self._init)
            except ProcessLookupError:
                raise self._why_bwrap_ended() from None
        return self._init

    def verify(self) -> None:
        """Wait until the jail is built and look at it from outside; JailBuildError ends it."""
        try:
            self._wait_for_setup()
            check_namespaces(self.init_pid)
            check_interfaces(self.init_pid)
            check_mounts(self.init_pid, self.plan.mounts)
            check_identities(self.init_pid, self.plan.mounts)
        except OSError as error:  # it went away under our eyes
            why = self._why_bwrap_ended()
            self.close()
            raise why from error
        except BaseException:
            self.close()
            raise
        self._verified = True

    def go(self) -> None:
        """Let the server start, after `verify`."""
        if not self._verified:
            self.verify()
        self._went = True
        try:
            os.write(self._block, b"g")
        except BrokenPipeError:  # nobody is left to start it
            raise self._why_bwrap_ended() from None

    def server_pid(self) -> int | None:
        """The host's number of the server; waits for it after `go`. None when the jail is over."""
        for _ in self._while_running("the server did not start"):
            if self._server is None:
                self._server = _find_server(self.init_pid)
            if self._server is not None:
                return self._server[0]
        return None

    def status(self, *, has_spoken: bool = False) -> ServerStatus | None:
        """The kernel's word on the running server, None when the jail is over already.

        NotHeldError, and the end of the jail, when the kernel does not hold the server. A server
        that has spoken runs, so the first look decides; before that, bwrap may still be at work.
        """
        seen: ServerStatus | None = None
        try:
            for _ in self._while_running("the server is not held by the kernel"):
                pid = self.server_pid()
                seen = None if pid is None else read_status(pid)
                if seen is not None and seen.held:
                    return seen
                if seen is not None and has_spoken:
                    raise NotHeldError(seen)
        except JailBuildError:
            self.kill()
            raise
        return None

    def terminate(self) -> None:
        """Ask the server to end (SIGTERM); before `go`, end the jail. No error when it is gone."""
        if not self._went:
            self.kill()
        elif self.server_pid() is not None and self._server is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._server[1], signal.SIGTERM)

    def kill(self) -> None:
        """End every process of the jail at once, also where the keeper and bwrap were killed."""
        for pidfd in (self.pidfd, self._init_pidfd):
            if pidfd >= 0:
                with contextlib.suppress(ProcessLookupError):
                    signal.pidfd_send_signal(pidfd, signal.SIGKILL)

    def wait(self, timeout: float) -> int | None:
        """The jail's wait status (of the server, as bwrap passes it on), None after `timeout` s."""
        if self._status is None:
            self._status = self.keeper.status(timeout)
        return self._status

    def close(self) -> None:
        """End the jail and the keeper and close every descriptor; a second time does nothing.

        One that was closed before is to be set to -1: its number may be another file's by now.
        """
        if self._closed:
            return
        self._closed = True
        self.keeper.close()
        # A killed keeper takes nothing along, and a bwrap that waits outlives its killed parent.
        self.kill()
        if self._init is None:
            end_holders(self._block)  # which bwrap keeps until `go`
        fds = [self.stdin, self.stdout, self.stderr, self._info, self._block, self.pidfd]
        fds.append(self._init_pidfd)
        fds += [self._server[1]] if self._server is not None else []
        _close_all(fd for fd in fds if fd >= 0)

    def _read_info(self) -> int:
        """The process bwrap made; it says so before the mounts are done."""
        text = b""
        deadline = time.monotonic() + SETUP_DEADLINE
        while b"}" not in text:
            left = deadline - time.monotonic()
            ready = select.select([self._info, self.pidfd], [], [], max(left, 0.0))[0]
            if not ready:
                raise JailBuildError("bwrap does not get ready")
            more = os.read(self._info, 4096) if self._info in ready else b""
            if not more:
                raise self._why_bwrap_ended()
            text += more
        found = re.search(rb'"child-pid"\s*:\s*(\d+)', text)
        if found is None:
            raise JailBuildError("bwrap does not say which process it made")
        return int(found[1])

    def _wait_for_setup(self) -> None:
        """Wait for bwrap to drop its last capability: all is mounted then, and it blocks next."""
        for _ in self._while_running("bwrap does not get ready"):
            seen = read_status(self.init_pid)
            if seen is not None and not (seen.effective | seen.bounding):
                return
        raise self._why_bwrap_ended()

    def _while_running(self, message: str) -> Iterator[None]:
        """One look after another until the jail is over; JailBuildError when it takes too long."""
        deadline = time.monotonic() + SETUP_DEADLINE
        while time.monotonic() < deadline:
            yield
            if select.select([self.pidfd], [], [], NAP)[0]:
                return
        raise JailBuildError(message)

    def _why_bwrap_ended(self) -> JailBuildError:
        """What stands on stderr; until `go`, only bwrap can have written it."""
        os.set_blocking(self.stderr, False)
        try:
            text = os.read(self.stderr, 4096).decode(errors="replace").strip()
        except BlockingIOError:
            text = ""
        return JailBuildError(
            f"the jail cannot be built: {text or 'bwrap ended'}", hint=_cure(text)
        )


def launch(plan: Plan, *, keeper: keepers.Keeper | None = None) -> Jail:
    """Start the jail of a plan; the server waits for `go`. JailBuildError when there is a gap."""
    if plan.gaps:
        raise JailBuildError(
            "; ".join(f"{gap.promise}: {gap.cause}" for gap in plan.gaps),
            hint="; ".join(gap.cure for gap in plan.gaps),
        )
    keeper = keeper or keepers.start()
    opened: list[int] = []
    try:
        ours, theirs = _channels(opened)
        data = [_memory(m.data or b"") for m in plan.mounts if m.kind is MountKind.DATA]
        numbers = tuple(range(FIRST_DATA, FIRST_DATA + len(data)))
        fds = Descriptors(seccomp=4, info=5, block=6, data=numbers)
        options = _memory(encode(arguments(plan, fds)))
        theirs[3:3] = [options, _memory(plan.seccomp)]
        theirs += data
        opened += [options, theirs[4], *data]
        argv = [plan.bwrap, "--args", "3", "--", *plan.command]
        spawned = keeper.spawn(plan.bwrap, argv, theirs)
    except BaseException:
        keeper.close()
        _close_all(opened)
        raise
    _close_all(fd for fd in opened if fd not in ours.values())
    return Jail(plan, keeper, spawned, ours)


def _find_server(init: int) -> tuple[int, int] | None:
    """The server's number and a pidfd, None while it is not there."""
    for pid in children(init):
        try:
            pidfd = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        if inside_number(pid) == SERVER_NUMBER:  # asked once the number cannot change hands
            return pid, pidfd
        os.close(pidfd)
    return None


def _channels(opened: list[int]) -> tuple[dict[str, int], list[int]]:
    """Our ends by name, and the child's 0, 1, 2, info, block; every one is noted in `opened`."""

    def pipe() -> tuple[int, int]:
        ends = os.pipe()
        opened.extend(ends)
        return ends

    stdin, stdout, stderr, info, block = pipe(), pipe(), pipe(), pipe(), pipe()
    for fd in (stdin[1], stdout[0]):
        _widen(fd)
    both_ways = os.open(f"/proc/self/fd/{block[0]}", os.O_RDWR | os.O_CLOEXEC)
    opened.append(both_ways)
    ours = {
        "stdin": stdin[1],
        "stdout": stdout[0],
        "stderr": stderr[0],
        "info": info[0],
        "block": block[1],
    }
    return ours, [stdin[0], stdout[1], stderr[1], info[1], both_ways]


def _widen(fd: int) -> None:
    try:
        fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, PIPE_SIZE)
    except OSError:
        return  # above the user's share of pipe memory; a smaller pipe is slower, not weaker


def _memory(content: bytes) -> int:
    fd = os.memfd_create("mcp-jail")
    os.write(fd, content)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def _close_all(fds: Iterable[int]) -> None:
    for fd in fds:
        os.close(fd)


_CURES: Final = (
    ("RTM_NEWADDR", "user namespaces are restricted by AppArmor; see mcp-jail doctor"),
    ("uid map", "user namespaces are restricted by AppArmor or a container; see mcp-jail doctor"),
    ("No permissions to creat", "user namespaces are closed here; see mcp-jail doctor"),
    (
        "mount proc",
        "a container with a masked /proc; run it with --security-opt systempaths=unconfined",
    ),
)


def _cure(text: str) -> str:
    return next((cure for sign, cure in _CURES if sign in text), "")
