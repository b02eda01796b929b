"""The demo with real runs, and with jails that were broken on purpose: it tells them."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from driver import processes_with
from mcp_jail.demo.attempts import ATTEMPTS, Evidence, Outcome, judge
from mcp_jail.demo.play import NAME, POLICY, play, run_bare, run_jailed
from mcp_jail.errors import ExitCode, JailBuildError

ALL = {attempt.name for attempt in ATTEMPTS}


def got_out(evidence: Evidence) -> set[str]:
    """The attempts that got out; each other one must have been tried and held."""
    findings = {attempt.name: judge(attempt, evidence).outcome for attempt in ATTEMPTS}
    assert Outcome.UNTRIED not in findings.values()
    return {name for name, outcome in findings.items() if outcome is Outcome.OUT}


def test_everything_gets_out_without_a_jail_and_nothing_with_one() -> None:
    comparison = play()
    assert comparison.failed == ()
    assert {row.attempt.name for row in comparison.rows} == ALL


# What the policy of the demo shares.
FILES = "  read_only: [~/project]\n  read_write: [~/project/scratch]\n"


def test_without_a_jail_each_attempt_succeeds_so_the_rows_mean_something() -> None:
    assert got_out(run_bare()) == ALL


@pytest.mark.parametrize(
    ("before", "after", "out"),
    [
        ("[~/project]\n", "[~/project, ~/.ssh]\n", {"ssh-key"}),
        ("[~/project]\n", "[~/project, ~/.aws]\n", {"cloud-keys"}),
        ("tools:", "env: {pass: [GITHUB_TOKEN]}\ntools:", {"own-environment"}),
        (FILES, "  read_write: [~/project]\n", {"git-hook"}),
        ('"delete_*": deny', '"delete_*": allow', {"delete"}),
    ],
    ids=["ssh", "aws", "environment", "project", "delete"],
)
def test_a_hole_in_the_policy_shows_in_its_row_and_in_no_other(
    before: str, after: str, out: set[str]
) -> None:
    assert before in POLICY
    assert got_out(run_jailed(POLICY.replace(before, after))) == out


def test_where_policy_and_kernel_both_let_a_write_through_the_row_says_so() -> None:
    open_both = POLICY.replace(FILES, "  read_write: [~/project]\n")
    open_both = open_both.replace("project/scratch]", "project]")
    assert got_out(run_jailed(open_both)) == {"git-hook", "write-outside"}


def test_a_tool_that_is_not_allowed_at_all_leaves_its_rows_untried() -> None:
    evidence = run_jailed(POLICY.replace("summarize_notes: allow", "summarize_notes: deny"))
    outcomes = {attempt.name: judge(attempt, evidence).outcome for attempt in ATTEMPTS}
    assert outcomes["ssh-key"] is Outcome.UNTRIED
    assert outcomes["process"] is Outcome.UNTRIED


@pytest.mark.parametrize(
    ("policy", "told"),
    [
        (POLICY.replace("[~/project]", "[~/gone]"), "gone"),
        (POLICY.replace("deny", "dney"), "dney"),
        (f"name: {NAME}\nserver: {{command: [/usr/bin/true]}}\n", "/usr/bin/true"),
    ],
    ids=["missing", "malformed", "other-server"],
)
def test_a_jail_that_does_not_start_is_told_in_the_guards_words(policy: str, told: str) -> None:
    with pytest.raises(JailBuildError, match=told) as refused:
        run_jailed(policy)
    assert refused.value.exit_code == ExitCode.JAIL


def test_nothing_is_left_of_either_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    play()
    assert list(tmp_path.iterdir()) == []
    assert processes_with(str(tmp_path)) == []
