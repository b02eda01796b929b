"""What an argument must be: what breaks it, what cannot be judged, how names are read."""

from __future__ import annotations

from typing import Any

import pytest

from imagined import HOME, Imagined
from mcp_jail.core.policy import Constraint, Network, Policy, ToolRule, Tools, Verdict
from mcp_jail.core.rules.constraints import ITEMS_LIMIT, KEYS_LIMIT, Check, quoted, same_json, unmet
from mcp_jail.core.rules.decide import compile_rules

ROOT = f"{HOME}/projects"
OUTLOOK = Imagined(
    {f"{ROOT}/a": "file", f"{ROOT}/key": "-> /etc/shadow"}, slow=frozenset({"(a+)+$"})
)


def bound(name: str, constraint: Constraint) -> Check:
    rules: dict[str, Verdict | ToolRule] = {
        "t": ToolRule(decision=Verdict.ALLOW, args={name: constraint})
    }
    policy = Policy(
        name="p", tools=Tools(rules=rules), network=Network(allow=("db.internal:5432",))
    )
    (rule,) = compile_rules(policy, {}, home=HOME, cwd=None).tools.for_name("t")
    return rule.checks[0]


def holds(constraint: Constraint, value: Any) -> bool:
    return unmet(bound("x", constraint), {"x": value}, OUTLOOK) is None


@pytest.mark.parametrize(
    ("constraint", "value"),
    [
        (Constraint(under=("~/projects",)), [f"{ROOT}/a"]),
        (Constraint(under=("~/projects",)), {"path": f"{ROOT}/a"}),
        (Constraint(under=("~/projects",)), None),
        (Constraint(under=("~/projects",)), 5),
        (Constraint(under=("~/projects",)), True),
        (Constraint(under=("~/projects",)), f"{ROOT}/key"),
        (Constraint(under=()), f"{ROOT}/a"),
        (Constraint(host=("a.b",)), ["https://a.b"]),
        (Constraint(host=("a.b",)), {"host": "a.b"}),
        (Constraint(host=("a.b",)), None),
        (Constraint(host="allowlist"), "https://db.internal"),
        (Constraint(equals=1), 1.0),
        (Constraint(equals=1), True),
        (Constraint(equals=1), "1"),
        (Constraint(equals=None), "null"),
        (Constraint(equals=[1, {"a": 2}]), [1, {"a": 2.0}]),
        (Constraint(equals={"a": 1}), {"a": 1, "b": 2}),
        (Constraint(equals=[]), {}),
        (Constraint(one_of=("usd", "eur")), "USD"),
        (Constraint(one_of=(0,)), False),
        (Constraint(one_of=()), "x"),
        (Constraint(matches="SELECT [a-z]+"), "SELECT a; DROP TABLE x"),
        (Constraint(matches="SELECT [a-z]+"), "SELECT a\n"),
        (Constraint(matches="^SELECT .*$"), "SELECT 1\nDROP"),
        (Constraint(matches="[0-9]+"), 5),
        (Constraint(matches="(a+)+$"), "a" * 50),
        (Constraint(max=500), "500"),
        (Constraint(max=500), 500.0000001),
        (Constraint(max=500), 1e9),
        (Constraint(max=500), 2**63),
        (Constraint(max=500), True),
        (Constraint(max=500), float("nan")),
        (Constraint(max=500), float("inf")),
        (Constraint(max=500), None),
        (Constraint(min=0), float("nan")),
        (Constraint(min=0), -1),
        (Constraint(min=0), False),
        (Constraint(min=0, max=10), [5]),
        (Constraint(max_length=3), "abcd"),
        (Constraint(max_length=3), [1, 2, 3, 4]),
        (Constraint(max_length=3), 4),
        (Constraint(max_length=3), {"a": 1}),
        (Constraint(each=Constraint(under=("~/projects",))), f"{ROOT}/a"),
        (Constraint(each=Constraint(under=("~/projects",))), [f"{ROOT}/a", "/etc/passwd"]),
        (Constraint(each=Constraint(under=("~/projects",))), [f"{ROOT}/a", None]),
        (Constraint(each=Constraint(each=Constraint(equals=1))), [[1], [1, 2]]),
        (Constraint(each=Constraint(equals=1), max_length=1), [1, 1]),
        (Constraint(min=1, max=10, one_of=(1, 2)), 3),
    ],
)
def test_a_value_that_breaks_a_constraint_or_cannot_be_judged_does_not_hold(
    constraint: Constraint, value: Any
) -> None:
    assert not holds(constraint, value)


@pytest.mark.parametrize(
    ("constraint", "value"),
    [
        (Constraint(under=("~/projects",)), f"{ROOT}/a"),
        (Constraint(under=("/srv", "~/projects")), f"{ROOT}/new"),
        (Constraint(host=("a.b",)), "https://a.b/x"),
        (Constraint(host="allowlist"), "db.internal:5432"),
        (Constraint(equals=1), 1),
        (Constraint(equals=None), None),
        (Constraint(equals={"b": [1], "a": 2}), {"a": 2, "b": [1]}),
        (Constraint(one_of=("usd", "eur")), "eur"),
        (Constraint(matches="SELECT [a-z]+"), "SELECT a"),
        (Constraint(matches=""), ""),
        (Constraint(min=0, max=500), 500),
        (Constraint(min=0, max=500), 0.5),
        (Constraint(max_length=3), "\u00e4\u00f6\u00fc"),
        (Constraint(max_length=0), []),
        (Constraint(each=Constraint(under=("~/projects",))), [f"{ROOT}/a", f"{ROOT}/b"]),
        (Constraint(each=Constraint(equals=1)), []),
        (Constraint(), None),
    ],
)
def test_a_value_that_keeps_to_a_constraint_holds(constraint: Constraint, value: Any) -> None:
    assert holds(constraint, value)


def test_a_missing_argument_does_not_hold_unless_it_may_be_left_out() -> None:
    assert unmet(bound("x", Constraint(equals=1)), {}, OUTLOOK) == "'x' is missing"
    optional = bound("x", Constraint(equals=1, required=False))
    assert unmet(optional, {}, OUTLOOK) is None
    assert unmet(optional, {"x": None}, OUTLOOK) is not None


def test_a_key_that_differs_only_in_case_is_never_passed_by() -> None:
    optional = bound("path", Constraint(under=("~/projects",), required=False))
    for twin in ("Path", "PATH", "pa\u0074H"):
        assert "only in case" in str(unmet(optional, {twin: "/etc/shadow"}, OUTLOOK))
    both = {"path": f"{ROOT}/a", "Path": "/etc/shadow"}
    assert unmet(optional, both, OUTLOOK) is not None
    kelvin = bound("key", Constraint(equals=1, required=False))
    assert unmet(kelvin, {"\u212aey": 2}, OUTLOOK) is not None


def test_a_dotted_name_means_the_literal_key_and_the_nested_one() -> None:
    check = bound("a.b", Constraint(equals=1))
    assert unmet(check, {"a.b": 1}, OUTLOOK) is None
    assert unmet(check, {"a": {"b": 1}}, OUTLOOK) is None
    assert unmet(check, {"a.b": 1, "a": {"b": 2}}, OUTLOOK) is not None
    assert unmet(check, {"a.b": 2, "a": {"b": 1}}, OUTLOOK) is not None
    assert unmet(check, {"a": {}}, OUTLOOK) is not None
    assert unmet(check, {"a": [{"b": 1}]}, OUTLOOK) is not None
    assert unmet(check, {"a": {"B": 1, "b": 1}}, OUTLOOK) is not None
    assert unmet(check, {"A": {"b": 1}, "a": {"b": 1}}, OUTLOOK) is not None


def test_every_reading_of_a_name_with_several_dots_is_held() -> None:
    check = bound("a.b.c", Constraint(equals=1))
    for arguments in ({"a.b": {"c": 1}}, {"a": {"b.c": 1}}, {"a": {"b": {"c": 1}}}, {"a.b.c": 1}):
        assert unmet(check, arguments, OUTLOOK) is None
    for arguments in ({"a.b": {"c": 2}}, {"a": {"b.c": 2}}, {"a": {"b": {"c": 2}}}, {"a.b.c": 2}):
        assert unmet(check, {"a.b.c": 1} | arguments, OUTLOOK) is not None


def test_an_optional_nested_argument_inside_something_else_does_not_hold() -> None:
    check = bound("a.b", Constraint(equals=1, required=False))
    assert unmet(check, {}, OUTLOOK) is None
    assert unmet(check, {"a": {}}, OUTLOOK) is None
    assert unmet(check, {"a": "x"}, OUTLOOK) is not None
    assert unmet(check, {"a": None}, OUTLOOK) is not None


@pytest.mark.parametrize(
    ("constraint", "value", "words"),
    [
        (Constraint(under=("~/a", "~/b")), "/etc", "'x' must lie under ~/a or ~/b"),
        (Constraint(under=("~/a",)), "~/a", "'x' must lie under ~/a; the path begins with '~'"),
        (Constraint(under=("~/a",)), 5, "'x' must lie under ~/a; the path is not text"),
        (Constraint(max=5), 6, "'x' must be a number, at most 5"),
        (Constraint(one_of=("a", 1)), 2, "'x' must be one of 'a', 1"),
        (Constraint(matches="a+"), "b", "'x' must be text that matches a+ from end to end"),
        (Constraint(matches="(a+)+$"), "b", "'x' takes too long to check"),
        (Constraint(host=("a.b",)), "c.d", "'x' must be a URL or host that the policy names"),
        (Constraint(each=Constraint(equals=1)), [2], "'x' must be 1"),
    ],
)
def test_a_reason_says_what_is_wanted(constraint: Constraint, value: Any, words: str) -> None:
    assert str(unmet(bound("x", constraint), {"x": value}, OUTLOOK)).startswith(words)


def test_floods_of_items_and_keys_cannot_be_evaluated() -> None:
    many = bound("x", Constraint(each=Constraint(equals=1)))
    assert unmet(many, {"x": [1] * ITEMS_LIMIT}, OUTLOOK) is None
    assert unmet(many, {"x": [1] * (ITEMS_LIMIT + 1)}, OUTLOOK) is not None
    keys = {str(number): 1 for number in range(KEYS_LIMIT)}
    assert unmet(bound("0", Constraint()), keys, OUTLOOK) is None
    assert "more than" in str(unmet(bound("0", Constraint()), keys | {"x": 1}, OUTLOOK))


def test_json_values_are_compared_by_kind() -> None:
    assert same_json({"a": [1, None]}, {"a": [1, None]})
    assert not same_json([1], [True])
    assert not same_json({"a": 1}, {"a": 1.0})
    assert not same_json([1], (1,))


def test_a_quoted_value_is_short_and_plain() -> None:
    assert quoted("a\x1b[2J\u202e") == "'a\\x1b[2J\\u202e'"
    assert len(quoted("x" * 500)) < 70
    assert quoted({"a": "\u00e9"}) == '{"a":"\\xe9"}'
