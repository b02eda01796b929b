"""What is expected to fail, and whether just that does: `baseline.yaml`, read, compared, shrunk.

The file may only shrink. What fails and does not stand in it is a difference; so is what stands in
it and holds. A check that holds without mcp-jail must hold with it, or it counts as failed, also
when a scenario ends before it is reached.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

import yaml

from conformance.suite import Findings, Found, Run, Status, Way

BASELINE: Final = Path(__file__).with_name("baseline.yaml")
NOT_REACHED: Final = Found(Status.FAILURE, "not reached, or nothing to say")

# How the file names the ways.
SECTIONS: Final = {Way.DIRECT: "without", Way.JAILED: "with"}


class Group(NamedTuple):
    """Checks that fail in these runs, for one reason."""

    why: str
    runs: tuple[str, ...]
    checks: tuple[str, ...]


Baseline = Mapping[Way, tuple[Group, ...]]


class Difference(NamedTuple):
    """Where a run came out otherwise than expected: checks that now fail, and that now hold."""

    way: Way
    failing: Findings
    holding: tuple[str, ...]

    def __str__(self) -> str:
        lines = [f"  {self.way.value}:"]
        if self.failing:
            lines.append("    fails, and baseline.yaml has no reason for it:")
        lines += [
            f"      {check}  {found.status.value}  {found.words}"
            for check, found in sorted(self.failing.items())
        ]
        if self.holding:
            lines.append("    holds, so it leaves baseline.yaml (`scripts/conformance --shrink`):")
        return "\n".join([*lines, *(f"      {check}" for check in sorted(self.holding))])


def read(text: str) -> Baseline:
    """The groups of a baseline; ValueError or TypeError when it has another shape."""
    found = yaml.safe_load(text)
    sections = {way: found.pop(section) for way, section in SECTIONS.items()}
    if found:
        raise ValueError(f"unknown sections: {sorted(found)}")
    return {
        way: tuple(
            Group(group["why"], tuple(group["runs"]), tuple(group["checks"])) for group in groups
        )
        for way, groups in sections.items()
    }


def failures(found: Mapping[Way, Findings]) -> dict[Way, Findings]:
    """What fails on each way; with mcp-jail only what does not fail without it too."""
    direct, jailed = found[Way.DIRECT], found[Way.JAILED]
    bad = {check: each for check, each in direct.items() if _is_bad(each)}
    lost = {
        check: NOT_REACHED
        for check, each in direct.items()
        if each.status is Status.SUCCESS
        and jailed.get(check, NOT_REACHED).status is not Status.SUCCESS
    }
    worse = {check: each for check, each in jailed.items() if _is_bad(each) and check not in bad}
    return {Way.DIRECT: bad, Way.JAILED: lost | worse}


def differences(run: Run, found: Mapping[Way, Findings], baseline: Baseline) -> list[Difference]:
    """Where a run came out otherwise than the baseline says; none is what should be."""
    different = []
    for way, failing in failures(found).items():
        expected = _expected(run, baseline[way])
        more = {check: each for check, each in failing.items() if check not in expected}
        fewer = tuple(expected - failing.keys())
        if more or fewer:
            different.append(Difference(way, more, fewer))
    return different


def shrunk(baseline: Baseline, holding: Iterable[tuple[Way, Run, str]]) -> Baseline:
    """A baseline without the checks that hold; a group is split where only some of its runs do."""
    gone = {(way, str(run), check) for way, run, check in holding}
    return {
        way: tuple(part for group in groups for part in _without(way, group, gone))
        for way, groups in baseline.items()
    }


def render(baseline: Baseline, head: str) -> str:
    """The text of a baseline under a head of comments."""
    sections = {
        SECTIONS[way]: [
            {"why": group.why, "runs": [*group.runs], "checks": [*group.checks]} for group in groups
        ]
        for way, groups in baseline.items()
    }
    return head + yaml.safe_dump(sections, sort_keys=False, width=96, allow_unicode=True)


def _is_bad(found: Found) -> bool:
    return found.status in {Status.FAILURE, Status.WARNING, Status.SKIPPED}


def _expected(run: Run, groups: Iterable[Group]) -> set[str]:
    return {check for group in groups if str(run) in group.runs for check in group.checks}


def _without(way: Way, group: Group, gone: set[tuple[Way, str, str]]) -> list[Group]:
    """The group for each set of runs in which the same of its checks are left."""
    left: dict[tuple[str, ...], list[str]] = {}
    for run in group.runs:
        checks = tuple(check for check in group.checks if (way, run, check) not in gone)
        left.setdefault(checks, []).append(run)
    return [Group(group.why, tuple(runs), checks) for checks, runs in left.items() if checks]
