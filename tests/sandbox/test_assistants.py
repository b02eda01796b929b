"""Programs of ours outside the jail: which, with what environment, how many, and until when."""

from __future__ import annotations

import os
import signal
import socket
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcp_jail.sandbox import keeping
from mcp_jail.sandbox.assistants import BUS, command, environment

Run = Callable[..., Any]

# An assistant for tests, known in place of the real ones: it does what it reads.
ASSIST = """
import select, socket
from mcp_jail.sandbox import keeping
from mcp_jail.sandbox import assistants

keeping.ASSISTANTS[:] = [b"code"]
RUN = b"import sys; exec(sys.stdin.read())"
assistants.command = lambda module: [os.fsencode(sys.executable), b"python", b"-I", b"-c", RUN]

def ended(pidfd):
    return bool(select.select([pidfd], [], [], 20)[0])

def assist(held, program, module="code"):
    reading, writing = os.pipe()
    stdin, script = os.pipe()
    os.write(script, program.encode() + b"\\n")
    os.close(script)
    try:
        return held.assist(module, stdin=stdin, stdout=writing), reading
    finally:
        os.close(stdin)
        os.close(writing)

SLEEP = "import time; print(end='here', flush=True); time.sleep(1000)"

def sleeping(held):
    child, reading = assist(held, SLEEP)
    assert os.read(reading, 4) == b"here"
    return child, reading

def refused(held, module="code"):
    try:
        assist(held, "", module)
    except keeper.AssistantError as error:
        return error.message

def descriptors(pid):
    return sorted(os.listdir(f"/proc/{pid}/fd"))

def spawn(held, *argv):
    null = os.open("/dev/null", os.O_RDWR)
    return held.spawn(argv[0], list(argv), [null, null, null])
"""


def test_an_assistant_runs_isolated_and_outside(run_code: Run) -> None:
    code = """
    held = keeper.start()
    child, reading = assist(held, "import os, sys; print(sys.flags.isolated, os.getppid())")
    text = output(reading)
    held.close()
    tell([text.split(), held.pid])
    """
    words, keeper = run_code(ASSIST + _dedent(code))
    assert words == ["1", str(keeper)]


def test_an_assistant_has_three_descriptors_and_a_built_environment(run_code: Run) -> None:
    code = """
    leak = os.open("/dev/zero", os.O_RDONLY)
    os.dup2(leak, 251, inheritable=True)
    os.environ |= {"LD_PRELOAD_NOT": "x", "API_KEY": "x", "LC_TIME": "C", "PYTHONSTARTUP": "/x"}
    held = keeper.start()
    program = "import os, json; print(json.dumps([os.listdir('/proc/self/fd'), {**os.environ}]))"
    child, reading = assist(held, program)
    tell(json.loads(output(reading)))
    held.close()
    """
    descriptors, built = run_code(ASSIST + _dedent(code))
    assert sorted(descriptors) == ["0", "1", "2", "3"]  # 3: reading the directory
    assert built["PATH"] == "/usr/local/bin:/usr/bin:/bin"
    assert built["LC_TIME"] == "C"
    assert {"LD_PRELOAD_NOT", "API_KEY", "PYTHONSTARTUP", "PYTHONPATH"}.isdisjoint(built)


@pytest.mark.parametrize("module", ["os", "", "mcp_jail.cli", "../code", "code\0os"])
def test_a_program_that_is_not_on_the_list_is_not_started(module: str, run_code: Run) -> None:
    code = """
    held = keeper.start()
    message = refused(held, json.loads(sys.argv[2]))
    tell([message, os.path.exists(f"/proc/{held.pid}/task/{held.pid}/children")
          and open(f"/proc/{held.pid}/task/{held.pid}/children").read()])
    held.close()
    """
    import json

    message, children = run_code(ASSIST + _dedent(code), json.dumps(module))
    assert "does not start it" in message
    assert children == ""


def test_the_list_is_of_programs_of_ours() -> None:
    listed = (*keeping.ASSISTANTS, *keeping.ASSISTANTS_BEFORE_THE_JAIL)
    assert all(module.startswith(b"mcp_jail.") for module in listed)
    assert command(b"mcp_jail.x")[1:] == [sys.executable.encode(), b"-I", b"-m", b"mcp_jail.x"]


def test_a_program_that_gets_at_secrets_is_not_started_beside_a_jail(run_code: Run) -> None:
    code = """
    keeping.ASSISTANTS[:] = []
    keeping.ASSISTANTS_BEFORE_THE_JAIL[:] = [b"code"]
    held = keeper.start()
    child, reading = assist(held, "print(1)")
    before = output(reading)
    spawn(held, "/bin/sleep", "1000")
    tell([before, refused(held)])
    held.close()
    """
    before, after = run_code(ASSIST + _dedent(code))
    assert before == "1\n"
    assert "does not start it now" in after


def test_assistants_end_with_a_guard_that_is_killed(run_code: Run) -> None:
    code = """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    guard = os.fork()
    if guard == 0:
        held = keeper.start()
        program = (
            "import os, time; os.fork() or os.setsid(); os.fork();"
            "os.write(1, b'h'); time.sleep(1000)"
        )
        pair = [assist(held, program), assist(held, program)]
        for child, reading in pair:
            for number in range(4):
                os.read(reading, 1)
        socket.send_fds(ours, [b"up"], [reading for _, reading in pair])
        signal.pause()
    theirs_fds = socket.recv_fds(theirs, 10, 2)[1]
    os.kill(guard, signal.SIGKILL)
    os.waitpid(guard, 0)
    tell([output(fd) for fd in theirs_fds])  # an end: nobody holds them any more
    """
    assert run_code(ASSIST + _dedent(code)) == ["", ""]


def test_assistants_end_with_the_jail(run_code: Run) -> None:
    code = """
    held = keeper.start()
    child, reading = sleeping(held)
    jail = spawn(held, "/bin/sh", "-c", "exit 3")
    status = held.status(20)
    tell([output(reading), os.waitstatus_to_exitcode(status), ended(child.pidfd)])
    """
    assert run_code(ASSIST + _dedent(code)) == ["", 3, True]


def test_assistants_end_with_a_keeper_that_is_killed(run_code: Run) -> None:
    code = """
    held = keeper.start()
    child, reading = sleeping(held)
    os.kill(held.pid, signal.SIGKILL)
    tell([output(reading), ended(child.pidfd)])
    """
    assert run_code(ASSIST + _dedent(code)) == ["", True]


def test_assistants_may_clean_up_but_not_stay(run_code: Run) -> None:
    code = """
    held = keeper.start()
    jail = spawn(held, "/bin/sleep", "1000")
    polite = (
        "import os, signal, time;"
        "signal.signal(signal.SIGTERM, lambda *_: (os.write(1, b'bye'), os._exit(0)));"
        "os.write(1, b'here'); time.sleep(1000)"
    )
    stubborn = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN);" + SLEEP
    pair = [assist(held, program)[1] for program in (polite, stubborn)]
    for reading in pair:
        assert os.read(reading, 4) == b"here"
    held.close()
    tell([[output(reading) for reading in pair], ended(jail.pidfd)])
    """
    assert run_code(ASSIST + _dedent(code)) == [["bye", ""], True]


def test_an_assistant_that_ends_leaves_the_jail_and_the_keeper_as_they_were(run_code: Run) -> None:
    code = """
    held = keeper.start()
    jail = spawn(held, "/bin/sleep", "1000")
    for number in range(40):
        child, reading = assist(held, "import os; os.fork()")
        output(reading)
        assert ended(child.pidfd)
        os.close(child.pidfd)
        os.close(reading)
        child, reading = sleeping(held)  # by now the one before is reaped
        signal.pidfd_send_signal(child.pidfd, signal.SIGKILL)
        assert ended(child.pidfd)
        os.close(child.pidfd)
        os.close(reading)
        refused(held, "os")
        children = open(f"/proc/{held.pid}/task/{held.pid}/children").read().split()
    after = len(descriptors(held.pid))
    running = held.status(0) is None
    held.close()
    tell([running, len(children), after])
    """
    running, children, descriptors = run_code(ASSIST + _dedent(code))
    assert running
    assert children <= 3  # the jail, and the last ones where the keeper is not that far yet
    assert descriptors <= 6 + 3 + 1  # its own and the jail's, and those of the last request


def test_a_flood_is_capped_and_ends_with_the_run(run_code: Run) -> None:
    code = """
    held = keeper.start()
    jail = spawn(held, "/bin/sleep", "1000")
    started = [sleeping(held) for number in range(keeping.ASSISTANTS_LIMIT)]
    messages = {refused(held) for number in range(500)}
    one = started.pop()
    signal.pidfd_send_signal(one[0].pidfd, signal.SIGKILL)
    ended(one[0].pidfd)
    started.append(sleeping(held))  # room again
    running = held.status(0) is None
    held.close()
    tell([sorted(messages), running, [ended(child.pidfd) for child, _ in started]])
    """
    messages, running, over = run_code(ASSIST + _dedent(code))
    assert [message.endswith("16 programs run already") for message in messages] == [True]
    assert running
    assert over == [True] * 16


def test_a_jail_that_is_over_is_told_to_who_asks_for_an_assistant(run_code: Run) -> None:
    code = """
    held = keeper.start()
    jail = spawn(held, "/bin/sh", "-c", "exit 3")
    ended(jail.pidfd)
    os.waitid(os.P_PID, held.pid, os.WEXITED | os.WNOWAIT)
    tell([refused(held), os.waitstatus_to_exitcode(held.status(20))])
    """
    message, status = run_code(ASSIST + _dedent(code))
    assert "could not be started" in message
    assert status in {3, -int(signal.SIGKILL)}


def test_a_keeper_that_does_not_answer_in_time_starts_nothing_more(run_code: Run) -> None:
    code = """
    keeper.SPAWN_DEADLINE = 0.05
    held = keeper.start()
    jail = spawn(held, "/bin/sh", "-c", "sleep 0.1; exit 3")
    os.kill(held.pid, signal.SIGSTOP)
    os.waitid(os.P_PID, held.pid, os.WSTOPPED)
    messages = [refused(held), refused(held)]
    os.kill(held.pid, signal.SIGCONT)
    tell([messages, os.waitstatus_to_exitcode(held.status(20))])
    """
    messages, status = run_code(ASSIST + _dedent(code))
    assert ["timed out" in messages[0], "does not answer" in messages[1]] == [True, True]
    assert status == 3


def test_the_bus_and_the_runtime_directory_are_found_where_they_are_ours(tmp_path: Path) -> None:
    runtime = tmp_path / str(os.geteuid())
    runtime.mkdir(mode=0o700)
    given = {"HOME": "/home/me", "MCP_JAIL_HOME": "/x", "TERM": "vt100", "XDG_RUNTIME_DIR": "/evil"}
    kept = {"HOME": "/home/me", "MCP_JAIL_HOME": "/x", "PATH": "/usr/local/bin:/usr/bin:/bin"}
    assert environment(given, runtime=str(tmp_path)) == {**kept, "XDG_RUNTIME_DIR": str(runtime)}
    with socket.socket(socket.AF_UNIX) as bus:
        bus.bind(str(runtime / "bus"))
        built = environment(given, runtime=str(tmp_path))
    assert built[BUS] == f"unix:path={runtime}/bus"
    runtime.chmod(0o750)
    assert environment(given, runtime=str(tmp_path)) == kept
    runtime.chmod(0o700)
    assert stat.S_ISSOCK((runtime / "bus").lstat().st_mode)
    own = environment({BUS: "unix:abstract=/tmp/dbus-1"}, runtime=str(tmp_path))
    assert own[BUS] == "unix:abstract=/tmp/dbus-1"


@pytest.mark.parametrize("address", ["unixexec:path=/bin/sh,argv1=-c", "tcp:host=evil", ""])
def test_a_bus_address_that_starts_programs_is_dropped(address: str, tmp_path: Path) -> None:
    assert BUS not in environment({BUS: address}, runtime=str(tmp_path))


def _dedent(code: str) -> str:
    import textwrap

    return textwrap.dedent(code)
