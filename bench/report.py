"""What was found, as a table of 80 columns and as JSON: the same figures in both."""

from __future__ import annotations

import json
from collections.abc import Iterator
from textwrap import wrap
from typing import Any, NamedTuple

from figures import Figures
from policies import RULES
from targets import judge

WIDTH = 80
# From here something else was at work, and no time is to be trusted.
BUSY = 1.0


class Report(NamedTuple):
    """The figures of one run and what they do not hold."""

    figures: Figures
    sizes: dict[str, int]  # how many jails, how many entries
    load: float  # of the machine as the run began: processes that ran or waited to, of a minute
    is_quick: bool
    not_landed: list[str]
    left_out: list[str]
    has_lock: bool

    @property
    def rows(self) -> list[dict[str, Any]]:
        """What the targets say."""
        return judge(self.figures)


def to_json(report: Report) -> str:
    """One object for a program."""
    return json.dumps({**report._asdict(), "targets": report.rows}, indent=2)


def table(report: Report) -> Iterator[str]:
    """Figures by lane or amount, what the targets say, what was on and what is missing."""
    lanes: list[str] = []
    for figure, by_lane in report.figures.items():
        if not _fits(lanes, list(by_lane)):
            lanes = list(by_lane)
            yield ""
            yield f"{'':<22}" + "".join(f"{lane:>14}" for lane in lanes)
        yield f"{figure:<22}" + "".join(f"{_number(by_lane.get(lane)):>14}" for lane in lanes)
    yield ""
    for row in report.rows:
        yield _verdict(row)
    yield ""
    yield from wrap(_notes(report), WIDTH)


def _fits(lanes: list[str], columns: list[str]) -> bool:
    """Whether a figure can stand below a heading of lanes, some of which it may lack."""
    kept = [lane for lane in lanes if lane in columns]
    return kept == columns and (len(columns) > 1 or columns == lanes)


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.1f}" if value >= 10 else f"{value:.2f}"


def _verdict(row: dict[str, Any]) -> str:
    against = row["against"].lstrip("+")
    kind = "over" if row["against"].startswith("+") else "x"
    scale = f"{kind} {against}" if against else ""
    word = "met" if row["met"] else "MISSED"
    return f"{row['figure']:<22}{row['value']:>14,.2f} {scale:<12} target {row['limit']:<6} {word}"


def _notes(report: Report) -> str:
    jails, entries = report.sizes["jails"], report.sizes["entries"]
    lock = ", lock" if report.has_lock else ""
    notes = [f"jail, policy ({RULES} rules, paths){lock} and audit on"]
    notes.append(f"{jails} jails at once; log --verify and report on {entries:,} entries")
    if report.is_quick:
        notes.append("a quick run: a look, no figure")
    if report.load >= BUSY:
        notes.append(f"the machine was BUSY as it began (load {report.load:.1f})")
    if report.left_out:
        notes.append(f"left out: {'; '.join(report.left_out)}")
    notes.append(f"not landed yet: {', '.join(report.not_landed) or 'nothing'}")
    return "; ".join(notes)
