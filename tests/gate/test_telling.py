"""The guard reads whole lines; one that does not read costs the relay nothing but lines."""

from __future__ import annotations

import os

from mcp_jail.core.policy import Verdict
from mcp_jail.gate.attempts import Attempt, Tally, What, decode
from mcp_jail.gate.loop import Loop
from mcp_jail.gate.telling import BACKLOG, Teller


def denied(host: str) -> Attempt:
    return Attempt(what=What.CONNECT, verdict=Verdict.DENY, host=host, port=1)


def told(reading: int) -> list[Attempt]:
    """All lines up to the end of the pipe."""
    with os.fdopen(reading, "rb") as file:
        return [decode(line) for line in file]


def test_what_is_noted_is_told_and_the_rest_at_the_end() -> None:
    reading, writing = os.pipe()
    teller = Teller(Loop(), writing)
    teller._tally = Tally(again=0)
    for host in ("a", "b", "a", "a"):
        teller.note(denied(host))
    assert os.read(reading, 4096).count(b"\n") == 2
    teller.finish()
    os.close(writing)
    (rest,) = told(reading)
    assert (rest.host, rest.times) == ("a", 2)


def test_repetitions_are_told_when_their_time_has_come() -> None:
    loop = Loop()
    reading, writing = os.pipe()
    teller = Teller(loop, writing)
    teller._tally = Tally(every=0.05, again=0)
    teller.note(denied("a"))
    teller.note(denied("a"))
    os.read(reading, 4096)
    loop.watch(reading, 1, lambda _events: loop.stop())
    loop.run()
    assert decode(os.read(reading, 4096)).times == 1
    os.close(writing)
    os.close(reading)


def test_a_guard_that_does_not_read_is_not_waited_for_and_told_how_much_it_missed() -> None:
    loop = Loop()
    reading, writing = os.pipe()
    teller = Teller(loop, writing)
    teller._tally._kinds = 1_000_000
    count = 10_000
    for number in range(count):
        teller.note(denied(f"{number}." + "x" * 200))
    assert teller._waiting <= BACKLOG
    found: list[Attempt] = []
    buffer = b""

    def read(_events: int) -> None:
        nonlocal buffer
        lines = (buffer + os.read(reading, 65536)).split(b"\n")
        buffer = lines.pop()
        found.extend(decode(line) for line in lines)
        if found[-1].what is What.LOST:
            loop.stop()

    loop.watch(reading, 1, read)
    loop.run()
    assert len(found) - 1 + found[-1].times == count
    os.close(writing)
    os.close(reading)


def test_without_a_guard_the_loop_ends() -> None:
    loop = Loop()
    reading, writing = os.pipe()
    teller = Teller(loop, writing)
    os.close(reading)
    teller.note(denied("a"))
    loop.run()
    teller.finish()
    os.close(writing)
