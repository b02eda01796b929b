"""More rules, a longer audit, more jails: what is compared differs in that alone."""

from __future__ import annotations

import growth
from audits import LONG, write_long
from lanes import JAILED, Workshop
from protections import what_was_off


def test_every_one_of_many_jails_answers_and_is_weighed(workshop: Workshop) -> None:
    figures = growth.by_jails(workshop, 3, rounds=1)
    assert list(figures["call p50 us by jails"]) == ["1", "3"]
    assert figures["all jails PSS MB"][JAILED] > 3 * 5
    assert len(workshop.jailed) == 3
    assert all(jailed.calls > 0 for jailed in workshop.jailed.values())
    assert what_was_off(workshop) == []


def test_the_policies_that_are_compared_have_more_and_more_rules(workshop: Workshop) -> None:
    figures = growth.by_rules(workshop, rounds=1, starts=1)
    assert set(figures) == {"call p50 us by rules", "start ms by rules"}
    assert [list(each) for each in figures.values()] == [["10", "100", "1,000"]] * 2
    rules = [
        sum(": allow" in line or ": deny" in line for line in policy.read_text().splitlines())
        for policy in sorted(
            workshop.policies.glob("echo-*-rules.yaml"), key=lambda p: p.stat().st_size
        )
    ]
    assert rules == [10 + 1, 100 + 1, 1_000 + 1]  # and the default
    assert what_was_off(workshop) == []


def test_the_audits_that_are_compared_are_a_new_and_a_long_one(workshop: Workshop) -> None:
    write_long(workshop, 2_000)
    figures = growth.by_audit(workshop, 2_000, rounds=1, starts=2)
    assert set(figures) == {"call p50 us by audit", "start ms by audit"}
    assert [list(each) for each in figures.values()] == [["0", "2,000"]] * 2
    sizes = {name: sum(p.stat().st_size for p in workshop.audits(name)) for name in workshop.jailed}
    assert sizes[LONG] > sizes["echo-new-audit"] + 2_000 * 200
    assert what_was_off(workshop) == []
