"""Figures of runs in which something was off are not reported: real jails, one thing taken away."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from lanes import Server, Workshop
from mcp_jail.config.reference import DESCRIPTIONS
from policies import LOCK
from protections import BY_KEY, not_landed, what_was_off
from talk import LostError

NAME = "echo"


def measured(workshop: Workshop, before: Callable[[Workshop, Server], None] | None = None) -> None:
    """Two jailed runs of a few calls; something may happen to the workshop before them."""
    server = workshop.echo_server(NAME)
    workshop.prepare(server)
    if before is not None:
        before(workshop, server)
    for calls in (2, 3):
        with workshop.talking(workshop.lane, server) as talk:
            talk.try_call()
            talk.time_calls(calls)


def changed(workshop: Workshop, old: str, new: str) -> None:
    """Replace a part of the policy, which has to be there."""
    path = workshop.policies / f"{NAME}.yaml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def audit(workshop: Workshop) -> Path:
    (path,) = workshop.audits(NAME)
    return path


def what_of(workshop: Workshop) -> set[str]:
    """The protections that were off, by their first words."""
    return {each.partition(" of ")[0] for each in what_was_off(workshop)}


def test_nothing_was_off_in_runs_as_they_are_measured(workshop: Workshop) -> None:
    measured(workshop)
    assert what_was_off(workshop) == []


def test_a_workshop_in_which_nothing_was_jailed_has_no_figures(workshop: Workshop) -> None:
    with workshop.talking(workshop.lanes[0], workshop.echo_server(NAME)) as talk:
        talk.time_calls(2)
    assert what_was_off(workshop) == ["jail: nothing went through it"]


def test_a_policy_without_its_constraints_is_off(workshop: Workshop) -> None:
    measured(
        workshop, lambda w, _: changed(w, "{path: {under: [~/projects/app]}, content", "{content")
    )
    off = what_was_off(workshop)
    assert "policy of echo: 2 calls let through that it has to refuse" in off
    assert "policy of echo: it is not the one that was written for this" in off


def test_a_policy_that_allows_by_another_rule_is_off(workshop: Workshop) -> None:
    measured(workshop, lambda w, _: changed(w, "    write_file:\n", '    "write_*":\n'))
    assert "policy of echo: calls were allowed by tools.rules.write_*" in what_was_off(workshop)


def test_a_policy_of_fewer_rules_is_off(workshop: Workshop) -> None:
    measured(workshop, lambda w, _: changed(w, '    "tool_3_*": deny\n', ""))
    assert what_of(workshop) == {"policy"}


def test_an_audit_that_is_not_there_is_off(workshop: Workshop) -> None:
    measured(workshop)
    audit(workshop).unlink()
    assert "audit of echo: 0 starts of 2" in what_was_off(workshop)
    assert "audit of echo: 0 calls and 0 results of 7" in what_was_off(workshop)


def test_an_audit_that_lies_elsewhere_is_off(workshop: Workshop) -> None:
    folder = workshop.home / "elsewhere"
    folder.mkdir(mode=0o700)
    measured(
        workshop, lambda w, _: changed(w, "tools:\n", "audit: {path: ~/elsewhere/x}\ntools:\n")
    )
    assert (folder / "x").exists()
    assert "audit" in what_of(workshop)


@pytest.mark.parametrize("kind", ["call", "result"])
def test_an_audit_that_lacks_one_entry_is_off(workshop: Workshop, kind: str) -> None:
    measured(workshop)
    lines = audit(workshop).read_text().splitlines(keepends=True)
    lines.remove(next(line for line in lines if f'"kind":"{kind}","method"' in line))
    audit(workshop).write_text("".join(lines))
    assert what_of(workshop) == {"audit"}


def test_a_result_that_was_an_error_is_none(workshop: Workshop) -> None:
    measured(workshop)
    text = audit(workshop).read_text()
    audit(workshop).write_text(text.replace('"size":', '"is_error":true,"size":'))
    assert what_was_off(workshop) == ["audit of echo: 7 calls and 0 results of 7"]


def test_a_jail_that_was_not_seen_to_its_end_is_off(workshop: Workshop) -> None:
    measured(workshop)
    with workshop.talking(workshop.lane, workshop.echo_server(NAME)) as talk:
        os.kill(talk.process.pid, signal.SIGKILL)
    assert what_was_off(workshop) == ["jail of echo: 2 runs of 3 ended with a server that was held"]


def test_a_server_that_the_kernel_did_not_hold_is_off(workshop: Workshop) -> None:
    measured(workshop)
    text = audit(workshop).read_text()
    audit(workshop).write_text(text.replace('"seccomp":"filter"', '"seccomp":"off"'))
    assert what_of(workshop) == {"jail"}


def test_entries_from_before_the_runs_do_not_count(workshop: Workshop) -> None:
    measured(workshop)
    old = audit(workshop).read_text().replace('"run":"', '"run":"before-')
    (workshop.state / f"{NAME}.jsonl.1").write_text(old)
    assert what_was_off(workshop) == []


def test_once_there_is_a_lock_one_without_the_tool_in_it_is_off(workshop: Workshop) -> None:
    measured(workshop)
    workshop.missing = workshop.missing - {"lock"}  # as of a program that has it
    lock = workshop.state / "locks" / f"{NAME}.json"
    lock.parent.mkdir(exist_ok=True)
    lock.unlink(missing_ok=True)
    assert what_was_off(workshop) == ["lock of echo: there is none with its tool in it"]
    lock.write_text('{"tool/read_file": {}}')
    assert what_of(workshop) == {"lock"}
    lock.write_text('{"tool/write_file": {}}')
    assert what_was_off(workshop) == []


def test_a_policy_asks_for_the_lock_as_soon_as_there_is_one(workshop: Workshop) -> None:
    for missing, asks in ((frozenset({"lock"}), False), (frozenset[str](), True)):
        workshop.missing = missing
        workshop.jailed.clear()
        workshop.prepare(workshop.echo_server(NAME))
        text = (workshop.policies / f"{NAME}.yaml").read_text()
        assert (LOCK in text.splitlines()) is asks


def test_a_server_that_refuses_the_call_is_not_measured(workshop: Workshop) -> None:
    with pytest.raises(LostError, match="the call that is to be measured fails"):
        measured(workshop, lambda w, _: changed(w, "decision: allow", "decision: deny"))


def test_a_part_is_said_to_be_missing_until_its_key_can_be_written(workshop: Workshop) -> None:
    workshop.missing = frozenset(BY_KEY)
    assert set(BY_KEY.values()) < set(not_landed(workshop))
    workshop.missing = frozenset()
    assert set(BY_KEY.values()) & set(not_landed(workshop)) == set()


@pytest.mark.parametrize("key", BY_KEY)
def test_a_part_goes_by_a_key_of_the_format(key: str) -> None:
    section, _, inner = key.partition(".")
    assert ("Policy", section) in DESCRIPTIONS
    assert not inner or (section.capitalize(), inner) in DESCRIPTIONS
