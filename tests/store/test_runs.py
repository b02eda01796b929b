"""The registry of running jails."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from mcp_jail.errors import JailError
from mcp_jail.store.places import Places, find_places
from mcp_jail.store.runs import process_start, register, running, this_run


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return find_places({"MCP_JAIL_HOME": str(tmp_path)})


def test_a_running_jail_is_listed_until_its_file_is_gone(places: Places) -> None:
    run = this_run(run="r1", name="files", started=5, policy="/p", audit="/a")
    register(places, run)
    assert running(places) == [msgspec.structs.replace(run, folder=places.runtime)]
    os.unlink(places.run("r1"))
    assert running(places) == []


def test_a_guard_from_before_the_session_had_a_directory_is_found_where_it_is(
    places: Places, tmp_path: Path
) -> None:
    earlier = msgspec.structs.replace(places, runtime=f"{places.state}/run")
    run = this_run(run="r1", name="files", started=5)
    register(earlier, msgspec.structs.replace(run, folder="/elsewhere"))
    (found,) = running(places)
    assert found.socket == earlier.socket("r1")


def test_a_jail_whose_guard_was_killed_is_not_listed_and_its_files_are_removed(
    places: Places,
) -> None:
    guard = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    started = process_start(guard.pid)
    assert started is not None
    mine = this_run(run="mine", name="files", started=1)
    register(places, mine)
    theirs = msgspec.structs.replace(mine, run="theirs", pid=guard.pid, pid_started=started)
    register(places, theirs)
    Path(places.socket("theirs")).touch()
    assert {run.run for run in running(places)} == {"mine", "theirs"}
    guard.send_signal(signal.SIGKILL)
    os.waitid(os.P_PID, guard.pid, os.WEXITED | os.WNOWAIT)  # a corpse counts as gone
    assert [run.run for run in running(places)] == ["mine"]
    assert os.listdir(places.runtime) == ["mine.json"]
    guard.communicate()


def test_another_process_with_the_guards_number_is_not_the_guard(places: Places) -> None:
    run = this_run(run="r1", name="files", started=1)
    register(places, msgspec.structs.replace(run, pid_started=run.pid_started - 1))
    register(places, msgspec.structs.replace(run, run="r2", boot="another"))
    assert running(places) == []
    assert os.listdir(places.runtime) == []


def test_a_run_of_another_pid_namespace_is_neither_listed_nor_removed(places: Places) -> None:
    run = this_run(run="r1", name="files", started=1)
    register(places, run)
    code = (
        "import sys; from mcp_jail.store.runs import running\n"
        "from mcp_jail.store.places import find_places\n"
        "print(len(running(find_places({'MCP_JAIL_HOME': sys.argv[1]}))))"
    )
    here = os.path.dirname(places.state)
    container = ("bwrap", "--unshare-user", "--unshare-pid", "--bind", "/", "/", "--proc", "/proc")
    words = [*container, sys.executable, "-c", code, here]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout == "0\n"
    assert [each.run for each in running(places)] == ["r1"]


def test_jails_are_listed_oldest_first(places: Places) -> None:
    for name, started in (("b", 2), ("a", 3), ("c", 1)):
        register(places, this_run(run=name, name="files", started=started))
    assert [run.run for run in running(places)] == ["c", "b", "a"]


def test_an_id_is_given_once(places: Places) -> None:
    run = this_run(run="r1", name="files", started=1)
    register(places, run)
    with pytest.raises(JailError, match="already"):
        register(places, run)


@pytest.mark.parametrize("content", ["", "{}", "null", '{"v":1}'])
def test_what_is_no_record_is_left_alone(places: Places, content: str) -> None:
    register(places, this_run(run="r1", name="files", started=1))
    Path(places.runtime, "odd.json").write_text(content)
    assert [run.run for run in running(places)] == ["r1"]


def test_nothing_runs_where_nothing_ever_ran(places: Places) -> None:
    assert running(places) == []


def test_a_process_that_is_not_there_has_no_start() -> None:
    assert process_start(2**22 + 1) is None
