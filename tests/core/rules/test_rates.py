"""Rates and durations of a policy."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_jail.core.rules.rates import Limit, Rates, limit_of, seconds_of


@pytest.mark.parametrize(
    ("text", "seconds"), [("50s", 50), ("15m", 900), ("2h", 7200), ("250ms", 0.25), ("0s", 0)]
)
def test_a_duration_has_seconds(text: str, seconds: float) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize(
    ("text", "limit", "told"),
    [
        ("3/s", Limit(3, 1, "3/s"), "3 a second"),
        ("30/min", Limit(30, 60, "30/min"), "30 a minute"),
        ("1/h", Limit(1, 3600, "1/h"), "1 a hour"),
    ],
)
def test_a_rate_has_a_count_and_a_time(text: str, limit: Limit, told: str) -> None:
    assert limit_of(text) == limit
    assert limit.told == told.replace("a hour", "an hour")


@given(st.lists(st.floats(0, 5), max_size=40), st.integers(0, 5))
def test_no_window_has_more_than_the_limit(steps: list[float], count: int) -> None:
    rates, now, taken = Rates(), 0.0, []
    for step in steps:
        now += step
        if rates.take("k", Limit(count, 10.0, ""), now):
            taken.append(now)
    for begin in taken:
        assert len([each for each in taken if begin <= each < begin + 10.0]) <= count


def test_keys_are_counted_apart() -> None:
    rates = Rates()
    assert rates.take("a", Limit(1, 1, ""), 0)
    assert not rates.take("a", Limit(1, 1, ""), 0)
    assert rates.take("b", Limit(1, 1, ""), 0)
