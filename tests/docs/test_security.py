"""Each promise of docs/security.md names a test that exists."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Final

import pytest

from docs.pages import ROOT

# `| promise. | `path::test` |`, with or without the parameters of the test.
ROW: Final = re.compile(r"^\| (?P<promise>.+) \| `(?P<test>tests/\S+?::[^`]+)` \|$", re.MULTILINE)
PROMISES: Final = {
    found["promise"]: found["test"]
    for found in ROW.finditer((ROOT / "docs" / "security.md").read_text())
}


@pytest.fixture(scope="module")
def collected() -> set[str]:
    """The ids of all tests in the files that are named, each also without its parameters."""
    files = sorted({test.partition("::")[0] for test in PROMISES.values()})
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *files],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    ids = {line for line in done.stdout.splitlines() if "::" in line}
    return ids | {each.partition("[")[0] for each in ids}


def test_each_promise_has_a_test_that_exists(collected: set[str]) -> None:
    assert {promise: test for promise, test in PROMISES.items() if test not in collected} == {}


def test_every_row_of_the_promises_is_read() -> None:
    text = (ROOT / "docs" / "security.md").read_text()
    tables = text.partition("## Promises")[2].partition("\n## ")[0]
    rows = [line for line in tables.splitlines() if line.startswith("| ")]
    assert len(rows) - tables.count("| promise | test |") == len(PROMISES)


def test_each_promise_is_one_sentence() -> None:
    assert [promise for promise in PROMISES if not promise.endswith(".")] == []
