"""Whoever of guard and keeper is killed, at any moment: nothing stays, nothing starts alone."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from driver import command_lines
from jail.conftest import HERE, guard_environment

DEADLINE = 10.0  # seconds; killed processes are gone in a few milliseconds
ROUNDS = 60
VICTIMS = ("keeper", "guard", "keeper, guard", "guard, keeper")


def living(marker: str) -> dict[int, str]:
    """Processes with the marker on their command line; zombies have none."""
    return {pid: line for pid, line in command_lines().items() if marker in line}


def all_gone(marker: str) -> bool:
    end = time.monotonic() + DEADLINE
    while living(marker):
        if time.monotonic() > end:
            return False
        time.sleep(0.002)
    return True


class Round:
    """A guard that starts a server that leaves a mark, and stays."""

    def __init__(
        self, top: Path, number: int, stage: str = "", command: list[str] | None = None
    ) -> None:
        self.marker = f"jail-killed-{os.getpid()}-{number}-{top.name}"
        self.mark = top / "share" / self.marker
        case = top / f"{self.marker}.json"
        text = f"echo > {self.mark}; (setsid sleep 1000 {self.marker} &) ; exec sleep 1000"
        usual = ["/bin/sh", "-c", text, self.marker]
        case.write_text(
            json.dumps(
                {
                    "command": [*command, str(self.mark)] if command else usual,
                    "shares": [["rw", str(top / "share")]],
                    "home": str(top / "home"),
                    "report": str(top / f"{self.marker}-report.json"),
                    "stage": stage,
                }
            )
        )
        self.guard = subprocess.Popen(
            [sys.executable, str(HERE / "guard.py"), str(case)],
            env=guard_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def end(self, victims: str) -> None:
        """Kill them, and wait for a guard that has to notice it by itself."""
        self.kill(victims)
        self.guard.communicate(timeout=DEADLINE)

    def keeper(self) -> int | None:
        """The guard's first child; there is none yet when the guard has hardly begun."""
        path = f"/proc/{self.guard.pid}/task/{self.guard.pid}/children"
        try:
            words = Path(path).read_text().split()
        except OSError:
            return None
        return int(words[0]) if words else None

    def kill(self, victims: str) -> None:
        """Kill them in this order, by numbers taken before."""
        numbers = {"guard": self.guard.pid, "keeper": self.keeper()}
        for victim in victims.split(", "):
            number = numbers[victim]
            if number is not None:
                try:
                    os.kill(number, signal.SIGKILL)
                except ProcessLookupError:
                    continue


@pytest.fixture
def top(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "home").mkdir()
    (tmp_path / "share").mkdir()
    yield tmp_path
    for number in living(f"jail-killed-{os.getpid()}-"):
        with suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)


def time_to_start(top: Path) -> float:
    """Seconds from the guard's start to the server's mark, on this machine now."""
    started = time.monotonic()
    one = Round(top, 1000)
    while not one.mark.exists():
        assert one.guard.poll() is None
        time.sleep(0.001)
    took = time.monotonic() - started
    one.end("guard")
    assert all_gone(one.marker)
    return took


@pytest.mark.parametrize("victims", VICTIMS)
def test_nothing_survives_and_nothing_starts_alone(victims: str, top: Path) -> None:
    chance = random.Random(victims)
    whole = time_to_start(top)
    for number in range(ROUNDS):
        one = Round(top, number)
        # The keeper is forked about half-way; what bwrap does comes after.
        time.sleep(chance.uniform(0.4, 1.1) * whole)
        one.end(victims if one.keeper() is not None else "guard")
        assert all_gone(one.marker), (number, living(one.marker))


@pytest.mark.parametrize("stage", ["launched", "verified"])
@pytest.mark.parametrize("victims", VICTIMS)
def test_no_server_starts_before_go(stage: str, victims: str, top: Path) -> None:
    for number in range(10):
        one = Round(top, number, stage)
        assert one.guard.stdout is not None
        assert one.guard.stdout.readline().strip() == stage.encode()
        one.kill(victims)
        one.end("guard")  # which waits for us in this test and notices nothing
        assert all_gone(one.marker), (number, living(one.marker))
        assert not one.mark.exists()


# prctl(PR_SET_PDEATHSIG, 0), written over where the first process of the jail waits.
PATCH = """
import os, sys, time
found = []
for path in ("/proc/1/mem", "/proc/1/task/1/mem", "/proc/self/root/proc/1/mem"):
    try:
        with open("/proc/1/syscall") as file:
            place = int(file.read().split()[-1], 16)
        with open(path, "r+b", buffering=0) as file:
            file.seek(place)
            file.write(bytes.fromhex("b89d000000bf0100000031f60f05b8220000000f05ebf7"))
        found.append(path)
    except OSError:
        pass
with open(sys.argv[1] + ".new", "w") as file:
    file.write(" ".join(found) or "nothing")
os.rename(sys.argv[1] + ".new", sys.argv[1])
time.sleep(1000)
"""


@pytest.mark.parametrize("victims", VICTIMS)
def test_a_server_cannot_have_its_jail_outlive_the_guard(victims: str, top: Path) -> None:
    one = Round(top, 0, command=[sys.executable, "-I", "-c", PATCH])
    end = time.monotonic() + DEADLINE
    while not one.mark.exists():
        assert time.monotonic() < end
        time.sleep(0.002)
    assert one.mark.read_text() == "nothing"
    one.end(victims)
    assert all_gone(one.marker), living(one.marker)
