"""The public conformance suites find the same with mcp-jail in between as without it."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.expectations import BASELINE, differences, read
from conformance.suite import PATIENCE, RUNS, Run, Way, both_ways, holding


@pytest.mark.timeout(PATIENCE)
@pytest.mark.parametrize("run", RUNS, ids=str)
def test_what_holds_without_us_holds_with_us_but_for_what_the_baseline_gives_a_reason(
    run: Run,
    tmp_path: Path,
    conformance_suites: Path,
    applications: Path,
    python_servers: Path,
) -> None:
    found = both_ways(run, tmp_path)
    assert holding(found[Way.DIRECT]) >= run.checks
    different = differences(run, found, read(BASELINE.read_text()))
    assert not different, "\n".join([f"{run}, more in {tmp_path}", *map(str, different)])
