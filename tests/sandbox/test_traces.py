"""What is seen of a running server from outside: what it wrote, what it runs."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from driver import Home
from mcp_jail.core.spec import Plan
from mcp_jail.proxy.prepare import prepare
from mcp_jail.sandbox import traces as module
from mcp_jail.sandbox.launch import launch
from mcp_jail.sandbox.traces import Traces, traces

# Seconds until what a server does at once must have been done.
PATIENCE = 20.0


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path)
    made.write_policy("filesystem: {read_only: [~/projects]}\n")
    return made


def left_by(home: Home, script: str) -> Traces:
    """What a shell script leaves; it says `done` when there is something to look at."""
    words = ("/bin/sh", "-c", f"{script}\necho done; sleep 100")
    prepared = prepare(name="fs", policy_file=None, command=words, environ=home.environ())
    jail = launch(prepared.plan)
    try:
        jail.go()
        assert os.read(jail.stdout, 100) == b"done\n"
        server = jail.server_pid()
        assert server is not None
        return wait_for_sleep(prepared.plan, server, jail.init_pid)
    finally:
        jail.close()


def wait_for_sleep(plan: Plan, server: int, init: int) -> Traces:
    deadline = time.monotonic() + PATIENCE
    while True:
        found = traces(plan, server, init)
        if ("sleep", "100") in found.processes:
            return found
        assert time.monotonic() < deadline, found


def test_files_in_private_places_are_found_with_their_sizes(home: Home) -> None:
    found = left_by(home, "mkdir -p ~/.cache/x; printf hello > ~/.cache/x/f; : > /tmp/g")
    files = {trace.path: (trace.kind, trace.size) for trace in found.files}
    assert files[f"{home.path}/.cache/x/f"] == ("file", 5)
    assert files["/tmp/g"] == ("file", 0)
    assert files[f"{home.path}/.cache"][0] == "directory"


def test_what_the_jail_itself_made_is_none_of_the_servers(home: Home) -> None:
    assert left_by(home, ":").files == ()


def test_what_is_shared_is_not_looked_through(home: Home) -> None:
    (home.projects / "deep").mkdir()
    assert left_by(home, "ls ~/projects >&2").files == ()


def test_a_link_leads_nowhere(home: Home) -> None:
    (home.path / "outside").write_text("secret")
    script = f"ln -s / /tmp/root; ln -s {home.path} /tmp/home; ln -s /proc/self/root ~/again"
    found = left_by(home, script)
    assert {(trace.path, trace.kind) for trace in found.files} == {
        ("/tmp/root", "link"),
        ("/tmp/home", "link"),
        (f"{home.path}/again", "link"),
    }


def test_what_would_hold_a_reader_is_only_named(home: Home) -> None:
    found = left_by(home, "mkfifo /tmp/pipe")
    assert [(trace.path, trace.kind) for trace in found.files] == [("/tmp/pipe", "pipe")]


def test_processes_are_found_whoever_started_them(home: Home) -> None:
    is_there = "until grep -qz '^99$' /proc/[0-9]*/cmdline 2>/dev/null; do :; done"
    found = left_by(home, f"(sleep 99 &)\n{is_there}")
    assert ("sleep", "99") in found.processes
    assert all("bwrap" not in words[0] for words in found.processes)


def test_a_server_that_makes_files_without_end_is_looked_at_in_part(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FILES_LIMIT", 50)
    found = left_by(home, "cd /tmp; i=0; while [ $i -lt 200 ]; do : > f$i; i=$((i+1)); done")
    assert len(found.files) == 50
    assert found.is_cut


def test_a_directory_without_end_is_followed_so_far(home: Home) -> None:
    found = left_by(home, "cd /tmp; i=0; while [ $i -lt 90 ]; do mkdir d; cd d; i=$((i+1)); done")
    assert 30 < len(found.files) < 60


def test_a_directory_that_is_closed_to_us_holds_up_nothing(home: Home) -> None:
    found = left_by(home, "mkdir /tmp/shut; : > /tmp/shut/f; chmod 0 /tmp/shut; : > /tmp/z")
    assert {"/tmp/shut", "/tmp/z"} <= {trace.path for trace in found.files}


def test_a_dead_process_is_none_that_runs(home: Home) -> None:
    """It has no command line any more, and stays in the list until its parent asks for it."""
    dead = "import os; pid = os.fork() or os._exit(0); os.waitid(os.P_PID, pid, 4 | 0x1000000)"
    go_on = "print('done', flush=True); os.execv('/bin/sleep', ['sleep', '100'])"
    left = left_by(home, f'exec /usr/bin/python3 -I -S -c "{dead}; {go_on}"')
    assert all(any(words) for words in left.processes)
