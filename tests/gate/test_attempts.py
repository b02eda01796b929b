"""A flood of attempts becomes few lines, in which none is lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_jail.core.policy import Verdict
from mcp_jail.gate.attempts import (
    AGAIN_IN_A_ROW,
    AGAIN_PER_SECOND,
    LINE_LIMIT,
    OTHERS,
    Attempt,
    Tally,
    What,
    decode,
    encode,
)


def denied(host: str, *, port: int = 443, why: str = "") -> Attempt:
    return Attempt(what=What.CONNECT, verdict=Verdict.DENY, host=host, port=port, why=why)


def test_the_first_of_a_kind_is_told_at_once_and_the_rest_together() -> None:
    tally = Tally(every=10, again=0)
    assert tally.note(denied("a.example"), 100.0) == denied("a.example")
    assert tally.wait(100.0) is None
    assert [tally.note(denied("a.example"), 101.0) for _ in range(5000)] == [None] * 5000
    assert tally.due(110.9) == []
    assert tally.wait(110.0) == 1.0
    (told,) = tally.due(111.0)
    assert (told.host, told.times) == ("a.example", 5000)
    assert tally.due(1000.0) == []
    assert tally.rest() == []


def test_bytes_add_up_and_the_longest_time_stays() -> None:
    tally = Tally()
    closed = Attempt(what=What.CLOSED, verdict=Verdict.ALLOW, host="a", sent=2, received=3, ms=50)
    assert tally.note(closed, 0.0) == closed
    for ms in (7, 9, 8):
        tally.note(Attempt(what=What.CLOSED, verdict=Verdict.ALLOW, host="a", sent=5, ms=ms), 0.0)
    (told,) = tally.rest()
    assert (told.times, told.sent, told.received, told.ms) == (3, 15, 0, 9)


def test_too_many_kinds_are_counted_as_others() -> None:
    tally = Tally(kinds=10, again=0)
    told = [tally.note(denied(f"{number}.example"), 0.0) for number in range(1000)]
    hosts = [attempt.host for attempt in told if attempt is not None]
    assert hosts == [*(f"{number}.example" for number in range(10)), OTHERS]
    (rest,) = tally.rest()
    assert (rest.host, rest.times) == (OTHERS, 989)


def test_a_refusal_is_told_again_at_once_a_few_times_a_second() -> None:
    tally = Tally()
    first, second = tally.note(denied("a.example"), 0.0), tally.note(denied("a.example"), 0.1)
    assert first is not None
    assert not first.again
    assert second == Attempt(
        what=What.CONNECT, verdict=Verdict.DENY, host="a.example", port=443, again=True
    )
    flood = [tally.note(denied("a.example"), 0.2) for _ in range(5000)]
    told = [attempt for attempt in flood if attempt is not None]
    assert len(told) == AGAIN_IN_A_ROW - 1
    assert all(attempt.times == 1 and attempt.again for attempt in told)
    hour = [tally.note(denied("a.example"), 1 + tick / 100) for tick in range(360_000)]
    assert sum(attempt is not None for attempt in hour) <= 3600 * AGAIN_PER_SECOND + AGAIN_IN_A_ROW
    (rest,) = tally.rest()
    assert len(told) + 2 + rest.times + sum(attempt is not None for attempt in hour) == 365_002


def test_a_refusal_beyond_all_kinds_is_told_by_its_name_where_there_is_room() -> None:
    tally = Tally(kinds=1)
    told = [tally.note(denied(host), 0.0) for host in ("a", "b", "c")]
    assert [attempt.host for attempt in told if attempt is not None] == ["a", OTHERS, "c"]


def test_what_is_allowed_or_lost_is_only_counted_again() -> None:
    tally = Tally()
    opened = Attempt(what=What.CONNECT, verdict=Verdict.ALLOW, host="a")
    lost = Attempt(what=What.LOST, verdict=Verdict.DENY, times=7)
    for attempt in (opened, lost):
        assert tally.note(attempt, 0.0) == attempt
        assert tally.note(attempt, 1.0) is None


@given(st.lists(st.tuples(st.integers(0, 20), st.floats(0, 100)), max_size=100))
def test_every_attempt_is_told_once(tried: list[tuple[int, float]]) -> None:
    tally = Tally(kinds=5, every=3, again=2)
    told = []
    for host, now in sorted(tried, key=lambda pair: pair[1]):
        first = tally.note(denied(str(host)), now)
        told += [first] if first is not None else []
        told += tally.due(now)
    told += tally.rest()
    assert sum(attempt.times for attempt in told) == len(tried)


@given(st.text(max_size=2000), st.text(max_size=2000), st.integers(0, 65535))
def test_a_line_is_short_and_read_back(host: str, why: str, port: int) -> None:
    host, why = ascii(host), ascii(why)
    told = Tally().note(denied(host, port=port, why=why), 0.0)
    assert told is not None
    line = encode(told)
    assert len(line) <= LINE_LIMIT
    assert line.count(b"\n") == 1
    assert decode(line) == told


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{}",
        b"[]",
        b'{"what":"connect"}',
        b'{"what":"x","verdict":"allow"}',
        b'{"what":"connect","verdict":"allow","port":"1"}',
        b'{"what":"connect","verdict":"allow"} x',
        b'{"what":"connect","verdict":"allow","host":"' + b"x" * LINE_LIMIT + b'"}',
    ],
)
def test_what_is_no_line_of_ours_is_refused(line: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  # msgspec's words, or ours
        decode(line)
