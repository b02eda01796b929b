"""A flood of attempts becomes few lines, in which none is lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_jail.core.policy import Verdict
from mcp_jail.gate.attempts import (
    AGAIN_IN_A_ROW,
    AGAIN_PER_SECOND,
    FOR_A_CALL,
    KINDS_LIMIT,
    LINE_LIMIT,
    NEW_PER_SECOND,
    OPENED_IN_A_ROW,
    OPENED_PER_SECOND,
    OTHERS,
    REPEATS_PER_SECOND,
    TOO_MANY_TO_TELL,
    Attempt,
    Tally,
    What,
    decode,
    encode,
)


def denied(host: str, *, port: int = 443, why: str = "") -> Attempt:
    return Attempt(what=What.CONNECT, verdict=Verdict.DENY, host=host, port=port, why=why)


def opened(host: str, *, what: What = What.CONNECT, address: str = "1.2.3.4") -> Attempt:
    return Attempt(
        what=what, verdict=Verdict.ALLOW, host=host, port=443, rule="*.a.example", address=address
    )


def noted(tally: Tally, attempts: Iterable[Attempt], now: float = 0.0) -> list[Attempt]:
    """What is told at once of some attempts."""
    return [told for attempt in attempts for told in tally.note(attempt, now)]


def test_the_first_of_a_kind_is_told_at_once_and_the_rest_together() -> None:
    tally = Tally(every=10, again=0)
    assert tally.note(denied("a.example"), 100.0) == [denied("a.example")]
    assert tally.wait(100.0) is None
    assert noted(tally, [denied("a.example")] * 5000, 101.0) == []
    assert tally.due(110.9) == []
    assert tally.wait(110.0) == 1.0
    (told,) = tally.due(111.0)
    assert (told.host, told.times) == ("a.example", 5000)
    assert tally.due(1000.0) == []
    assert tally.rest() == []


def test_bytes_add_up_and_the_longest_time_stays() -> None:
    tally = Tally()
    closed = Attempt(what=What.CLOSED, verdict=Verdict.ALLOW, host="a", sent=2, received=3, ms=50)
    assert tally.note(closed, 0.0) == [closed]
    for ms in (7, 9, 8):
        tally.note(Attempt(what=What.CLOSED, verdict=Verdict.ALLOW, host="a", sent=5, ms=ms), 0.0)
    (told,) = tally.rest()
    assert (told.times, told.sent, told.received, told.ms) == (3, 15, 0, 9)


def test_too_many_refusals_are_counted_as_others() -> None:
    tally = Tally(kinds=10, again=0)
    told = noted(tally, (denied(f"{number}.example") for number in range(1000)))
    assert [each.host for each in told] == [*(f"{number}.example" for number in range(10)), OTHERS]
    (rest,) = tally.rest()
    assert (rest.host, rest.times, rest.why) == (OTHERS, 989, TOO_MANY_TO_TELL)


def test_refusals_take_no_room_from_what_a_rule_opens() -> None:
    tally = Tally()
    noted(tally, (denied(f"{number}.example") for number in range(100_000)))
    for what in (What.CONNECT, What.FAILED, What.CLOSED):
        assert tally.note(opened("a.example", what=what), 0.0) == [opened("a.example", what=what)]


def test_what_a_rule_opens_is_told_by_its_name_and_address() -> None:
    tally = Tally(kinds=10)
    tried = [opened(f"{number % 50}.example", address=str(number % 3)) for number in range(1000)]
    tried += [opened("a.example")] * 1000
    told = [*noted(tally, tried), *tally.rest()]
    counted: dict[tuple[str, str], int] = {}
    for each in told:
        assert each.rule == "*.a.example"
        key = (each.host, each.address)
        counted[key] = counted.get(key, 0) + each.times
    assert counted == dict(Counter((each.host, each.address) for each in tried))


def test_a_flood_of_what_a_rule_opens_is_told_by_the_rule_with_all_that_it_moved() -> None:
    tally = Tally(opened=10)
    closed = msgspec.structs.replace(opened("a", what=What.CLOSED), sent=7)
    many = [msgspec.structs.replace(closed, host=f"{number}.a.example") for number in range(1000)]
    told = noted(tally, many)
    assert [each.host for each in told] == [*(each.host for each in many[:10]), OTHERS]
    rest = tally.rest()
    assert {each.rule for each in (*told, *rest)} == {"*.a.example"}
    assert sum(each.times for each in (*told, *rest)) == 1000
    assert sum(each.sent for each in (*told, *rest)) == 7000
    assert tally.note(opened("new"), 1 / OPENED_PER_SECOND) == [opened("new")]


def test_a_day_of_connections_is_few_lines() -> None:
    tally, lines = Tally(), 0
    for tick in range(864_000):
        now = tick / 10
        lines += len(tally.note(opened(f"{tick % 1100}.a.example"), now)) + len(tally.due(now))
    most = 86_400 * (OPENED_PER_SECOND + REPEATS_PER_SECOND)
    assert lines <= most + OPENED_IN_A_ROW + KINDS_LIMIT


def test_what_is_forgotten_for_another_is_told_with_all_that_it_moved() -> None:
    tally = Tally(kinds=2)
    many = [msgspec.structs.replace(opened("a", what=What.CLOSED), sent=7)] * 4
    told = noted(tally, [*many, opened("b"), opened("c")])
    assert sum(each.sent for each in told if each.host == "a") == 28
    assert tally.rest() == []


def test_few_kinds_are_remembered_whatever_is_tried() -> None:
    tally = Tally(kinds=10)
    for number in range(10_000):
        tally.note(opened(str(number)), number)
        tally.note(denied(str(number)), number)
    assert len(tally._opened._known) == len(tally._refused._known) == 10


def test_a_refusal_is_told_again_at_once_a_few_times_a_second() -> None:
    tally = Tally()
    (first,), (second,) = (tally.note(denied("a.example"), now) for now in (0.0, 0.1))
    assert not first.again
    assert second == Attempt(
        what=What.CONNECT, verdict=Verdict.DENY, host="a.example", port=443, again=True
    )
    told = noted(tally, [denied("a.example")] * 5000, 0.2)
    assert len(told) == AGAIN_IN_A_ROW - 1
    assert all(attempt.times == 1 and attempt.again for attempt in told)
    hour = [tally.note(denied("a.example"), 1 + tick / 100) for tick in range(360_000)]
    assert sum(map(len, hour)) <= 3600 * AGAIN_PER_SECOND + AGAIN_IN_A_ROW
    (rest,) = tally.rest()
    assert len(told) + 2 + rest.times + sum(map(len, hour)) == 365_002


def test_after_a_flood_there_is_room_for_new_names_again() -> None:
    tally = Tally()
    noted(tally, (denied(f"{number}.example") for number in range(100_000)))
    later = 1 / NEW_PER_SECOND
    assert tally.note(denied("wanted.example"), later) == [denied("wanted.example")]
    day = [tally.note(denied(f"{tick}.day"), 1 + tick / 10) for tick in range(864_000)]
    named = [told for each in day for told in each if told.host != OTHERS]
    assert len(named) <= 86_400 * NEW_PER_SECOND + 1


def test_with_each_call_there_is_room_for_a_few() -> None:
    tally = Tally()
    flood = [denied(f"{number}.example") for number in range(100_000)]
    noted(tally, [*flood, *flood])
    for call in range(3):
        tally.make_room()
        tried = [denied(f"{number}.call{call}") for number in range(FOR_A_CALL)]
        told = noted(tally, [*tried, *flood])
        assert [each for each in told if each in tried] == tried
        assert sum(each.again for each in told) <= FOR_A_CALL
        tally.make_room()
        again = noted(tally, tried * 10)
        assert [each.host for each in again] == [each.host for each in tried]
    tally = Tally()
    tally.make_room()
    assert len(noted(tally, flood)) == KINDS_LIMIT + 1


def test_that_others_were_refused_is_told_at_once_after_a_pause() -> None:
    tally = Tally(kinds=1, every=10)
    assert [each.host for each in noted(tally, map(denied, "abc"))] == ["a", OTHERS]
    assert [each.times for each in tally.due(10.0)] == [1]
    tally = Tally(kinds=1, every=10)
    assert [each.host for each in noted(tally, map(denied, "ab"))] == ["a", OTHERS]
    assert tally.due(10.0) == []
    assert [each.host for each in noted(tally, map(denied, "cd"), 10.0)] == ["c", OTHERS]


def test_what_is_allowed_or_lost_is_only_counted_again() -> None:
    tally = Tally()
    lost = Attempt(what=What.LOST, verdict=Verdict.DENY, times=7)
    for attempt in (opened("a"), lost):
        assert tally.note(attempt, 0.0) == [attempt]
        assert tally.note(attempt, 1.0) == []


@given(st.lists(st.tuples(st.integers(0, 20), st.booleans(), st.floats(0, 100)), max_size=100))
def test_every_attempt_is_told_once(tried: list[tuple[int, bool, float]]) -> None:
    tally = Tally(kinds=5, every=3, again=2)
    told = []
    for host, is_open, now in sorted(tried, key=lambda each: each[2]):
        told += tally.note(opened(str(host)) if is_open else denied(str(host)), now)
        told += tally.due(now)
    told += tally.rest()
    assert sum(attempt.times for attempt in told) == len(tried)


@given(st.text(max_size=2000), st.text(max_size=2000), st.integers(0, 65535))
def test_a_line_is_short_and_read_back(host: str, why: str, port: int) -> None:
    host, why = ascii(host), ascii(why)
    (told,) = Tally().note(denied(host, port=port, why=why), 0.0)
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
