"""Measure what mcp-jail costs, against the direct pipe and a C pump in the same run.

    python bench/run.py [--quick] [--json]

Ratios carry from machine to machine, absolute times do not. Nothing is reported when jail, policy
or audit were off; parts that have not landed yet are named, since they will cost something too.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent))

import figures
from figures import Figures
from lanes import everything_on, set_up

NOT_LANDED = ("lock", "start-up proof", "gate", "limits")


class Target(NamedTuple):
    """What a figure of ours may be at most (or at least), against a lane or by itself."""

    figure: str
    limit: float
    against: str  # a lane, or "" for the figure by itself
    at_least: bool = False


TARGETS = (
    Target("call p50 us", 1.5, "C pump"),
    Target("call p99 us", 2.0, "C pump"),
    Target("cpu s/10k", 0.9, ""),
    Target("1 MiB ms", 1.7, "direct"),
    Target("16 MiB ms", 1.7, "direct"),
    Target("16 MiB peak MB", 110, ""),
    Target("256 in flight k/s", 40, "", at_least=True),
    Target("notifications k/s", 0.35, "direct", at_least=True),
    Target("start ms", 120, "+direct"),
    Target("idle PSS MB", 30, ""),
)


def main() -> int:
    """Measure and print; 1 when a target is missed, 2 when something was off."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer rounds: a look, not a figure")
    parser.add_argument("--json", action="store_true", help="print the figures for a program")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-", dir=Path.home()) as folder:
        workshop = set_up(Path(folder))
        found = measure(workshop, 8 if arguments.quick else 40)
        off = everything_on(workshop)
    if off:
        sys.stderr.write(f"nothing to report: {', '.join(off)} was off\n")
        return 2
    rows = [judge(target, found) for target in TARGETS]
    if arguments.json:
        print(json.dumps({"figures": found, "targets": rows, "not_landed": NOT_LANDED}, indent=2))
    else:
        show(found, rows)
    return 0 if all(row["met"] for row in rows) else 1


def measure(workshop: figures.Workshop, rounds: int) -> Figures:
    """All figures; fewer rounds for what takes long."""
    lanes = workshop.lanes()
    few = max(3, rounds // 5)
    return {
        **figures.latency(workshop, lanes, rounds),
        **figures.large(workshop, lanes, 1, rounds),
        **figures.large(workshop, lanes, 16, few),
        **figures.throughput(workshop, lanes, few),
        **figures.flood(workshop, lanes, few),
        **figures.start_up(workshop, lanes, few * 2),
        **figures.memory(workshop, lanes),
    }


def judge(target: Target, found: Figures) -> dict[str, object]:
    """A figure of ours held against its target."""
    ours = found[target.figure]["mcp-jail"]
    if target.against.startswith("+"):
        value = ours - found[target.figure][target.against[1:]]
    elif target.against:
        value = ours / found[target.figure][target.against]
    else:
        value = ours
    met = value >= target.limit if target.at_least else value <= target.limit
    return {
        "figure": target.figure,
        "value": round(value, 2),
        "against": target.against,
        "limit": target.limit,
        "met": met,
    }


def show(found: Figures, rows: list[dict[str, object]]) -> None:
    """The table: figures by lane, then what the targets say."""
    lanes = list(next(iter(found.values())))
    print(f"{'':<20}" + "".join(f"{lane:>12}" for lane in lanes))
    for figure, by_lane in found.items():
        print(f"{figure:<20}" + "".join(f"{by_lane[lane]:>12.1f}" for lane in lanes))
    print()
    for row in rows:
        against = str(row["against"]).lstrip("+")
        kind = "over" if str(row["against"]).startswith("+") else "x"
        scale = f"{kind} {against}" if against else ""
        word = "met" if row["met"] else "MISSED"
        held = f"target {row['limit']!s:<6} {word}"
        print(f"{row['figure']!s:<20}{row['value']!s:>9} {scale:<12} {held}")
    print(f"\njail, policy (50 rules, paths) and audit on; not landed yet: {', '.join(NOT_LANDED)}")


if __name__ == "__main__":
    sys.exit(main())
