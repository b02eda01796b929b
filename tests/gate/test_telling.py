"""The guard reads whole lines; one that does not read costs the relay nothing but lines."""

from __future__ import annotations

import os
import threading

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
    teller._tally = Tally(kinds=1_000_000, opened=1_000_000)
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


def test_what_was_opened_is_told_whatever_was_refused_before() -> None:
    loop = Loop()
    reading, writing = os.pipe()
    teller = Teller(loop, writing)
    teller._tally = Tally(kinds=1_000_000, opened=1_000_000)
    number = 0
    while teller._lost < 1000:
        teller.note(denied(f"{number}." + "x" * 200))
        number += 1
    was_full = teller.is_full
    opened = [f"{number}.example" for number in range(10_000)]
    for host in opened:
        teller.note(Attempt(what=What.CONNECT, verdict=Verdict.ALLOW, host=host, rule="*.example"))
    assert (was_full, teller.is_full) == (False, True)
    found: list[Attempt] = []
    thread = threading.Thread(target=lambda: found.extend(told(reading)))
    thread.start()
    teller.finish()
    os.close(writing)
    thread.join()
    assert [each.host for each in found if each.verdict is Verdict.ALLOW] == opened


def test_without_a_guard_the_loop_ends() -> None:
    loop = Loop()
    reading, writing = os.pipe()
    teller = Teller(loop, writing)
    os.close(reading)
    teller.note(denied("a"))
    loop.run()
    teller.finish()
    os.close(writing)
