"""What a figure is held against."""

from __future__ import annotations

import pytest

from targets import SMALLEST, TARGETS, Target, judge, value_of

LANES = {"direct": 20.0, "C pump": 40.0, "mcp-jail": 70.0}


@pytest.mark.parametrize(
    ("against", "by_lane", "value"),
    [
        ("", LANES, 70.0),
        ("C pump", LANES, 1.75),
        ("+direct", LANES, 50.0),
        (SMALLEST, {"10": 4.0, "100": 5.0, "1,000": 4.5}, 1.25),
        (SMALLEST, {"1": 4.0, "50": 3.0}, 0.75),
    ],
)
def test_a_figure_is_held_against(against: str, by_lane: dict[str, float], value: float) -> None:
    assert value_of(Target("x", 1.0, against), by_lane) == value


@pytest.mark.parametrize(
    ("figure", "by_lane", "met"),
    [
        ("call p50 us", {"C pump": 40.0, "mcp-jail": 60.0}, True),
        ("call p50 us", {"C pump": 40.0, "mcp-jail": 60.1}, False),
        ("256 in flight k/s", {"mcp-jail": 40.0}, True),
        ("256 in flight k/s", {"mcp-jail": 39.9}, False),
        ("notifications k/s", {"direct": 1000.0, "mcp-jail": 349.0}, False),
        ("node initialize ms", {"direct": 200.0, "npx -y bare": 900.0, "mcp-jail": 260.0}, True),
        ("node initialize ms", {"direct": 200.0, "npx -y bare": 900.0, "mcp-jail": 260.5}, False),
        ("all jails PSS MB", {"mcp-jail": 700.0}, True),
        ("all jails PSS MB", {"mcp-jail": 700.1}, False),
        ("call p50 us by rules", {"10": 100.0, "100": 121.0, "1,000": 90.0}, False),
        ("call p50 us by audit", {"0": 100.0, "1,000,000": 119.0}, True),
        ("log --verify s", {"mcp-jail": 5.1}, False),
        ("log --verify MB", {"mcp-jail": 99.0}, True),
        ("report s", {"mcp-jail": 5.1}, False),
    ],
)
def test_a_target_is_met_or_missed(figure: str, by_lane: dict[str, float], met: bool) -> None:
    (row,) = judge({figure: by_lane})
    assert row["figure"] == figure
    assert row["met"] is met


def test_a_figure_without_a_target_is_not_judged() -> None:
    assert judge({"python initialize ms": {"direct": 1.0, "mcp-jail": 99.0}}) == []


def test_no_figure_has_two_targets() -> None:
    names = [target.figure for target in TARGETS]
    assert len(set(names)) == len(names)
