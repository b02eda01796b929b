"""The keeper: a small process of ours that outlives the guard by as long as the jail does.

It is forked before anything else and is the *parent* of bwrap, for three reasons. A parent-death
signal counts per thread (prctl(2)), and the keeper has one thread that never ends before its jail;
bwrap arms it by itself (`--die-with-parent`), just before it lets its child go on. Armed earlier,
it could end bwrap while that child waits for it, and a killed keeper would leave the child for
ever. As a child subreaper it inherits what a killed bwrap leaves behind half-started, so nothing
gets away in the moments before bwrap has armed its own parent-death signals. And when the guard is
killed, the keeper is the one that still knows what to end and which files to take away.

It also starts the few programs of ours that do what a guard does not (`ASSISTANTS`): it knows them
by name, builds their command and environment itself, and ends them with the run.

What is loaded when it is forked is its memory for as long as the jail lives: what one of the two
writes to is no longer shared, and counting references writes nearly everywhere. So this module
needs nothing but quick parts of the standard library, and `typing` is not one of them.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final, NoReturn

MESSAGE_LIMIT: Final = 128 * 1024  # bytes; below the smallest default socket buffer
DESCRIPTORS_LIMIT: Final = 64  # SCM_RIGHTS carries 253
END_DEADLINE: Final = 5.0  # seconds for killed processes to be gone; they only need to be reaped

# Programs of ours outside the jail. One that gets at secrets, and runs commands for that, is not
# to be had once a server may have got at the guard.
ASSISTANTS: Final = [b"mcp_jail.asks.notify"]
ASSISTANTS_BEFORE_THE_JAIL: Final = [b"mcp_jail.store.secrets"]
DISMISS_DEADLINE: Final = 0.5  # seconds from SIGTERM to SIGKILL; clients wait two for the guard
ASSISTANTS_LIMIT: Final = 16  # at one time; a guard needs two or three

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36


def begin() -> tuple[int, socket.socket]:
    """Fork a keeper; its process id and the guard's end of their pair.

    The guard must be single-threaded, as it is before its loop starts.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    # Opened before the fork: a pidfd the keeper opened itself could already be somebody else's.
    guard = os.pidfd_open(os.getpid())
    pid = os.fork()
    if pid == 0:
        _in_the_keeper(theirs, guard)
    os.close(guard)
    theirs.close()
    return pid, ours


def _in_the_keeper(channel: socket.socket, guard: int) -> NoReturn:
    status = 1
    try:
        _settle(channel.fileno(), guard)
        _Watch(channel, guard).run()
        status = 0
    finally:
        os._exit(status)


def _settle(channel: int, guard: int) -> None:
    """Leave the guard's session and drop every descriptor and handler that came from it."""
    os.setsid()  # a Ctrl-C or hang-up meant for the client does not reach us
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    for number in (signal.SIGTERM, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    null = os.open("/dev/null", os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    _close_all_but({0, 1, 2, channel, guard})
    # Relies on Linux >= 3.4. Without it, what a killed bwrap leaves half-started would go to init.
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def _prctl(option: int, value: int) -> None:
    import ctypes  # noqa: PLC0415  # 4 ms, in the keeper's time and not in the guard's

    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, ctypes.c_ulong(value), 0, 0, 0):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


class _Watch:
    """The keeper's own life: wait for requests, the guard's end, the jail's end."""

    def __init__(self, channel: socket.socket, guard: int) -> None:
        self.channel = channel
        self.guard = guard
        self.child: tuple[int, int] | None = None  # its number, and a pidfd
        self.assistants: dict[int, int] = {}  # pidfds by number
        self.leftovers: list[bytes] = []

    def run(self) -> None:
        poll = select.poll()
        poll.register(self.guard, select.POLLIN)
        poll.register(self.channel.fileno(), select.POLLIN)
        over = False
        while not over:
            ready = {fd for fd, _ in poll.poll()}
            if self.guard in ready:
                break
            if ready.intersection(self.assistants.values()):
                self.bury(poll)
            if self.channel.fileno() in ready:
                over = not self.serve(poll)
            elif self.child is not None and self.child[1] in ready:
                over = True
        self.end()

    def serve(self, poll: select.poll) -> bool:
        """One request; False when the guard has closed its end."""
        request, fds, _, _ = socket.recv_fds(self.channel, MESSAGE_LIMIT, DESCRIPTORS_LIMIT)
        kind, _, rest = request.partition(b"\0")
        if kind == b"forget":
            self.leftovers.append(rest)
        elif kind == b"spawn":
            self.spawn(rest.split(b"\0"), fds, poll)
        elif kind == b"assist":
            self.assist(rest, fds, poll)
        for fd in fds:
            os.close(fd)
        return bool(request)

    def spawn(self, words: list[bytes], fds: list[int], poll: select.poll) -> None:
        if self.child is not None:
            self.answer(b"failed\0a keeper has one jail")
            return
        pid = os.fork()
        if pid == 0:
            _become(words[0], words[1:], {}, fds)
        self.child = pid, self.started(pid, poll)

    def assist(self, module: bytes, fds: list[int], poll: select.poll) -> None:
        known = ASSISTANTS + (ASSISTANTS_BEFORE_THE_JAIL if self.child is None else [])
        if module not in known:
            self.answer(b"failed\0the keeper does not start it" + (b" now" if self.child else b""))
        elif len(self.assistants) >= ASSISTANTS_LIMIT:
            self.answer(b"failed\0%d programs run already" % ASSISTANTS_LIMIT)
        else:
            ours = os.getpid()
            pid = os.fork()
            if pid == 0:
                _assist(module, fds, ours)
            self.assistants[pid] = self.started(pid, poll)

    def started(self, pid: int, poll: select.poll) -> int:
        """Watch over a child and tell the guard of it; a pidfd."""
        pidfd = os.pidfd_open(pid)
        poll.register(pidfd, select.POLLIN)
        self.answer(b"spawned\0%d" % pid, pidfd)
        return pidfd

    def answer(self, text: bytes, *fds: int) -> None:
        with contextlib.suppress(OSError):  # where the guard is gone, which is seen next
            socket.send_fds(self.channel, [text], fds)

    def bury(self, poll: select.poll) -> None:
        """Reap the assistants that have ended, and what they had left to us."""
        with contextlib.suppress(ChildProcessError):
            while gone := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                if self.child is not None and gone.si_pid == self.child[0]:
                    return  # its status is told at the end, which is now
                os.waitpid(gone.si_pid, 0)
                pidfd = self.assistants.pop(gone.si_pid, -1)
                if pidfd >= 0:
                    poll.unregister(pidfd)
                    os.close(pidfd)

    def end(self) -> None:
        """Kill what is left, tell how it ended, take the run's files away."""
        self.dismiss()
        status = self.reap()
        self.last_words()
        for path in self.leftovers:
            with contextlib.suppress(OSError):
                os.unlink(path)
        with contextlib.suppress(OSError):  # where nobody is left to be told
            self.channel.send(b"ended\0%d" % status)

    def dismiss(self) -> None:
        """Let assistants take away what they show on a screen; the jail ends before that."""
        if not self.assistants:
            return
        if self.child is not None:
            _signal(self.child[1], signal.SIGKILL)
        poll = select.poll()
        for pidfd in self.assistants.values():
            _signal(pidfd, signal.SIGTERM)
            poll.register(pidfd, select.POLLIN)
        deadline = time.monotonic() + DISMISS_DEADLINE
        left = len(self.assistants)
        while left and (seconds := deadline - time.monotonic()) > 0:
            for pidfd, _ in poll.poll(seconds * 1000):
                poll.unregister(pidfd)
                left -= 1

    def last_words(self) -> None:
        """Files the guard named just before it died. Nothing is started any more."""
        self.channel.setblocking(False)  # noqa: FBT003  # the standard library's own argument
        try:
            while request := self.channel.recv(MESSAGE_LIMIT):
                kind, _, rest = request.partition(b"\0")
                if kind == b"forget":
                    self.leftovers.append(rest)
        except OSError:
            return

    def reap(self) -> int:
        """Kill and reap every process below us until there is none; bwrap's wait status."""
        status: int = signal.SIGKILL
        deadline = time.monotonic() + END_DEADLINE
        while time.monotonic() < deadline:
            try:
                pid, code = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if self.child is not None and pid == self.child[0]:
                status = code
            if pid == 0:
                _kill_children()
                time.sleep(0.001)
        return status


def _signal(pidfd: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(pidfd, number)


def _kill_children() -> None:
    """SIGKILL every child of ours. A child's number stays its own until we reap it: no race."""
    ours = str(os.getpid())
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", encoding="ascii", errors="replace") as file:
                parent = file.read().rpartition(")")[2].split()[1]
            if parent == ours:
                os.kill(int(name), signal.SIGKILL)
        except (OSError, IndexError):
            continue


def _assist(module: bytes, fds: list[int], keeper: int) -> NoReturn:
    """In the forked child: be a program of ours that dies with the keeper."""
    try:
        # Here and not above, so that the keeper itself never loads it.
        from mcp_jail.sandbox.assistants import command, environment  # noqa: PLC0415

        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        os.chdir("/")  # a client may stand in anybody's repository
        if os.getppid() == keeper:
            path, *argv = command(module)
            _become(path, argv, environment(os.environ), fds)
    finally:
        os._exit(127)


def _become(path: bytes, argv: list[bytes], env: dict[str, str], fds: list[int]) -> NoReturn:
    """In the forked child: put the descriptors in their places, close the rest, be a program."""
    try:
        # An ignored signal would stay so past exec, whoever ignored it: we, or who started us.
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        _no_core_files()
        _arrange(fds)
        os.execve(path, argv, env)  # noqa: S606  # never a shell
    except OSError as error:
        os.write(2, f"{os.fsdecode(path)}: {error.strerror}\n".encode())
    finally:
        os._exit(127)


def _no_core_files() -> None:
    """A crash inside leaves nothing on the host: a core file holds the server's memory."""
    import resource  # noqa: PLC0415

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _arrange(fds: list[int]) -> None:
    """Descriptor `fds[n]` becomes n and inheritable; nothing above the last one stays open."""
    import fcntl  # noqa: PLC0415

    # First out of the way of the places to fill.
    moved = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, len(fds)) for fd in fds]
    for place, fd in enumerate(moved):
        os.dup2(fd, place, inheritable=True)
    _close_all_but(set(range(len(fds))))


def _close_all_but(kept: set[int]) -> None:
    """By the kernel's list: a descriptor may lie above a limit that was lowered later."""
    for name in os.listdir("/proc/self/fd"):
        if int(name) not in kept:
            with contextlib.suppress(OSError):  # the listing's own is gone by now
                os.close(int(name))
