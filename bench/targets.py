"""What a figure of ours may be, and whether it is."""

from __future__ import annotations

from typing import Any, NamedTuple

from figures import Figures
from lanes import JAILED

# What noise leaves between two figures that are the same: the most that "flat" may differ.
FLAT = 1.2
# In place of a lane: the first column of a figure that has one for each amount of something.
SMALLEST = "smallest"


class Target(NamedTuple):
    """What a figure of ours may be at most (or at least), against a lane or by itself."""

    figure: str
    limit: float
    against: str = ""  # a lane: ours divided by it; "+lane": ours less it; SMALLEST; or nothing
    at_least: bool = False


TARGETS = (
    Target("call p50 us", 1.5, "C pump"),
    Target("call p99 us", 2.0, "C pump"),
    Target("cpu s/10k", 0.9),
    Target("1 MiB ms", 1.7, "direct"),
    Target("16 MiB ms", 1.7, "direct"),
    Target("16 MiB peak MB", 110),
    Target("256 in flight k/s", 40, at_least=True),
    Target("notifications k/s", 0.35, "direct", at_least=True),
    Target("start ms", 120, "+direct"),
    Target("idle PSS MB", 30),
    Target("node initialize ms", 60, "+direct"),
    Target("node tools/list ms", 60, "+direct"),
    Target("all jails PSS MB", 700),
    Target("one connection MB/s", 500, at_least=True),
    Target("connections at once", 200, at_least=True),
    Target("call p50 us by connections", 1.5, SMALLEST),
    Target("call p50 us by rules", FLAT, SMALLEST),
    Target("start ms by rules", FLAT, SMALLEST),
    Target("call p50 us by audit", FLAT, SMALLEST),
    Target("start ms by audit", FLAT, SMALLEST),
    Target("call p50 us by jails", FLAT, SMALLEST),
    Target("log --verify s", 5),
    Target("log --verify MB", 100),
    Target("report s", 5),
    Target("report MB", 100),
)


def judge(found: Figures) -> list[dict[str, Any]]:
    """Each figure that has a target and was taken, held against it."""
    return [_judged(target, found[target.figure]) for target in TARGETS if target.figure in found]


def value_of(target: Target, by_lane: dict[str, float]) -> float:
    """What is compared with the limit: our figure, or a ratio, or a difference."""
    if target.against == SMALLEST:
        smallest, *others = by_lane.values()
        return max(others) / smallest
    ours = by_lane[JAILED]
    if target.against.startswith("+"):
        return ours - by_lane[target.against[1:]]
    return ours / by_lane[target.against] if target.against else ours


def _judged(target: Target, by_lane: dict[str, float]) -> dict[str, Any]:
    value = value_of(target, by_lane)
    return {
        "figure": target.figure,
        "value": round(value, 2),
        "against": target.against,
        "limit": target.limit,
        "met": value >= target.limit if target.at_least else value <= target.limit,
    }
