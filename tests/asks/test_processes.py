"""What /proc tells of processes, told of real ones."""

from __future__ import annotations

import os
import subprocess
import sys

from driver import wait_until
from mcp_jail.asks.processes import ancestors, environ_names, namespaces, process


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
