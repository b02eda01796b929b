"""What /proc tells of processes, told of real ones."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from driver import wait_until
from mcp_jail.asks.processes import (
    ancestors,
    environ_names,
    namespaces,
    process,
    program_of,
    user_of,
)


def test_this_process_is_below_its_parents() -> None:
    me = process(os.getpid())
    assert me is not None
    assert me.parent == os.getppid()
    assert ancestors(me.pid)[0].pid == os.getppid()
    assert ancestors(me.pid)[-1].parent == 0


def test_a_name_with_brackets_and_blanks_is_read_whole() -> None:
    script = "import ctypes,sys;ctypes.CDLL(None).prctl(15,b') R 1 (x',0,0,0);print();input()"
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        found = process(child.pid)
        assert found is not None
        assert (found.name, found.parent) == (") R 1 (x", os.getpid())
        child.communicate(b"\n")


def test_a_corpse_is_no_process() -> None:
    child = subprocess.Popen(["true"])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert process(child.pid) is None
    child.wait()
    assert process(child.pid) is None


# The first process of a pid namespace waits, ending, until who is in it has been waited for.
ENDS_AND_STAYS = """
import ctypes, os, signal, sys
libc = ctypes.CDLL(None, use_errno=True)
if libc.unshare(0x10000000 | 0x20000000):  # CLONE_NEWUSER, CLONE_NEWPID
    sys.exit(os.strerror(ctypes.get_errno()))
first = os.fork() or signal.pause()
other = os.fork() or signal.pause()
print(first, flush=True)
sys.stdin.readline()
os.kill(first, signal.SIGKILL)
sys.stdin.readline()
"""


@contextmanager
def ending() -> Iterator[int]:
    """A process that is ending and no corpse yet, and stays so."""
    with subprocess.Popen(
        [sys.executable, "-I", "-c", ENDS_AND_STAYS], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as parent:
        assert parent.stdin is not None
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert process(pid) is not None
        parent.stdin.write(b"\n")
        parent.stdin.flush()
        wait_until(lambda: not Path(f"/proc/{pid}/cmdline").read_bytes())
        yield pid
        assert b"\nState:\tZ" not in Path(f"/proc/{pid}/status").read_bytes()
        parent.communicate(b"\n")


def test_who_is_ending_is_no_process_though_no_corpse_yet() -> None:
    """Its variables are gone, and its control groups look like those of nobody."""
    with ending() as pid:
        assert process(pid) is None
        assert environ_names(pid) == frozenset()


def test_the_system_s_programs_are_named_and_copies_of_them_are_not(tmp_path: Path) -> None:
    copy = tmp_path / "cat"
    shutil.copy("/bin/cat", copy)
    for program, name in (("/bin/cat", "cat"), (copy, "")):
        with subprocess.Popen(
            [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
        ) as child:
            assert child.stdin is not None
            child.stdin.write(b"\n")
            child.stdin.flush()
            assert child.stdout is not None
            assert child.stdout.read(1)  # it runs what it was started for
            assert program_of(child.pid) == name
            child.communicate()
    assert program_of(0) == ""


def test_a_process_is_its_user_s() -> None:
    assert user_of(os.getpid()) == os.getuid()
    assert user_of(0) is None


def test_a_new_session_is_led_by_who_began_it() -> None:
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, start_new_session=True) as child:
        found = process(child.pid)
        assert found is not None
        assert found.leads_session
        assert found.terminal == 0
        assert found.mark != process(os.getpid()).mark  # type: ignore[union-attr]
        child.communicate()


def test_namespaces_are_told_and_those_of_nobody_are_not() -> None:
    assert namespaces(os.getpid()) == namespaces(os.getppid())
    assert namespaces(0) is None


def test_the_variables_a_process_was_started_with_are_named() -> None:
    environ = {"A": "1", "CLAUDECODE": "1"}
    with subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE, env=environ) as child:
        wait_until(lambda: environ_names(child.pid) >= {"A", "CLAUDECODE"})
        child.communicate()
    assert environ_names(0) == frozenset()
