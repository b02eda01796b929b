"""Rules in words: values that a model chose do nothing on a terminal."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_jail.cli.rule_words import VALUE_LIMIT, constraint_words, rule_words
from mcp_jail.core.policy import Additional, Constraint, ToolRule, Verdict

ALLOW, ASK = Verdict.ALLOW, Verdict.ASK


@pytest.mark.parametrize(
    "value", ["\x1b[2Jfake", "a\rb", "a\nb", "\u202eb", ["\x9b", {"\x07": "\u200b"}]], ids=ascii
)
def test_nothing_of_a_value_acts_on_the_terminal(value: Any) -> None:
    for constraint in (Constraint(equals=value), Constraint(one_of=(1, value))):
        words = constraint_words(constraint)
        assert words.isprintable()
        assert "\\" in words


def test_a_long_value_is_cut_and_says_so() -> None:
    words = constraint_words(Constraint(equals="x" * 10_000))
    assert words == f"equals {'x' * VALUE_LIMIT}… (10,000 characters)"


def test_a_rule_that_is_closed_says_what_holds_else() -> None:
    assert rule_words(ALLOW) == "allow"
    assert rule_words(ToolRule(decision=ALLOW, otherwise=ASK)) == "allow"
    closed = ToolRule(decision=ALLOW, otherwise=ASK, additional=Additional.DENY)
    assert rule_words(closed) == "allow, else ask"
    bound = ToolRule(decision=ALLOW, otherwise=ASK, args={"x": Constraint(equals=1)})
    assert rule_words(bound) == "allow, else ask"


def test_a_constraint_says_what_is_not_usual() -> None:
    assert constraint_words(Constraint()) == "anything"
    assert constraint_words(Constraint(required=False)) == "required false"
    assert (
        constraint_words(Constraint(under=("~/p",), max_length=9)) == 'under ["~/p"], max_length 9'
    )
    assert constraint_words(Constraint(host="allowlist")) == "host allowlist"
    assert constraint_words(Constraint(equals=None)) == "equals null"
    assert constraint_words(Constraint(equals=True)) == "equals true"
    each = Constraint(each=Constraint(matches="[a-z]+"))
    assert constraint_words(each) == 'each {"matches": "[a-z]+", "required": true}'
