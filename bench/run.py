"""Measure what mcp-jail costs, against the direct pipe and a C pump in the same run.

    python bench/run.py [--quick] [--json]

Ratios carry from machine to machine, absolute times do not. Nothing is reported when jail, policy,
audit or lock were off in what was measured (`protections`); parts that have not landed yet are
named, since they will cost something too.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent))

import audits
import figures
import gates
import growth
import real_servers
from figures import Figures
from lanes import Workshop, installed
from protections import not_landed, what_was_off
from report import Report, table, to_json


class Size(NamedTuple):
    """How much is done: rounds of calls and of what takes long, starts, jails, entries, MiB."""

    rounds: int
    few: int
    starts: int
    jails: int
    entries: int
    mib: int


FULL = Size(rounds=40, few=8, starts=16, jails=50, entries=1_000_000, mib=1024)
QUICK = Size(rounds=4, few=2, starts=2, jails=4, entries=20_000, mib=64)


def main() -> int:
    """Measure and print; 1 when a target is missed, 2 when something was off."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer rounds: a look, not a figure")
    parser.add_argument("--json", action="store_true", help="print the figures for a program")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-", dir=Path.home()) as folder:
        workshop = Workshop(Path(folder), installed(Path(folder)))
        report = measured(workshop, QUICK if arguments.quick else FULL, is_quick=arguments.quick)
        off = what_was_off(workshop)
    return told(report, off, as_json=arguments.json)


def measured(workshop: Workshop, size: Size, *, is_quick: bool) -> Report:
    """All figures, and what they do not hold."""
    load = os.getloadavg()[0]
    real = real_servers.find(workshop)
    return Report(
        figures=measure(workshop, size, real),
        sizes={"jails": size.jails, "entries": size.entries},
        load=load,
        is_quick=is_quick,
        not_landed=not_landed(workshop),
        left_out=real.left_out,
        has_lock=workshop.has_lock,
    )


def measure(workshop: Workshop, size: Size, real: real_servers.Real) -> Figures:
    """All figures, one after the other; each is said on stderr as it begins."""
    rounds, few, starts = size.rounds, size.few, size.starts
    steps: dict[str, Callable[[], Figures]] = {
        "calls": lambda: figures.latency(workshop, rounds),
        "results of 1 MiB": lambda: figures.large(workshop, 1, rounds),
        "results of 16 MiB": lambda: figures.large(workshop, 16, few),
        "256 calls in flight": lambda: figures.throughput(workshop, few),
        "notifications": lambda: figures.flood(workshop, few),
        "starts": lambda: figures.start_up(workshop, starts),
        "memory": lambda: figures.memory(workshop),
        "real servers": lambda: real_servers.measure(workshop, real, rounds, few),
        "a long audit": lambda: audits.write_and_read(workshop, size.entries, 2),
        "many jails": lambda: growth.by_jails(workshop, size.jails, rounds),
        "one connection": lambda: gates.throughput(workshop, size.mib, few),
        "many connections": lambda: gates.by_connections(workshop, rounds),
        "many rules": lambda: growth.by_rules(workshop, rounds, starts),
        "calls after a long audit": lambda: growth.by_audit(workshop, size.entries, rounds, starts),
    }
    found: Figures = {}
    for number, (what, step) in enumerate(steps.items(), 1):
        sys.stderr.write(f"{number}/{len(steps)} {what}\n")
        found |= step()
    return found


def told(report: Report, off: list[str], *, as_json: bool) -> int:
    """Print a report, or in its place what was off; the exit code."""
    if off:
        sys.stderr.write("".join(f"nothing to report: {each}\n" for each in off))
        return 2
    print(to_json(report) if as_json else "\n".join(table(report)))
    return 0 if all(row["met"] for row in report.rows) else 1


if __name__ == "__main__":
    sys.exit(main())
