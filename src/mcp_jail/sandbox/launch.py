"""A plan as a running child, in the order that leaves nothing behind at any moment.

1. The keeper is forked; from here on the guard may be killed and nothing stays.
2. bwrap is started by the keeper, builds the jail and waits at a pipe.
3. From outside: the namespaces are others than ours, the network has no interface but lo, and
   nothing is mounted but what was judged.
4. `go` lets bwrap execute the starter, which waits again. By now the kernel holds the server-to-be
   and ends the jail with bwrap, and bwrap with the keeper; that is looked at.
5. The starter is told to become the server, and only a living guard can tell it.

Whoever is killed at whatever moment, no server starts: an end of file lets bwrap go on to the
starter and ends the starter. So nothing that waits is left behind either. Before step 4 bwrap's
process inside has no parent-death signal, and nobody's death may leave it waiting for ever.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Final

import msgspec

from mcp_jail.core.spec import MountKind, Plan
from mcp_jail.errors import JailBuildError
from mcp_jail.sandbox import door, starter
from mcp_jail.sandbox import keeper as keepers
from mcp_jail.sandbox.bwrap import Descriptors, arguments, encode
from mcp_jail.sandbox.channels import Channels, close_all
from mcp_jail.sandbox.keeping import END_DEADLINE
from mcp_jail.sandbox.outside import (
    FILTER_MODE,
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

SETUP_DEADLINE: Final = 10.0  # seconds bwrap may take; it needs 5 to 10 ms on an idle machine
NAP: Final = 0.0003  # seconds between two looks
SERVER_NUMBER: Final = 2  # in its PID namespace: bwrap is 1 and forks the server first
# The child's descriptors: 0-2 stdio, 3 options, 4 filter, 5 block, 6 the starter, and from here on
# the data.
FIRST_DATA: Final = starter.DESCRIPTOR + 1


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
        self._block = ends["block"]
        self._go = ends["go"]
        self._init: tuple[int, int] | None = None  # its number, and a pidfd
        self._server: tuple[int, int] | None = None  # its number, and a pidfd
        self._verified = False
        self._went = False
        self._closed = False
        self._status: int | None = None

    @property
    def init_pid(self) -> int:
        """The host's number of the process that is PID 1 inside; waits for bwrap to make it."""
        if self._init is None:
            for _ in self._while_running("bwrap does not get ready"):
                self._init = _child(self.bwrap_pid)
                if self._init is not None:
                    return self._init[0]
            raise self._why_bwrap_ended()
        return self._init[0]

    def verify(self) -> None:
        """Wait until the jail is built and look at it from outside; JailBuildError ends it.

        A second time does nothing.
        """
        if self._verified:
            return
        with self._closed_by_failure():
            self._wait_for_setup()
            check_namespaces(self.init_pid, host_network=self.plan.host_network)
            if not self.plan.host_network:
                check_interfaces(self.init_pid)
            check_mounts(self.init_pid, self.plan.mounts)
            check_identities(self.init_pid, self.plan.mounts)
        self._verified = True

    def go(self, open_door: Callable[[socket.socket], None] | None = None) -> None:
        """Let the server start, after `verify`; JailBuildError ends the jail.

        NotHeldError when the kernel does not hold what is about to become the server. Where the
        plan has a door, `open_door` is given its socket; without it, nobody is behind the door.
        """
        self.verify()
        with self._closed_by_failure():
            os.write(self._block, b"g")
            if self.plan.door is not None:
                self._wait_for_the_starter()
                made = door.receive(self._go, self.plan.door)
                made.close() if open_door is None else open_door(made)
            self._hear_the_starter()
            self._check_that_it_is_held()
            self._check_that_it_ends_with_us()
            os.write(self._go, b"g")
        self._went = True

    def server_pid(self) -> int | None:
        """The host's number of the server; waits for it after `go`. None when the jail is over."""
        if select.select([self.pidfd], [], [], 0)[0]:
            return None
        for _ in self._while_running("the server did not start"):
            if self._server is None:
                self._server = _child(self.init_pid, SERVER_NUMBER)
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
        for pidfd in (self.pidfd, self._init[1] if self._init is not None else -1):
            if pidfd >= 0:
                with contextlib.suppress(ProcessLookupError):
                    signal.pidfd_send_signal(pidfd, signal.SIGKILL)

    def wait(self, timeout: float) -> int | None:
        """The jail's wait status (of the server, as bwrap passes it on), None after `timeout` s."""
        if self._status is None:
            self._status = self.keeper.status(timeout)
            if self._status is not None:
                self.kill()  # for a keeper that was killed
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
            select.select([self.pidfd], [], [], END_DEADLINE)  # it makes no child any more
            end_holders(self._block)  # which bwrap's child keeps until `go`
        fds = [self.stdin, self.stdout, self.stderr, self._block, self._go, self.pidfd]
        fds += [known[1] for known in (self._init, self._server) if known is not None]
        close_all(fd for fd in fds if fd >= 0)

    @contextlib.contextmanager
    def _closed_by_failure(self) -> Iterator[None]:
        """End the jail on any failure; one that went away under our eyes tells why itself."""
        try:
            yield
        except OSError as error:
            why = self._why_bwrap_ended()
            self.close()
            raise why from error
        except BaseException:
            self.close()
            raise

    def _wait_for_setup(self) -> None:
        """Wait for bwrap to drop its last capability: all is mounted then, and it blocks next."""
        for _ in self._while_running("bwrap does not get ready"):
            seen = read_status(self.init_pid)
            if seen is not None and not (seen.effective | seen.bounding):
                return
        raise self._why_bwrap_ended()

    def _hear_the_starter(self) -> None:
        """Wait for the starter to be executed: bwrap has nothing more to do to the server then."""
        self._wait_for_the_starter()
        if os.read(self._go, 1) != starter.HERE:
            raise self._why_bwrap_ended()

    def _wait_for_the_starter(self) -> None:
        ready = select.select([self._go, self.pidfd], [], [], SETUP_DEADLINE)[0]
        if not ready:
            raise JailBuildError("the starter does not answer")
        if self._go not in ready:
            raise self._why_bwrap_ended()

    def _check_that_it_is_held(self) -> None:
        pid = self.server_pid()
        seen = None if pid is None else read_status(pid)
        if seen is None:
            raise self._why_bwrap_ended()
        if not seen.held:
            raise NotHeldError(seen)

    def _check_that_it_ends_with_us(self) -> None:
        """Wait for PID 1 to have its parent-death signal, and see that bwrap and keeper live.

        bwrap's PID 1 arms the signal just before it puts its filter on (do_init in bubblewrap.c),
        and the filter can be seen. One who died before would not be noticed; one who dies later is.
        """
        for _ in self._while_running("bwrap's first process gets no filter"):
            seen = read_status(self.init_pid)
            if seen is not None and seen.seccomp == FILTER_MODE:
                break
        if self.wait(0) is not None or select.select([self.pidfd], [], [], 0)[0]:
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


def launch(
    plan: Plan, *, keeper: keepers.Keeper | None = None, secrets: Mapping[str, str] | None = None
) -> Jail:
    """Start the jail of a plan; the server waits for `go`. JailBuildError when there is a gap.

    `secrets` are the values of the plan's secret variables, neither more nor less.
    """
    if plan.gaps:
        raise JailBuildError(
            "; ".join(f"{gap.promise}: {gap.cause}" for gap in plan.gaps),
            hint="; ".join(gap.cure for gap in plan.gaps),
        )
    given = secrets or {}
    if given.keys() != plan.secrets.keys():
        raise JailBuildError(f"no value for {', '.join(plan.secrets.keys() ^ given.keys())}")
    keeper = keeper or keepers.start()
    channels = Channels()
    try:
        data = [m.data or b"" for m in plan.mounts if m.kind is MountKind.DATA]
        numbers = tuple(range(FIRST_DATA, FIRST_DATA + len(data)))
        whole = msgspec.structs.replace(plan, env={**plan.env, **given})
        options = arguments(whole, Descriptors(seccomp=4, block=5, starter=6, data=numbers))
        program = starter.program(os.uname().machine, plan.door)
        fds = channels.theirs(encode(options), plan.seccomp, program, data)
        argv = [plan.bwrap, "--args", "3", "--", starter.PLACE, *plan.command]
        spawned = keeper.spawn(plan.bwrap, argv, fds)
    except BaseException:
        keeper.close()
        channels.close()
        raise
    channels.close_theirs()
    return Jail(plan, keeper, spawned, channels.ours)


def _child(parent: int, number: int | None = None) -> tuple[int, int] | None:
    """A process's child with this number in its PID namespace, and a pidfd; None if there is none.

    Without a number the first child.
    """
    for pid in children(parent):
        try:
            pidfd = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        # Asked once the number cannot change hands.
        if pid in children(parent) and number in {None, inside_number(pid)}:
            return pid, pidfd
        os.close(pidfd)
    return None


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
