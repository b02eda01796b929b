"""Verdicts on calls, resources and prompts, attacks first."""

from __future__ import annotations

from typing import Any

import pytest

from imagined import HOME, Imagined
from mcp_jail.core.policy import (
    Additional,
    Constraint,
    Policy,
    Prompts,
    Resources,
    ToolRule,
    Tools,
    Verdict,
)
from mcp_jail.core.rules.decide import (
    Decision,
    Rulebook,
    ToolCall,
    compile_rules,
    decide,
    decide_prompt,
    decide_resource,
)
from mcp_jail.errors import Place

ALLOW, ASK, DENY = Verdict.ALLOW, Verdict.ASK, Verdict.DENY
OUTLOOK = Imagined({f"{HOME}/projects/scratch/a": "file"})
PLACES = {
    ("tools", "default"): Place("p.yaml", 2, 3),
    ("tools", "rules", "write_file"): Place("p.yaml", 4, 5),
    ("tools", "rules", "write_file", "args", "path"): Place("p.yaml", 6, 7),
}


def book(
    rules: dict[str, Verdict | ToolRule] | None = None,
    *,
    default: Verdict = ASK,
    additional: Additional = Additional.ALLOW,
) -> Rulebook:
    write = ToolRule(decision=ALLOW, args={"path": Constraint(under=("~/projects/scratch",))})
    tools = Tools(
        default=default,
        additional=additional,
        rules={"read_*": ALLOW, "delete_*": DENY, "write_file": write} if rules is None else rules,
    )
    return compile_rules(Policy(name="p", tools=tools), PLACES, home=HOME, cwd=None)


def judge(
    tool: str, of: Rulebook | None = None, declared: set[str] | None = None, **arguments: Any
) -> Decision:
    names = None if declared is None else frozenset(declared)
    return decide(ToolCall(tool, arguments, names), of or book(), OUTLOOK)


@pytest.mark.parametrize(
    "tool",
    [
        "",
        " read_file",
        "read_file ",
        "read_file\n",
        "read_\x00file",
        "read_\u200bfile",
        "read_\u202efile",
        "read_\ud800",
        "read_" + "x" * 600,
    ],
)
def test_a_name_a_server_might_trim_or_cut_is_denied(tool: str) -> None:
    assert judge(tool, book(default=ALLOW)).verdict is DENY


def test_a_name_may_be_as_long_as_the_limit_and_no_longer() -> None:
    rules: dict[str, Verdict | ToolRule] = {"x*": ALLOW}
    assert judge("x" * 512, of=book(rules)).verdict is ALLOW
    assert judge("x" * 513, of=book(rules)).verdict is DENY


def test_a_name_that_only_looks_the_same_is_another_name() -> None:
    assert judge("Write_file").verdict is ASK
    assert judge("writ\u0435_file").verdict is ASK


def test_a_broken_constraint_denies_and_says_what_to_keep_but_not_how_to_widen() -> None:
    decision = judge("write_file", path="/etc/passwd")
    assert decision == Decision(
        DENY,
        "tools.rules.write_file",
        Place("p.yaml", 6, 7),
        "'path' must lie under ~/projects/scratch",
        "the limit stands in tools.rules.write_file.args.path",
    )


def test_a_call_that_keeps_to_its_rule_is_allowed() -> None:
    decision = judge("write_file", path=f"{HOME}/projects/scratch/a")
    assert (decision.verdict, decision.rule) == (ALLOW, "tools.rules.write_file")
    assert decision.where == Place("p.yaml", 4, 5)


def test_otherwise_may_be_ask() -> None:
    rule = ToolRule(decision=ALLOW, args={"x": Constraint(equals=1)}, otherwise=ASK)
    assert judge("t", book({"t": rule}), x=1).verdict is ALLOW
    assert judge("t", book({"t": rule}), x=2).verdict is ASK


def test_the_default_holds_where_no_rule_fits_and_tells_the_person_the_rule_to_write() -> None:
    decision = judge('odd"name')
    assert (decision.verdict, decision.rule) == (ASK, "tools.default")
    assert decision.where == Place("p.yaml", 2, 3)
    assert decision.hint.endswith('add under tools.rules: "odd\\"name": allow')
    assert "allow" not in decision.reason


def test_a_denied_tool_cannot_be_told_from_one_that_does_not_exist() -> None:
    of = book({"delete_*": DENY}, default=DENY)
    assert judge("delete_all", of).reason == judge("no_such_tool", of).reason


def test_the_strictest_of_rules_that_tie_holds() -> None:
    loose = ToolRule(decision=ALLOW, args={"x": Constraint(equals=1)}, otherwise=ASK)
    of = book({"read_*": loose, "*_file": ALLOW})
    assert judge("read_file", of, x=1).verdict is ALLOW
    assert judge("read_file", of, x=2).verdict is ASK
    assert judge("read_file", book({"read_*": ALLOW, "*_file": DENY})).rule == "tools.rules.*_file"


def test_arguments_beyond_the_schema_are_denied_where_the_policy_says_so() -> None:
    of = book({"t": ALLOW}, additional=Additional.DENY)
    assert judge("t", of, {"a", "b"}, a=1).verdict is ALLOW
    decision = judge("t", of, {"a"}, a=1, note="the whole conversation")
    assert (decision.verdict, decision.rule) == (DENY, "tools.additional")
    assert decision.reason == "the tool declares no argument 'note'"
    assert judge("t", of, {"a"}, A=1).verdict is DENY


def test_arguments_are_denied_where_the_schema_was_never_seen() -> None:
    of = book({"t": ALLOW, "u": ASK, "d": DENY}, additional=Additional.DENY)
    assert judge("t", of, None).verdict is DENY
    assert judge("u", of, None).verdict is DENY
    assert judge("d", of, None).rule == "tools.rules.d"


def test_all_constraints_must_hold_and_the_first_by_name_is_named() -> None:
    rule = ToolRule(decision=ALLOW, args={"b": Constraint(equals=1), "a": Constraint(equals=1)})
    of = book({"t": rule})
    assert judge("t", of, a=1, b=1).verdict is ALLOW
    assert judge("t", of, a=1, b=2).reason == "'b' must be 1"
    assert judge("t", of, a=2, b=2).reason == "'a' must be 1"


def closed(*args: str, otherwise: Verdict = ASK) -> Rulebook:
    """A policy whose rule for `t` allows these arguments, each 1, and no other."""
    rule = ToolRule(
        decision=ALLOW,
        args={name: Constraint(equals=1) for name in args},
        additional=Additional.DENY,
        otherwise=otherwise,
    )
    return book({"t": rule})


@pytest.mark.parametrize(
    "arguments",
    [
        {"a": 1, "overwrite": True},
        {"a": 1, "": None},
        {"a": 1, "a ": 1},
        {"a": 1, "a.b": 1},
        {"a": 1, "A": 1},
    ],
    ids=repr,
)
def test_a_closed_rule_does_not_hold_with_an_argument_it_does_not_name(
    arguments: dict[str, Any],
) -> None:
    assert judge("t", closed("a"), **arguments).verdict is ASK
    assert judge("t", closed("a", otherwise=DENY), **arguments).verdict is DENY


def test_a_closed_rule_holds_for_what_it_names_and_says_what_it_does_not() -> None:
    assert judge("t", closed("a"), a=1).verdict is ALLOW
    assert judge("t", closed()).verdict is ALLOW
    decision = judge("t", closed("a"), a=1, overwrite=True)
    assert decision.rule == "tools.rules.t"
    assert decision.reason == "the rule names no argument 'overwrite'"
    assert decision.hint == "the limit stands in tools.rules.t.additional"
    assert judge("t", closed("a"), a=2, overwrite=True).reason == "'a' must be 1"


def test_a_rule_that_is_not_closed_holds_whatever_else_is_there() -> None:
    of = book({"t": ToolRule(decision=ALLOW, args={"a": Constraint(equals=1)}), "u": ASK})
    assert judge("t", of, a=1, overwrite=True).verdict is ALLOW
    assert judge("t", book({"t": ToolRule(decision=ALLOW)}), x=1).verdict is ALLOW


def test_a_closed_rule_with_a_dotted_name_names_each_part_that_may_hold_it() -> None:
    assert judge("t", closed("a.b.c"), a={"b": {"c": 1, "d": 2}}).verdict is ALLOW
    assert judge("t", closed("a.b.c"), None, **{"a.b": {"c": 1}}).verdict is ALLOW
    assert judge("t", closed("a.b.c"), None, **{"a.b.c": 1, "c": 1}).verdict is ASK
    assert judge("t", closed(".a"), None, **{".a": 1}).verdict is ALLOW
    assert judge("t", closed(".a"), None, **{".a": 1, "": 1}).verdict is ASK


def test_a_thousand_rules_are_asked_only_once_for_a_name() -> None:
    rules: dict[str, Verdict | ToolRule] = {f"tool_{number}_*": ALLOW for number in range(1000)}
    of = book(rules)
    assert judge("tool_500_x", of).verdict is ALLOW
    assert of.tools._remembered["tool_500_x"]
    assert judge("tool_500_x", of).rule == "tools.rules.tool_500_*"


RESOURCES = compile_rules(
    Policy(
        name="p",
        resources=Resources(
            default=ALLOW, rules={"file://**": DENY, "file:///srv/*": ALLOW, "ask://*": ASK}
        ),
        prompts=Prompts(default=ALLOW, rules={"secret*": DENY}),
    ),
    {},
    home=HOME,
    cwd=None,
)


@pytest.mark.parametrize(
    "uri",
    [
        "file:///home/me/.ssh/id_rsa",
        "FILE:///home/me/.ssh/id_rsa",
        "file:/home/me/.ssh/id_rsa",
        "file://localhost/home/me",
        "%66ile:///home/me",
        "file:///srv/../home/me/.ssh/id_rsa",
        "file:///srv/%2e%2e/home/me/.ssh/id_rsa",
        "file:///srv/%252e%252e/home/me",
        " file:///srv/x",
        "fi\nle:///srv/x",
        "file:\\\\srv",
        "",
    ],
)
def test_a_resource_is_denied_when_one_of_its_readings_is(uri: str) -> None:
    assert decide_resource(uri, RESOURCES).verdict is DENY


def test_a_resource_is_judged_by_its_uri() -> None:
    assert decide_resource("file:///srv/x", RESOURCES).verdict is ALLOW
    assert decide_resource("note://x", RESOURCES).rule == "resources.default"
    assert decide_resource("ASK://x", RESOURCES).verdict is ASK
    assert decide_resource("ask://x", RESOURCES).rule == "resources.rules.ask://*"


def test_a_prompt_is_judged_by_its_name() -> None:
    assert decide_prompt("hello", RESOURCES).verdict is ALLOW
    assert decide_prompt("secret_plan", RESOURCES).verdict is DENY
    assert decide_prompt("hello ", RESOURCES).verdict is DENY
