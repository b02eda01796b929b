"""The gate as the guard holds it: a process of its own, forked early, for one jail.

    gate = start(compile_network(policy.network), enter, seccomp=...)  # before the jail is launched
    gate.serve(jail.init_pid)                         # once its network namespace is there
    gate.ready()                                      # before the server is let go; JailBuildError
    ...                                               # gate.reports: a line of JSON an attempt
    gate.close()                                      # gate.unread, then gate.reports to its end

The relay dies with the guard, and a jail whose relay is dead reaches nothing: the listening sockets
go with the one process that holds them. This module is all of the gate that the guard loads; the
relay loads the rest after the fork.
"""

from __future__ import annotations

import contextlib
import gc
import os
import select
import signal
import socket
import time
from collections.abc import Callable
from typing import Final, NoReturn

import msgspec

from mcp_jail.core.policy import Verdict
from mcp_jail.errors import JailBuildError
from mcp_jail.gate.allow import Allow
from mcp_jail.gate.attempts import TEXT_LIMIT, Attempt, What, encode

READY_DEADLINE: Final = 10.0  # seconds from the sockets to being served; it takes 20 ms
END_DEADLINE: Final = 3.0  # seconds for the last lines; then it is killed
MESSAGE_LIMIT: Final = 4096
CALL_BEGINS: Final = b"call"  # on the control socket
UNREAD_PIECE: Final = 64 * 1024
UNREAD_LIMIT: Final = 8 << 20  # bytes of last lines; all kinds that a tally knows are 1 MiB

_PR_SET_PDEATHSIG: Final = 1


class ClosedIn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What holds the relay itself: a version of Landlock (0: none), and which filters are on."""

    landlock: int
    seccomp: bool
    no_unix: bool = False  # it can connect to no UNIX socket


class Ready(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The relay's word that it serves a jail, or why it cannot."""

    closed_in: ClosedIn
    has_ipv6: bool = False
    connections: int = 0  # at once, for which the descriptors of its process are enough
    error: str = ""


# Runs something in a fork that has entered a process's network namespace, and gives what it
# returned; JailBuildError. The sandbox has one.
Enter = Callable[[int, Callable[[], bytes]], bytes]


class Gate:
    """A relay process. `reports` is read by the guard and closed by it; `close` does the rest."""

    def __init__(self, pid: int, control: socket.socket, reports: int) -> None:
        self.pid = pid
        self.reports = reports
        self.unread = bytearray()  # of `reports`, taken while the relay ended
        self._control = control
        self._is_ready = False
        self._is_closed = False

    def serve(self, pid: int) -> None:
        """Have the relay make its sockets in the network namespace of a process, and serve it.

        Returns at once. The process must not end and its number not change hands until `ready`.
        """
        with contextlib.suppress(OSError):  # a relay that has ended: `ready` says so
            self._control.send(b"%d" % pid)

    def ready(self) -> Ready:
        """Wait until the jail's sockets are served; JailBuildError when they will not be."""
        self._control.settimeout(READY_DEADLINE)
        try:
            data = self._control.recv(MESSAGE_LIMIT)
        except OSError as error:
            raise JailBuildError(f"the gate does not get ready: {error}") from error
        if not data:
            raise JailBuildError("the gate has ended")
        ready = msgspec.json.decode(data, type=Ready)
        if ready.error:
            raise JailBuildError(f"the gate cannot be built: {ready.error}")
        self._is_ready = True
        return ready

    def open(self, door: socket.socket) -> None:
        """Hand a door's socket to a relay that is ready, and close it here; JailBuildError."""
        with door:
            try:
                socket.send_fds(self._control, [b"door"], [door.fileno()])
            except OSError as error:
                raise JailBuildError(f"the gate has ended: {error}") from error

    def call_begins(self) -> None:
        """Have the relay make room for what is refused from now on, however much was before."""
        with contextlib.suppress(
            OSError
        ):  # it has ended, or has as many of these to read as it can
            self._control.send(CALL_BEGINS, socket.MSG_DONTWAIT)

    def close(self) -> None:
        """Have the relay tell what is left and end; a second time does nothing.

        What it tells is in `unread` and then in `reports` to its end, after this. It is killed when
        it does not end, and reaped in any case.
        """
        if self._is_closed:
            return
        self._is_closed = True
        self._control.close()
        with contextlib.suppress(ProcessLookupError, ChildProcessError):  # reaped by somebody
            # One that is not ready has nothing to tell, and may wait for a jail that never comes.
            self._wait_for_end(END_DEADLINE if self._is_ready else 0)

    def _wait_for_end(self, seconds: float) -> None:
        """Read along, as a pipe holds less than a relay may have to tell."""
        pidfd = os.pidfd_open(self.pid)
        deadline = time.monotonic() + seconds
        waited = [pidfd, self.reports]
        try:
            while pidfd not in (ready := select.select(waited, [], [], _left(deadline))[0]):
                if not ready:
                    signal.pidfd_send_signal(pidfd, signal.SIGKILL)
                    break
                piece = os.read(self.reports, UNREAD_PIECE)
                self.unread += piece
                if not piece or len(self.unread) > UNREAD_LIMIT:
                    waited = [pidfd]
            os.waitpid(self.pid, 0)
        finally:
            os.close(pidfd)


def start(allow: Allow, enter: Enter | None, *, seccomp: bytes = b"", no_unix: bytes = b"") -> Gate:
    """Fork the relay of one jail. The guard must be single-threaded, as it is before its loop.

    Without `enter` it makes no sockets and sees nothing but what comes by a door (`Gate.open`).
    `seccomp` is a filter in classic BPF that the relay puts on itself (empty: none), and `no_unix`
    another, which it leaves off where names cannot be resolved with it.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    reading, writing = os.pipe()
    guard = os.getpid()
    pid = os.fork()
    if pid == 0:
        _in_the_relay(guard, _Task(allow, enter, seccomp, no_unix, theirs, writing))
    theirs.close()
    os.close(writing)
    return Gate(pid, ours, reading)


class _Task(msgspec.Struct, frozen=True):
    """What a relay is forked with."""

    allow: Allow
    enter: Enter | None
    seccomp: bytes
    no_unix: bytes
    control: socket.socket
    reports: int


def _left(deadline: float) -> float:
    return max(0.0, deadline - time.monotonic())


def _in_the_relay(guard: int, task: _Task) -> NoReturn:
    try:
        _settle(guard, {task.control.fileno(), task.reports})
        _serve(task)
    except BaseException as error:  # noqa: BLE001  # whatever it is, it is told and not survived
        _tell_the_bug(error, task.reports)
    finally:
        os._exit(0)


def _serve(task: _Task) -> None:
    """Make the sockets, close in, relay: in this order, as the errand needs every right we have."""
    from mcp_jail.gate import relay  # noqa: PLC0415
    from mcp_jail.gate.closed_in import close_in, must_keep_unix_sockets  # noqa: PLC0415
    from mcp_jail.gate.sockets import Sockets, make_inside  # noqa: PLC0415

    gc.freeze()
    number = task.control.recv(MESSAGE_LIMIT)
    if not number:
        return
    sockets = Sockets((), has_ipv6=False)
    try:
        if task.enter is not None:
            sockets = make_inside(int(number), task.allow.ports, task.enter)
    except JailBuildError as error:
        failed = Ready(ClosedIn(0, seccomp=False), error=error.message)
        task.control.send(msgspec.json.encode(failed))
        return
    no_unix = b"" if must_keep_unix_sockets(task.allow) else task.no_unix
    ready = Ready(close_in(task.seccomp, no_unix), has_ipv6=sockets.has_ipv6)
    relay.run(task.allow, sockets, task.control, task.reports, ready)


def _settle(guard: int, kept: set[int]) -> None:
    """Leave the guard's session, die with it, drop what came from it."""
    import ctypes  # noqa: PLC0415  # 4 ms, in the relay's time and not in the guard's

    libc = ctypes.CDLL(None, use_errno=True)
    # Relies on nothing newer than Linux 2.2. The end of `control` says the same, if later.
    libc.prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != guard:
        os._exit(1)
    os.setsid()
    os.chdir("/")
    # A client's entry brings variables along, some of which choose other names to resolve
    # (LOCALDOMAIN, HOSTALIASES, RES_OPTIONS: resolver(5)).
    os.environ.clear()
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    for number in (signal.SIGTERM, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    for name in os.listdir("/proc/self/fd"):
        if int(name) not in {0, 1, 2, *kept}:
            with contextlib.suppress(OSError):  # the listing's own is gone by now
                os.close(int(name))


def _tell_the_bug(error: BaseException, reports: int) -> None:
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    place = "" if at is None else f" at {os.path.basename(at.tb_frame.f_code.co_filename)}"
    line = "" if at is None else f":{at.tb_lineno}"
    why = f"{type(error).__name__}: {error}"[:TEXT_LIMIT] + place + line
    with contextlib.suppress(OSError):
        os.write(reports, encode(Attempt(what=What.BROKEN, verdict=Verdict.DENY, why=why)))
