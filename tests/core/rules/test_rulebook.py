"""Which rules decide a name, and what their constraints are bound to."""

from __future__ import annotations

import itertools

import pytest

from imagined import HOME
from mcp_jail.core.policy import (
    Constraint,
    HostEntry,
    Network,
    Policy,
    Server,
    ToolRule,
    Tools,
    Verdict,
)
from mcp_jail.core.rules.rulebook import (
    REMEMBERED_LENGTH,
    REMEMBERED_NAMES,
    Rulebook,
    compile_rules,
)

ALLOW, ASK, DENY = Verdict.ALLOW, Verdict.ASK, Verdict.DENY


def book(rules: dict[str, Verdict | ToolRule], default: Verdict = ASK) -> Rulebook:
    policy = Policy(name="p", tools=Tools(default=default, rules=rules))
    return compile_rules(policy, {}, home=HOME, cwd=None)


def keys(rules: dict[str, Verdict | ToolRule], name: str) -> list[str]:
    return [rule.key for rule in book(rules).tools.for_name(name)]


def test_an_exact_name_beats_every_glob() -> None:
    rules: dict[str, Verdict | ToolRule] = {"*read_file": DENY, "read_file": ALLOW, "r*": ASK}
    assert keys(rules, "read_file") == ["read_file"]


def test_the_glob_with_most_letters_wins() -> None:
    rules: dict[str, Verdict | ToolRule] = {"*": DENY, "read_*": ASK, "read_f*": ALLOW}
    assert keys(rules, "read_file") == ["read_f*"]
    assert keys(rules, "read_dir") == ["read_*"]
    assert keys(rules, "x") == ["*"]


def test_globs_that_tie_all_decide_in_an_order_of_their_own() -> None:
    names = ["read_*", "*_file", "?ead_*"]
    for order in itertools.permutations(names):
        assert keys(dict.fromkeys(order, ALLOW), "read_file") == ["*_file", "read_*"]


def test_a_name_no_rule_fits_has_no_rule() -> None:
    assert keys({"read_*": ALLOW}, "Read_file") == []
    assert keys({"read_file": ALLOW}, "read_f\u0456le") == []


def test_what_is_remembered_about_names_stays_bounded() -> None:
    rules = book({"read_*": ALLOW}).tools
    for number in range(REMEMBERED_NAMES + 10):
        rules.for_name(f"read_{number}")
    assert len(rules._remembered) <= REMEMBERED_NAMES
    assert [rule.key for rule in rules.for_name("read_1")] == ["read_*"]
    long = "read_" + "x" * REMEMBERED_LENGTH
    assert [rule.key for rule in rules.for_name(long)] == ["read_*"]
    assert long not in rules._remembered


def test_a_tool_is_denied_always_when_no_arguments_could_help() -> None:
    constrained = ToolRule(decision=ALLOW, args={"x": Constraint(equals=1)})
    of = book({"a": DENY, "b": constrained, "c": ToolRule(decision=DENY), "d*": ASK, "*d": DENY})
    assert [name for name in ("a", "b", "c", "d", "dd", "other") if of.denies_always(name)] == [
        "a",
        "c",
        "d",
        "dd",
    ]
    assert book({}, DENY).denies_always("x")
    assert not book({}, ASK).denies_always("x")


def test_otherwise_is_never_looser_than_the_decision() -> None:
    (rule,) = book({"a": ToolRule(decision=DENY, otherwise=ALLOW)}).tools.for_name("a")
    assert rule.otherwise is DENY


def test_directories_hosts_and_items_are_bound() -> None:
    constraint = Constraint(under=("~/p", "/srv"), each=Constraint(host="allowlist"))
    policy = Policy(
        name="p",
        server=Server(cwd="~/p"),
        network=Network(allow=("a.b", HostEntry(host="*.c.d:80"))),
        tools=Tools(rules={"t": ToolRule(decision=ALLOW, args={"x": constraint})}),
    )
    (rule,) = compile_rules(policy, {}, home=HOME, cwd=f"{HOME}/p").tools.for_name("t")
    (check,) = rule.checks
    assert check.roots == (f"{HOME}/p", "/srv")
    assert check.cwd == f"{HOME}/p"
    assert check.each is not None
    assert check.each.hosts is not None
    assert check.each.hosts.exact == {("a.b", 443)}
    assert check.each.hosts.below == {("c.d", 80)}


@pytest.mark.parametrize("host", ["a.b", ("a.b",)])
def test_hosts_that_a_constraint_names_itself_are_bound(host: str | tuple[str, ...]) -> None:
    constraint = Constraint(host=host)
    policy = Policy(
        name="p",
        network=Network(allow=("other.c",)),
        tools=Tools(rules={"t": ToolRule(decision=ALLOW, args={"x": constraint})}),
    )
    (rule,) = compile_rules(policy, {}, home=HOME, cwd=None).tools.for_name("t")
    hosts = rule.checks[0].hosts
    assert hosts is not None
    assert hosts.exact == {("a.b", 443)}


def test_relative_arguments_start_nowhere_unless_the_policy_names_a_directory() -> None:
    rule = ToolRule(decision=ALLOW, args={"x": Constraint(under=("~/p",))})
    policy = Policy(name="p", server=Server(), tools=Tools(rules={"t": rule}))
    (compiled,) = compile_rules(policy, {}, home=HOME, cwd=f"{HOME}/p").tools.for_name("t")
    assert compiled.checks[0].cwd is None


def test_a_directory_that_is_not_absolute_is_not_bound() -> None:
    with pytest.raises(ValueError, match="not absolute"):
        book({"t": ToolRule(decision=ALLOW, args={"x": Constraint(under=("p",))})})
