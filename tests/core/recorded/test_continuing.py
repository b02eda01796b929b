"""Entries as they come, held against the one before in their run."""

from __future__ import annotations

import pytest

from chains import run_lines
from mcp_jail.core.recorded.audit import read_record
from mcp_jail.core.recorded.continuing import RUNS_LIMIT, Continuing


def faults(lines: list[bytes], runs: Continuing | None = None) -> list[str]:
    runs = runs or Continuing()
    return [runs.fault(read_record(line), line.rstrip(b"\n")) for line in lines]


def test_whole_runs_side_by_side_have_no_fault() -> None:
    one, two = run_lines("one", 3), run_lines("two", 3)
    woven = [line for pair in zip(one, two, strict=True) for line in pair]
    assert not any(faults(woven))


def test_a_run_may_be_met_in_its_middle_and_holds_from_there() -> None:
    lines = run_lines("one", 5)[2:]
    assert not any(faults(lines))
    lines[2] = lines[2].replace(b'"allow"', b'"allov"')
    assert [bool(fault) for fault in faults(lines)] == [False, False, True, False, False]


def test_what_was_read_before_has_to_be_continued() -> None:
    lines = run_lines("one", 3)
    runs = Continuing()
    for line in lines[:2]:
        runs.begin(read_record(line))
    assert faults(lines[3:4], runs) == ["entry 3 stands where entry 2 should"]


@pytest.mark.parametrize("change", ["taken out", "doubled", "changed", "its start changed"])
def test_what_is_not_as_it_was_written_is_told_once(change: str) -> None:
    lines = run_lines("one", 4)
    if change == "taken out":
        del lines[2]
    elif change == "doubled":
        lines.insert(2, lines[1])
    else:
        at = 0 if "start" in change else 2
        lines[at] = lines[at].replace(b"file", b"life")
    assert [bool(fault) for fault in faults(lines)].count(True) == 1


def test_a_hash_that_is_none_does_not_stop_it() -> None:
    lines = run_lines("one", 2)
    lines[0] = lines[0].replace(b'"hash":"', b'"hash":"zz')
    assert faults(lines)[0]
    assert faults(lines)[1]


def test_what_is_kept_does_not_grow_with_runs_that_never_end() -> None:
    runs = Continuing()
    for number in range(RUNS_LIMIT + 10):
        runs.begin(read_record(run_lines(f"run{number}", 0, end=False)[0]))
    assert len(runs._runs) == RUNS_LIMIT
