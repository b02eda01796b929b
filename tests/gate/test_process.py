"""The relay lives as long as the guard, and a jail without a relay reaches nothing."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

OnAMachine = Callable[..., Any]

SRC: Final = Path(__file__).resolve().parent.parent.parent / "src"


def test_the_guard_loads_little_for_it() -> None:
    code = f"""
import sys
sys.path.insert(0, {str(SRC)!r})
import mcp_jail.core.policy, mcp_jail.core.rules.hosts, mcp_jail.errors, socket, select, signal, gc
before = set(sys.modules)
import mcp_jail.gate.process
print(*sorted(set(sys.modules) - before))
"""
    done = subprocess.run(
        [sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True
    )
    assert set(done.stdout.split()) == {
        "mcp_jail.core.rules.upstream",
        "mcp_jail.gate",
        "mcp_jail.gate.allow",
        "mcp_jail.gate.attempts",
        "mcp_jail.gate.process",
    } | ({"contextlib"} & set(done.stdout.split()))


def test_a_killed_relay_closes_the_jail_and_the_guard_hears_of_it(on_a_machine: OnAMachine) -> None:
    code = """
    import signal, threading
    on_a_machine(FOLDER, HOSTS)
    gate = gate_for(allowlist("api.example.com:7"))
    script = INSIDE + textwrap.dedent('''
        first = outcome("api.example.com", 7, b"x")
        address = socket.gethostbyname("api.example.com")
        print("ready", flush=True); sys.stdin.readline()
        try: socket.getaddrinfo("api.example.com", 7); second = "resolved"
        except OSError as error: second = type(error).__name__
        tell([first, second, outcome(address, 7, b"x"), outcome("93.184.216.34", 7, b"x")])
    ''')
    spec = JailSpec(name="t", command=(os.path.realpath(sys.executable), "-I", "-c", script),
                    cwd=None, shares=(), env={})
    jail = launch.launch(build(spec, host=host_of(FOLDER)))
    gate.serve(jail.init_pid)
    jail.verify()
    gate.ready()
    jail.go()
    out = os.fdopen(jail.stdout, "rb", closefd=False)
    assert out.readline() == b"ready\\n"
    os.kill(gate.pid, signal.SIGKILL)
    reports = b""
    while more := os.read(gate.reports, 65536):
        reports += more
    os.write(jail.stdin, b"go\\n")
    said = json.loads(out.readline())
    gate.close(); gate.close(); jail.close()
    tell([said, reports.count(b"\\n")])
    """
    said, lines = on_a_machine(code)
    assert said == ["x", "gaierror", "ConnectionRefusedError", "ConnectionRefusedError"]
    assert lines == 2


def test_a_guard_that_is_killed_takes_its_relay_along(on_a_machine: OnAMachine) -> None:
    code = """
    import select, signal
    reading, writing = os.pipe()
    guard = os.fork()
    if not guard:
        gate = gate_for(allowlist("api.example.com:7"))
        os.write(writing, str(gate.pid).encode())
        signal.pause()
    relay = os.pidfd_open(int(os.read(reading, 100)))
    os.kill(guard, signal.SIGKILL)
    tell(bool(select.select([relay], [], [], 20)[0]))
    """
    assert on_a_machine(code) is True


def test_without_sockets_there_is_no_gate(on_a_machine: OnAMachine) -> None:
    code = """
    from mcp_jail.errors import JailBuildError
    from mcp_jail.gate import process
    process.READY_DEADLINE = 0.2
    told = []
    gate = gate_for(allowlist("api.example.com:7"))
    try:
        gate.ready()
    except JailBuildError as error:
        told.append(error.message)
    gate.close()
    gate = gate_for(allowlist("api.example.com:7"))
    os.kill(gate.pid, 9)
    try:
        gate.ready()
    except JailBuildError as error:
        told.append(error.message)
    gate.close()
    tell(told)
    """
    first, second = on_a_machine(code)
    assert "does not get ready" in first
    assert "the gate" in second


def test_an_errand_that_cannot_make_the_sockets_is_a_jail_that_is_not_started(
    on_a_machine: OnAMachine,
) -> None:
    code = """
    from mcp_jail.errors import JailBuildError
    gate = gate_for(allowlist("api.example.com:7"))
    spec = JailSpec(name="t", command=("/bin/sleep", "1000"), cwd=None, shares=(), env={})
    jail = launch.launch(build(spec, host=host_of(FOLDER)))
    gate.serve(jail.init_pid)
    gate.ready()
    second = gate_for(allowlist("api.example.com:7"))
    second.serve(jail.init_pid)  # where the ports are taken
    third = gate_for(allowlist("api.example.com:7"))
    third.serve(2**22 + 1)
    told = []
    for failing in (second, third):
        try:
            failing.ready()
        except JailBuildError as error:
            told.append(error.message)
        failing.close()
    gate.close(); jail.close()
    tell(told)
    """
    taken, nobody = on_a_machine(code)
    assert "Address already in use" in taken
    assert "No such file" in nobody


def test_no_gate_is_built_in_the_network_we_are_in_ourselves(on_a_machine: OnAMachine) -> None:
    """Every address of this machine would become its own: it would be cut off."""
    code = """
    from mcp_jail.errors import JailBuildError
    from mcp_jail.gate.netlink import Routes
    from mcp_jail.gate import sockets
    on_a_machine(FOLDER, HOSTS)
    told = []
    def in_place(_pid, action):
        try: return action()
        except OSError as error: raise JailBuildError(str(error)) from error
    gate = gate_for(allowlist("api.example.com:7"))
    gate.serve(os.getpid())
    for action in (lambda: sockets.make_inside(os.getpid(), (7,), in_place), gate.ready):
        try:
            told.append(action())
        except JailBuildError as error:
            told.append(error.message)
    tell([told, Routes().is_own(PUBLIC)])
    """
    (in_place, served), is_cut_off = on_a_machine(code)
    assert in_place == "the process is in our own network namespace"
    assert served.startswith("the gate cannot be built")
    assert is_cut_off is False


def test_a_gate_whose_jail_never_comes_is_closed_without_waiting(
    on_a_machine: OnAMachine,
) -> None:
    code = """
    import time
    from gate.world import _LIBC, _NEWNET, _NEWUSER
    from mcp_jail.gate import process
    process.END_DEADLINE = 1000.0
    reading, writing = os.pipe()
    other = os.fork()
    if not other:
        _LIBC.prctl(1, 9)  # with us, it ends
        _LIBC.unshare(_NEWUSER | _NEWNET)  # as a jail, but its lo stays down
        os.write(writing, b"x")
        time.sleep(1000)
    os.read(reading, 1)
    gate = gate_for(allowlist("api.example.com:7"))
    gate.serve(other)
    def errand(): return open(f"/proc/{gate.pid}/task/{gate.pid}/children").read().strip()
    def network(pid): return os.readlink(f"/proc/{pid}/ns/net")
    while not errand() or network(errand()) != network(other): pass  # it waits inside
    gate.close()
    os.kill(other, 9)
    tell([os.path.exists(f"/proc/{gate.pid}"), os.read(gate.reports, 1).decode()])
    """
    assert on_a_machine(code) == [False, ""]


def test_a_bug_in_the_relay_is_told_and_ends_it(on_a_machine: OnAMachine) -> None:
    code = """
    from mcp_jail.gate import process
    gate = gate_for(allowlist("api.example.com:7"))
    gate._control.send(b"no message of ours")
    lines = b""
    while more := os.read(gate.reports, 65536):
        lines += more
    gate.close()
    attempt = decode(lines)
    tell([attempt.what.value, attempt.verdict.value, attempt.why])
    """
    what, verdict, why = on_a_machine(code)
    assert (what, verdict) == ("broken", "deny")
    assert why.startswith("ValueError")
