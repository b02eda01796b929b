"""The table fits a terminal and holds the figures that the JSON holds."""

from __future__ import annotations

import json

import pytest

from report import Report, table, to_json
from targets import TARGETS

LANES = {"direct": 1_234_567.8, "C pump": 1_234_567.8, "mcp-jail": 123.45}
REAL = {"direct": 1_234.5, "npx -y bare": 12_345.6, "mcp-jail": 2_345.6}
REPORT = Report(
    figures={
        **{target.figure: LANES for target in TARGETS[:9]},
        "idle PSS MB": {"C pump": 0.125, "mcp-jail": 21.0},
        "node initialize ms": REAL,
        "node tools/list ms": REAL,
        "python call p50 us": {"direct": 1_225.4, "mcp-jail": 2_472.2},
        "log --verify MB": {"mcp-jail": 29.7},
        "all jails PSS MB": {"mcp-jail": 654.3},
        "call p50 us by jails": {"1": 162.8, "50": 163.9},
        "call p50 us by rules": {"10": 142.0, "100": 161.6, "1,000": 149.7},
        "start ms by audit": {"0": 341.9, "1,000,000": 321.6},
    },
    sizes={"jails": 50, "entries": 1_000_000},
    load=0.5,
    is_quick=False,
    not_landed=["lock", "gate", "limits", "pinned packages", "start-up proof", "report"],
    left_out=["npx -y bare: it could not fetch and start its server"],
    has_lock=False,
)


def test_the_table_fits_a_terminal() -> None:
    assert [line for line in table(REPORT) if len(line) > 80] == []


@pytest.mark.parametrize("figure", REPORT.figures)
def test_each_figure_stands_below_the_names_of_its_columns(figure: str) -> None:
    lines = list(table(REPORT))
    at = next(number for number, line in enumerate(lines) if line.startswith(f"{figure}  "))
    heading = next(line for line in reversed(lines[:at]) if line.startswith(" " * 20))
    ends = {}
    for column in REPORT.figures[figure]:
        assert heading.count(column) >= 1
        ends[column] = max(
            end for end in range(22, len(heading) + 1, 14) if heading[:end].endswith(f" {column}")
        )
    for column, value in REPORT.figures[figure].items():
        cell = lines[at][ends[column] - 14 : ends[column]]
        assert float(cell.replace(",", "")) == pytest.approx(value, rel=0.05)


def test_what_a_lane_has_no_figure_for_is_a_dash() -> None:
    (line,) = [line for line in table(REPORT) if line.startswith("python call")]
    assert line.split()[4:] == ["1,225.4", "-", "2,472.2"]


def test_the_json_holds_the_same_figures_and_targets() -> None:
    found = json.loads(to_json(REPORT))
    assert found["figures"] == REPORT.figures
    assert found["targets"] == REPORT.rows
    again = Report(**{name: found[name] for name in Report._fields})
    assert list(table(again)) == list(table(REPORT))


def test_each_target_says_whether_it_is_met() -> None:
    lines = [line for line in table(REPORT) if " target " in line]
    for row, line in zip(REPORT.rows, lines, strict=True):
        assert line.startswith(f"{row['figure']}  ")
        assert line.endswith(" met" if row["met"] else " MISSED")


def test_what_is_missing_is_named() -> None:
    text = " ".join(table(REPORT))
    for each in (*REPORT.not_landed, *REPORT.left_out):
        assert each in text
    assert "50 jails at once; log --verify and report on 1,000,000 entries" in text


@pytest.mark.parametrize("quick", [True, False])
def test_a_quick_run_says_that_it_is_one(quick: bool) -> None:
    text = " ".join(table(REPORT._replace(is_quick=quick)))
    assert ("a quick run" in text) is quick


@pytest.mark.parametrize(("load", "busy"), [(0.9, False), (9.6, True)])
def test_a_machine_that_did_something_else_is_told_of(load: float, busy: bool) -> None:
    text = " ".join(table(REPORT._replace(load=load)))
    assert (f"the machine was BUSY as it began (load {load})" in text) is busy


@pytest.mark.parametrize("lock", [True, False])
def test_the_lock_is_said_to_be_on_where_it_was(lock: bool) -> None:
    text = " ".join(table(REPORT._replace(has_lock=lock, not_landed=[])))
    assert ("paths), lock and audit on" in text) is lock
    assert "not landed yet: nothing" in text
