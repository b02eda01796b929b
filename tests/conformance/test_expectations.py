"""The baseline of the conformance suites: what counts as a difference, and how it shrinks."""

from __future__ import annotations

from collections import Counter
from typing import Final

import pytest

from conformance.expectations import BASELINE, Group, differences, failures, read, render, shrunk
from conformance.suite import RUNS, Findings, Found, Status, Way

RUN, OTHER = RUNS[:2]
HOLDS: Final = Found(Status.SUCCESS)
FAILS: Final = Found(Status.FAILURE, "not so")
NOTHING: Final = {Way.DIRECT: (), Way.JAILED: ()}
EXPECTED: Final = {
    Way.DIRECT: (),
    Way.JAILED: (Group("not yet", (str(RUN), str(OTHER)), ("a:one", "a:two")),),
}


def found(direct: Findings, jailed: Findings) -> dict[Way, Findings]:
    return {Way.DIRECT: direct, Way.JAILED: jailed}


def test_what_holds_both_ways_is_no_difference() -> None:
    same = {"a:one": HOLDS, "a:two": HOLDS}
    assert differences(RUN, found(same, same), NOTHING) == []


@pytest.mark.parametrize("way", Way)
def test_a_failure_without_a_reason_is_a_difference(way: Way) -> None:
    other = {"a:one": FAILS if way is Way.DIRECT else HOLDS}
    (difference,) = differences(RUN, found(other, {"a:one": FAILS}), NOTHING)
    assert difference.way is way
    assert difference.failing == {
        "a:one": FAILS if way is Way.DIRECT else difference.failing["a:one"]
    }
    assert "a:one  FAILURE" in str(difference)


@pytest.mark.parametrize("status", [Status.FAILURE, Status.WARNING, Status.SKIPPED])
def test_what_is_worse_only_with_us_is_a_failure_of_ours(status: Status) -> None:
    failing = failures(found({}, {"a:one": Found(status)}))
    assert failing == {Way.DIRECT: {}, Way.JAILED: {"a:one": Found(status)}}


@pytest.mark.parametrize("jailed", [{}, {"a:one": Found(Status.INFO)}], ids=["gone", "only told"])
def test_a_check_that_is_not_reached_with_us_has_failed(jailed: Findings) -> None:
    assert failures(found({"a:one": HOLDS}, jailed))[Way.JAILED].keys() == {"a:one"}


def test_what_fails_without_us_is_not_counted_again() -> None:
    failing = failures(found({"a:one": FAILS}, {"a:one": FAILS}))
    assert failing == {Way.DIRECT: {"a:one": FAILS}, Way.JAILED: {}}


def test_what_is_expected_to_fail_and_holds_is_a_difference() -> None:
    one_is_mended = found({"a:one": HOLDS, "a:two": HOLDS}, {"a:one": HOLDS, "a:two": FAILS})
    (difference,) = differences(RUN, one_is_mended, EXPECTED)
    assert (difference.failing, difference.holding) == ({}, ("a:one",))
    assert "leaves baseline.yaml" in str(difference)


def test_a_reason_holds_for_its_own_runs_only() -> None:
    failing = found({"a:one": HOLDS, "a:two": HOLDS}, {"a:one": FAILS, "a:two": FAILS})
    assert differences(RUN, failing, EXPECTED) == []
    (difference,) = differences(RUNS[2], failing, EXPECTED)
    assert difference.failing.keys() == {"a:one", "a:two"}


def test_shrinking_strikes_off_what_holds_and_splits_what_holds_in_some_runs() -> None:
    one_run = shrunk(EXPECTED, [(Way.JAILED, RUN, "a:one")])
    assert one_run[Way.JAILED] == (
        Group("not yet", (str(RUN),), ("a:two",)),
        Group("not yet", (str(OTHER),), ("a:one", "a:two")),
    )
    both = [(Way.JAILED, run, check) for run in (RUN, OTHER) for check in ("a:one", "a:two")]
    assert shrunk(EXPECTED, both) == NOTHING


def test_the_baseline_is_written_as_shrinking_would_write_it() -> None:
    text = BASELINE.read_text()
    head = "".join(line for line in text.splitlines(keepends=True) if line.startswith("#"))
    assert render(read(text), head) == text


def test_each_failure_that_is_expected_has_one_reason_and_a_run_that_exists() -> None:
    for groups in read(BASELINE.read_text()).values():
        reasons = Counter(
            (run, check) for each in groups for run in each.runs for check in each.checks
        )
        assert [key for key, count in reasons.items() if count > 1] == []
        assert {run for run, _ in reasons} <= {str(run) for run in RUNS}
        assert all(len(each.why.split()) > 3 for each in groups)
