"""Tells what the conformance suites find; `scripts/conformance` starts it.

    scripts/conformance [RUN...]    what fails in these runs (all: in all), and what has changed
    scripts/conformance --shrink    strikes what holds now off tests/conformance/baseline.yaml
    scripts/conformance --keep DIR  leaves the suites' own results and all error streams there

A RUN is SUITE@VERSION, such as 0.2@2026-07-28. The exit code is 1 when something has changed.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from conformance.expectations import (
    BASELINE,
    Difference,
    differences,
    failures,
    read,
    render,
    shrunk,
)
from conformance.suite import RUNS, Run, Way, both_ways, holding


def main() -> int:
    """Run, tell, and shrink if asked to."""
    parser = argparse.ArgumentParser(
        prog="scripts/conformance",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    parser.add_argument("runs", nargs="*", metavar="RUN", choices=[*map(str, RUNS), []])
    parser.add_argument("--shrink", action="store_true")
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    chosen = [run for run in RUNS if not options.runs or str(run) in options.runs]
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        changed = {run: tell(run, folder / str(run)) for run in chosen}
    if options.shrink:
        shrink(changed)
    return int(any(changed.values()))


def tell(run: Run, folder: Path) -> list[Difference]:
    """Run one, print what fails and what has changed; the changes."""
    started = time.monotonic()
    found = both_ways(run, folder)
    print(f"== {run}, {time.monotonic() - started:.0f} s")
    failing = failures(found)
    for way in Way:
        print(f"  {way.value}: {holding(found[way])} checks hold, {len(failing[way])} fail")
        for check, each in sorted(failing[way].items()):
            print(f"    {each.status.value}  {check}  {each.words}")
    changes = differences(run, found, read(BASELINE.read_text()))
    for change in changes:
        print(f"CHANGED {change}")
    return changes


def shrink(changed: dict[Run, list[Difference]]) -> None:
    """Write the baseline anew without what holds now."""
    text = BASELINE.read_text()
    head = "".join(line for line in text.splitlines(keepends=True) if line.startswith("#"))
    holding = [
        (change.way, run, check)
        for run, changes in changed.items()
        for change in changes
        for check in change.holding
    ]
    BASELINE.write_text(render(shrunk(read(text), holding), head))
    print(f"{len(holding)} struck off")
