"""The one command: a whole quick run, and what it says when something was off."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from report import Report, table
from run import told
from targets import TARGETS

ROOT = Path(__file__).resolve().parent.parent.parent
REPORT = Report(
    figures={"idle PSS MB": {"C pump": 0.1, "mcp-jail": 20.0}},
    sizes={"jails": 1, "entries": 1},
    load=0.5,
    is_quick=True,
    not_landed=[],
    left_out=[],
    has_lock=False,
)
MISSED = REPORT._replace(figures={"idle PSS MB": {"mcp-jail": 31.0}})


@pytest.mark.timeout(600)  # it builds the wheel, fetches what it needs, and starts 60 servers
def test_a_quick_run_works_from_end_to_end(npm_tree: Path, python_servers: Path) -> None:
    words = [sys.executable, str(ROOT / "bench" / "run.py"), "--quick", "--json"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode in {0, 1}, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    report = Report(**{name: found[name] for name in Report._fields})
    assert [row["figure"] for row in found["targets"]] == [target.figure for target in TARGETS]
    assert found["targets"] == report.rows
    assert (done.returncode == 0) is all(row["met"] for row in report.rows)
    assert [line for line in table(report) if len(line) > 80] == []
    values = [
        value
        for figure, by_lane in report.figures.items()
        for value in by_lane.values()
        if figure != "cpu s/10k"  # of a direct pipe it is nothing
    ]
    assert min(values) > 0
    assert report.is_quick
    assert {part.partition(":")[0] for part in report.left_out} <= {"npx -y bare", "pinned"}


@pytest.mark.parametrize("as_json", [True, False])
def test_nothing_is_reported_when_something_was_off(
    capsys: pytest.CaptureFixture[str], as_json: bool
) -> None:
    off = ["audit of echo: 0 starts of 2", "lock of echo: there is none with its tool in it"]
    assert told(REPORT, off, as_json=as_json) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.splitlines() == [f"nothing to report: {each}" for each in off]


@pytest.mark.parametrize(("report", "code"), [(REPORT, 0), (MISSED, 1)])
def test_the_exit_code_says_whether_a_target_was_missed(
    capsys: pytest.CaptureFixture[str], report: Report, code: int
) -> None:
    assert told(report, [], as_json=False) == code
    assert capsys.readouterr().out.splitlines() == list(table(report))
    assert told(report, [], as_json=True) == code
    assert json.loads(capsys.readouterr().out)["figures"] == report.figures


def test_a_wrong_option_is_said() -> None:
    words = [sys.executable, str(ROOT / "bench" / "run.py"), "--fast"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "--fast" in done.stderr
