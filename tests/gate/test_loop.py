"""Callbacks come when their descriptor, time or turn has come, and not after they were put off."""

from __future__ import annotations

import os

import pytest

from mcp_jail.gate.loop import GONE, READ, SWEEP, WRITE, Loop


def test_a_descriptor_calls_back_with_what_happened() -> None:
    loop, seen = Loop(), []
    reading, writing = os.pipe()

    def heard(events: int) -> None:
        seen.append(events)
        loop.stop()

    loop.watch(reading, READ, heard)
    os.write(writing, b"x")
    loop.run()
    assert seen == [READ]
    os.close(writing)
    os.close(reading)


def test_the_other_side_s_end_is_told_although_nothing_was_asked_for() -> None:
    loop, seen = Loop(), []
    reading, writing = os.pipe()

    def heard(events: int) -> None:
        seen.append(events & GONE)
        loop.stop()

    loop.watch(writing, 0, heard)
    os.close(reading)
    loop.run()
    assert all(seen)
    os.close(writing)


def test_a_descriptor_that_was_forgotten_in_the_same_round_is_not_called() -> None:
    loop, seen = Loop(), []
    ends = [os.pipe() for _ in range(2)]

    def heard(mine: int) -> None:
        seen.append(mine)
        for _, writing in ends:
            loop.forget(writing)
        loop.stop()

    for _, writing in ends:
        loop.watch(writing, WRITE, lambda _events, writing=writing: heard(writing))  # type: ignore[misc]
    loop.run()
    assert len(seen) == 1
    loop.forget(ends[0][1])
    for reading, writing in ends:
        os.close(reading)
        os.close(writing)


def test_times_come_in_order_and_cancelled_ones_do_not() -> None:
    loop, seen = Loop(), []
    loop.after(0.03, loop.stop)
    for name, seconds in (("second", 0.02), ("first", 0.01), ("never", 0.015)):
        timer = loop.after(seconds, lambda name=name: seen.append(name))  # type: ignore[misc]
        if name == "never":
            timer.cancel()
            timer.cancel()
    loop.run()
    assert seen == ["first", "second"]


def test_work_that_puts_itself_off_does_not_keep_others_from_their_turn() -> None:
    loop, seen = Loop(), []
    reading, writing = os.pipe()
    os.write(writing, b"x")

    def again() -> None:
        loop.soon(again)

    def heard(_events: int) -> None:
        seen.append("heard")
        loop.after(0, loop.stop)

    loop.soon(again)
    loop.watch(reading, READ, heard)
    loop.run()
    assert "heard" in seen
    os.close(reading)
    os.close(writing)


def test_cancelled_timers_do_not_pile_up() -> None:
    loop = Loop()
    for _ in range(10 * SWEEP):
        loop.after(1000, lambda: None).cancel()
    kept = loop.after(0, loop.stop)
    assert len(loop._timers) <= SWEEP + 1
    loop.run()
    assert kept.action is not None


def test_a_callback_that_raises_ends_the_loop() -> None:
    loop = Loop()

    def fail() -> None:
        raise OSError("a bug")

    loop.soon(fail)
    with pytest.raises(OSError, match="a bug"):
        loop.run()


def test_what_happened_to_a_closed_descriptor_is_not_told_to_the_next_with_its_number() -> None:
    loop = Loop()
    seen: list[int] = []
    first, second, idle = os.pipe(), os.pipe(), os.pipe()

    def heard(mine: int) -> None:
        """Close the other, and give its number to a pipe that has nothing in it."""
        other = second[0] if mine == first[0] else first[0]
        loop.forget(other)
        os.dup2(idle[0], other)
        loop.watch(other, READ, seen.append)
        loop.forget(mine)
        loop.after(0, loop.stop)

    for reading, writing in (first, second):
        os.write(writing, b"x")
        loop.watch(reading, READ, lambda _events, mine=reading: heard(mine))  # type: ignore[misc]
    loop.run()
    assert seen == []
    for fd in (*first, *second, *idle):
        os.close(fd)
