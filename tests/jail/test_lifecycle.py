"""Nothing of a jail outlives its guard, and no server starts before it is told to."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from driver import parent_of, processes_with
from jail.conftest import HERE, World, guard_environment, run_guard

DEADLINE = 10.0  # seconds; killed processes are gone in a few milliseconds
STAGES = ("keeper", "launched", "verified", "running")


def poll(question: Callable[[], bool]) -> bool:
    """Ask until it holds, up to the deadline."""
    end = time.monotonic() + DEADLINE
    while not question():
        if time.monotonic() > end:
            return False
        time.sleep(0.005)
    return True


class Started:
    """A guard on its way, whose server leaves a mark as soon as it runs."""

    def __init__(self, top: Path, number: int, **case: Any) -> None:
        self.marker = f"jail-life-{os.getpid()}-{number}-{top.name}"
        self.share = top / f"share-{number}"
        self.share.mkdir()
        self.mark = self.share / "started"
        self.left = top / f"run-file-{number}"
        self.left.write_text("")
        file = top / f"{self.marker}.json"
        text = f"echo started > {self.mark}; (setsid sleep 1000 &) ; exec sleep 1000"
        full = {
            "command": ["/bin/sh", "-c", text, self.marker],
            "shares": [["rw", str(self.share)]],
            "home": str(top / "home"),
            "report": str(top / "report.json"),
            "forget": [str(self.left)],
            **case,
        }
        file.write_text(json.dumps(full))
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "guard.py"), str(file)],
            env=guard_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def reach(self, stage: str) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline().strip() == stage

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()

    def no_process_is_left(self) -> bool:
        return poll(lambda: not processes_with(self.marker))

    def nothing_is_left(self) -> bool:
        return self.no_process_is_left() and poll(lambda: not self.left.exists())


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Started]]:
    (tmp_path / "home").mkdir()
    started: list[Started] = []

    def begin(**case: Any) -> Started:
        started.append(Started(tmp_path, len(started), **case))
        return started[-1]

    yield begin
    for one in started:
        one.kill()
        for pid in processes_with(one.marker):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("stage", STAGES)
def test_nothing_survives_a_guard_killed_at(stage: str, start: Callable[..., Started]) -> None:
    guard = start(stage=stage)
    guard.reach(stage)
    if stage == "running":
        assert poll(guard.mark.exists)
    guard.kill()
    assert guard.nothing_is_left(), processes_with(guard.marker)
    assert guard.mark.exists() == (stage == "running")


def test_no_server_starts_when_the_guard_is_killed_before_it_says_go(
    start: Callable[..., Started],
) -> None:
    for number in range(20):
        guard = start(stage="launched" if number % 2 else "verified")
        guard.reach("launched" if number % 2 else "verified")
        guard.kill()
        assert guard.nothing_is_left(), processes_with(guard.marker)
        assert not guard.mark.exists()


def test_nothing_survives_a_guard_killed_at_any_moment(start: Callable[..., Started]) -> None:
    chance = random.Random(7)
    for _ in range(12):
        guard = start()
        time.sleep(chance.uniform(0.02, 0.25))
        guard.kill()
        assert guard.no_process_is_left(), processes_with(guard.marker)


def test_the_jail_ends_with_its_keeper(start: Callable[..., Started]) -> None:
    guard = start(stage="running")
    guard.reach("running")
    assert poll(guard.mark.exists)
    keeper = next(
        pid for pid in processes_with(guard.marker) if parent_of(pid) == guard.process.pid
    )
    os.kill(keeper, signal.SIGKILL)
    assert poll(lambda: set(processes_with(guard.marker)) <= {guard.process.pid, keeper})


# A guard of its own that kills its keeper: before bwrap has said anything, at some moment, when the
# server waits, when it was let go; then it closes the jail, as `run` does when anything fails.
KEEPER_KILLED = """
import os, select, signal, sys, time
from mcp_jail.core.spec import JailSpec
from mcp_jail.errors import JailBuildError
from mcp_jail.sandbox import launch
from mcp_jail.sandbox.build import build
from mcp_jail.sandbox.probe import probe
home, marker, when, delay = sys.argv[1:]
command = ("/bin/sh", "-c", "exec sleep 1000", marker)
spec = JailSpec(name="t", command=command, cwd=None, shares=(), env={})
jail = launch.launch(build(spec, host=probe({"HOME": home})))
try:
    if when in ("waits", "went"):
        jail.verify()
    if when == "went":
        os.kill(jail.keeper.pid, signal.SIGSTOP)  # so that nothing is ended by it any more
        os.kill(jail.bwrap_pid, signal.SIGKILL)
        select.select([jail.pidfd], [], [])
    time.sleep(float(delay))
    os.kill(jail.keeper.pid, signal.SIGKILL)
    jail.go()
except JailBuildError:
    pass
jail.close()
"""


@pytest.mark.parametrize(
    ("when", "delay"),
    [("waits", 0.0), ("went", 0.0), *(("any", step / 2000) for step in range(24))],
)
def test_nothing_survives_a_keeper_killed_while_the_jail_is_built(
    when: str, delay: float, tmp_path: Path
) -> None:
    (tmp_path / "home").mkdir()
    marker = f"jail-keeperless-{os.getpid()}-{when}-{delay}"
    words = [sys.executable, "-c", KEEPER_KILLED, str(tmp_path / "home"), marker, when, str(delay)]
    guard = subprocess.run(words, env=guard_environment(), timeout=60, check=False)
    left = [] if poll(lambda: not processes_with(marker)) else processes_with(marker)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert (guard.returncode, left) == (0, [])


def test_a_daemon_of_the_server_ends_with_the_server(world: World, tmp_path: Path) -> None:
    marker = f"jail-daemon-{os.getpid()}"
    text = f"setsid sh -c 'sleep 1000' {marker} >/dev/null 2>&1 & echo here"
    done = run_guard(
        {"command": ["/bin/sh", "-c", text, marker], "home": str(world.home)}, tmp_path
    )
    assert done.stdout == "here\n"
    assert poll(lambda: not processes_with(marker))


def test_a_project_is_unchanged_after_a_run(world: World, tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / ".git/hooks").mkdir(parents=True)
    (project / "out").mkdir()
    (project / "file").write_text("x")

    def tree() -> list[str]:
        return sorted(str(path) for path in project.rglob("*"))

    before = tree()
    case = {
        "command": ["/bin/sh", "-c", "exit 7"],
        "home": str(world.home),
        "shares": [["ro", str(project)], ["rw", str(project / "out")]],
    }
    done = run_guard(case, tmp_path / "run")
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "run/report.json").read_text())["status"] == 7
    assert tree() == before


def test_two_jails_share_nothing_they_can_write(world: World, tmp_path: Path) -> None:
    places = "/tmp /var/tmp /dev/shm /run $HOME"
    text = f"for d in {places}; do ls $d | grep mark; echo x > $d/mark; done; cat"
    first = {"command": ["/bin/sh", "-c", text], "home": str(world.home), "stdin": "one\n"}
    one = run_guard(first, tmp_path / "1")
    two = run_guard({**first, "stdin": "two\n"}, tmp_path / "2")
    assert (one.stdout, two.stdout) == ("one\n", "two\n"), (one, two)
