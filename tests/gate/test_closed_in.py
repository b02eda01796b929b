"""The relay reads no file of the user's, writes none, runs nothing and listens nowhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

OnAMachine = Callable[..., Any]

TRIES = """
    import os, socket
    from mcp_jail.gate.closed_in import close_in
    from mcp_jail.proxy.gating import filters
    secret = os.path.join(FOLDER, "secret")
    with open(secret, "w") as file:
        file.write("secret")
    reading, writing = os.pipe()
    places = [os.path.join(FOLDER, "u"), chr(0) + f"u{os.getpid()}"]
    kept = []
    for place in places:
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
            one = socket.socket(socket.AF_UNIX, kind)
            one.bind(place + str(int(kind)))
            if kind is socket.SOCK_STREAM: one.listen()
            kept.append(one)
    found = filters(os.uname().machine)
    given = {"filters": found.values(), "sockets": [found["seccomp"]], "none": [b""]}
    closed_in = close_in(*given[sys.argv[2]])
    def tried(action):
        try:
            action()
            return "done"
        except OSError as error:
            return type(error).__name__
    def run():
        pid = os.fork()
        if not pid:
            try:
                os.execv("/bin/true", ["true"])
            except OSError:
                os._exit(42)
        if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 42:
            raise PermissionError
    def listen():
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
    def trace():
        import ctypes
        if ctypes.CDLL(None).ptrace(16, os.getppid(), 0, 0) == 0: return
        raise PermissionError
    def unix(make):
        reached = []
        for place in places:
            for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
                def reach():
                    one = make(kind)
                    one.connect(place + str(int(kind)))
                    one.sendall(b"x")
                if tried(reach) == "done": reached.append(place)
        return "done" if reached else "no"
    def ends_of_another(kind):
        if kind is socket.SOCK_STREAM:
            one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            other.close()
            return one
        return socket.socketpair(socket.AF_UNIX, 3)[0]  # SOCK_RAW, which the kernel takes for DGRAM
    def pair():
        one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        one.send(b"x")
        return other.recv(1)
    results = {
        "pair": tried(pair),
        "unix": unix(lambda kind: socket.socket(socket.AF_UNIX, kind)),
        "unix by pairs": unix(lambda kind: socket.socketpair(socket.AF_UNIX, kind)[0]),
        "unix by other pairs": unix(ends_of_another),
        "read": tried(lambda: open(secret).read()),
        "list": tried(lambda: os.listdir(FOLDER)),
        "write": tried(lambda: open(secret + "2", "w")),
        "truncate": tried(lambda: os.truncate(secret, 0)),
        "remove": tried(lambda: os.unlink(secret)),
        "temporary": tried(lambda: open("/dev/shm/x", "w")),
        "proc": tried(lambda: open("/proc/1/status").read()),
        "run": tried(run),
        "listen": tried(listen),
        "signal": tried(lambda: os.kill(os.getppid(), 0)),
        "trace": tried(trace),
        "resolve": tried(lambda: socket.getaddrinfo(b"localhost", None)),
        "configuration": tried(lambda: open("/etc/hosts").read()),
        "connect": tried(lambda: socket.socket().connect(("127.0.0.1", 1))),
    }
    tell([results, closed_in.landlock, closed_in.seccomp, closed_in.no_unix])
"""


def test_a_closed_in_process_can_resolve_and_connect_and_nothing_else(
    on_a_machine: OnAMachine,
) -> None:
    results, landlock, seccomp, no_unix = on_a_machine(TRIES, "filters")
    done = {name for name, result in results.items() if result == "done"}
    assert done == {"resolve", "configuration", "pair"}
    assert no_unix is True
    assert results["connect"] == "ConnectionRefusedError"
    assert landlock >= 1
    assert seccomp is True


def test_the_filter_is_not_what_keeps_it_from_files(on_a_machine: OnAMachine) -> None:
    results, _, seccomp, _ = on_a_machine(TRIES, "none")
    assert seccomp is False
    assert {results[name] for name in ("read", "write", "run", "remove")} == {"PermissionError"}


def test_nothing_else_keeps_it_from_unix_sockets(on_a_machine: OnAMachine) -> None:
    results, _, _, no_unix = on_a_machine(TRIES, "sockets")
    assert no_unix is False
    assert results["unix"] == results["unix by pairs"] == "done"


@pytest.mark.parametrize(
    ("hosts", "is_closed"),
    [
        ("files dns", True),
        ("mymachines resolve [!UNAVAIL=return] files myhostname dns", True),
        ("files mdns4_minimal [NOTFOUND=return] dns", True),
        ("files sss dns", False),
    ],
)
def test_a_relay_gives_up_unix_sockets_where_names_are_resolved_without(
    on_a_machine: OnAMachine, hosts: str, is_closed: bool
) -> None:
    code = """
    on_a_machine(FOLDER, {}, resolver=True)
    with open("/etc/nsswitch.conf", "w") as file:
        file.write(f"hosts: {sys.argv[2]}\\n")
    resolve(lambda number: [PUBLIC])
    run = python_inside(FOLDER, "tell(outcome('a.example', 7, b'x'))", allowlist("a.example:7"))
    tell([run.said, run.ready.closed_in.no_unix])
    """
    assert on_a_machine(code, hosts) == ["x", is_closed]


def test_a_running_relay_is_held_by_both(on_a_machine: OnAMachine) -> None:
    code = """
    on_a_machine(FOLDER, HOSTS)
    found = {}
    def look(gate):
        with open(f"/proc/{gate.pid}/status") as file:
            lines = dict(line.split(":", 1) for line in file.read().splitlines())
        found.update({name: lines[name].strip() for name in ("NoNewPrivs", "Seccomp")})
        found["fds"] = {os.readlink(f"/proc/{gate.pid}/fd/{fd}").split(":")[0]
                        for fd in os.listdir(f"/proc/{gate.pid}/fd")}
        found["session"] = os.getsid(gate.pid) == gate.pid
    run = python_inside(FOLDER, "time.sleep(0.5); tell(1)", allowlist("a.example"), meanwhile=look)
    tell([found["NoNewPrivs"], found["Seccomp"], sorted(found["fds"]), found["session"],
          run.ready.closed_in.seccomp])
    """
    no_new_privs, seccomp, fds, session, told = on_a_machine(code)
    assert (no_new_privs, seccomp, session, told) == ("1", "2", True, True)
    assert set(fds) == {"/dev/null", "anon_inode", "pipe", "socket"}
