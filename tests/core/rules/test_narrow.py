"""The narrowest rule behind "always": never wider than the call that was asked about."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from imagined import HOME
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
    Rulebook,
    ToolCall,
    compile_rules,
    decide,
    decide_prompt,
    decide_resource,
)
from mcp_jail.core.rules.narrow import (
    ARGUMENTS_LIMIT,
    DEPTH_LIMIT,
    VALUES_LIMIT,
    NoRule,
    RuleEdit,
    Section,
    narrowest,
    narrowest_denial,
    section_of,
    values_of,
)
from mcp_jail.core.rules.outlook import Blind
from mcp_jail.core.rules.rulebook import KeyPath
from mcp_jail.errors import Place

ALLOW, ASK, DENY = Verdict.ALLOW, Verdict.ASK, Verdict.DENY
PLACES: dict[KeyPath, Place] = {
    ("tools", "rules", name): Place("p.yaml", 7, 5) for name in ("t", "t*", "write_*", "*_file")
}
CALL = {"path": f"{HOME}/x", "n": 1}


def book(
    rules: dict[str, Verdict | ToolRule] | None = None,
    default: Verdict = ASK,
    *,
    resources: Resources = Resources(),  # noqa: B008  # a frozen value
    prompts: Prompts = Prompts(default=ASK),  # noqa: B008
) -> Rulebook:
    tools = Tools(default=default, rules=rules or {})
    policy = Policy(name="p", tools=tools, resources=resources, prompts=prompts)
    return compile_rules(policy, PLACES, home=HOME, cwd=None)


def exactly(**values: Any) -> ToolRule:
    """The rule we write: a tuple is a list of values, anything else the one value."""
    return ToolRule(
        decision=ALLOW,
        args={
            name: Constraint(one_of=value) if isinstance(value, tuple) else Constraint(equals=value)
            for name, value in values.items()
        },
        additional=Additional.DENY,
        otherwise=ASK,
    )


def tool(of: Rulebook, arguments: dict[str, Any], name: str = "t") -> RuleEdit | NoRule:
    return narrowest(of, Section.TOOLS, name, arguments)


def edit(found: RuleEdit | NoRule) -> RuleEdit:
    assert isinstance(found, RuleEdit), found
    return found


def refusal(found: RuleEdit | NoRule) -> NoRule:
    assert isinstance(found, NoRule), found
    return found


def after(of: Rulebook, made: RuleEdit) -> Rulebook:
    """The rulebook with an edit carried out."""
    policy = of.policy
    section = getattr(policy, made.section.value)
    changed = msgspec.structs.replace(section, rules=section.rules | made.rules)
    policy = msgspec.structs.replace(policy, **{made.section.value: changed})
    return compile_rules(policy, {}, home=HOME, cwd=None)


def verdict(of: Rulebook, arguments: dict[str, Any], name: str = "t") -> Verdict:
    return decide(ToolCall(name, arguments, None), of, Blind()).verdict


@pytest.mark.parametrize(
    "arguments",
    [
        CALL | {"overwrite": True},
        CALL | {"": None},
        CALL | {"Path": f"{HOME}/x"},
        CALL | {"n": 1.0},
        CALL | {"n": True},
        CALL | {"n": "1"},
        CALL | {"path": f"{HOME}/../me/x"},
        CALL | {"path": f"{HOME}/X"},
        CALL | {"path": [f"{HOME}/x"]},
        {"n": 1},
        {"path": f"{HOME}/x"},
        {},
    ],
    ids=repr,
)
def test_no_other_call_than_the_one_that_was_asked_about_is_let_through(
    arguments: dict[str, Any],
) -> None:
    of = book()
    changed = after(of, edit(tool(of, CALL)))
    assert verdict(changed, CALL) is ALLOW
    assert verdict(changed, arguments) is ASK
    assert verdict(changed, CALL, "T") is ASK


def test_a_tool_gets_a_rule_of_exactly_this_call() -> None:
    found = edit(tool(book(), CALL))
    assert found.rules == {"t": exactly(**CALL)}
    assert (found.section, found.name, found.arguments) == (Section.TOOLS, "t", CALL)
    assert (found.verdict, found.widened) == (ALLOW, None)


def test_a_call_without_arguments_is_allowed_without_arguments_only() -> None:
    of = book()
    changed = after(of, edit(tool(of, {})))
    assert verdict(changed, {}) is ALLOW
    assert verdict(changed, {"x": 1}) is ASK


def test_objects_and_lists_are_held_whole() -> None:
    call = {"options": {"a": [1, {"b": None}]}}
    of = book()
    changed = after(of, edit(tool(of, call)))
    assert verdict(changed, call) is ALLOW
    assert verdict(changed, {"options": {"a": [1, {"b": None}], "c": 1}}) is ASK
    assert verdict(changed, {"options": {"a": [1, {"b": None}, 1]}}) is ASK


@pytest.mark.parametrize(
    "of", [book({"t": ASK}, DENY), book({"t*": ASK}, DENY), book({"t*": ASK, "*t": ALLOW})]
)
def test_a_plain_ask_is_narrowed_and_goes_on_asking(of: Rulebook) -> None:
    found = edit(tool(of, CALL))
    assert found.rules == {"t": exactly(**CALL)}
    assert verdict(after(of, found), {}) is ASK


def test_what_is_not_asked_about_gets_no_rule() -> None:
    for of in (book({"t": ALLOW}), book({"t*": ALLOW}), book(default=ALLOW)):
        reason = "the policy allows this already, nobody is asked"
        assert refusal(tool(of, CALL)).reason == reason
    for of in (book({"t": DENY}), book({"t*": DENY}), book(default=DENY)):
        assert refusal(tool(of, CALL)).reason == "the policy denies this already, nobody is asked"
    tied = book({"t*": ASK, "*t": DENY})
    assert refusal(tool(tied, CALL)).reason.startswith("the policy denies")


UNDER = ToolRule(decision=ALLOW, args={"path": Constraint(under=("~/p",))}, otherwise=ASK)


def test_a_rule_with_constraints_is_not_replaced_but_named() -> None:
    found = refusal(tool(book({"t": UNDER}), CALL))
    assert found.reason == "the tool has a rule of its own that says more than exact calls"
    assert found.hint == "change the rule of p.yaml:7:5 by hand"


def test_a_glob_with_constraints_is_not_overruled_but_named() -> None:
    for of in (book({"write_*": UNDER}), book({"*_file": ASK, "write*": UNDER})):
        found = refusal(tool(of, CALL, "write_file"))
        assert "says more than a word, and an exact rule would go before" in found.reason
    found = refusal(tool(book({"write_*": UNDER}), CALL, "write_file"))
    assert found.hint == "change the rule of p.yaml:7:5 by hand"
    edit(tool(book({"write_*": UNDER}), CALL, "read_file"))


def test_one_argument_that_differs_becomes_one_value_more() -> None:
    of = book({"t": exactly(a=1, b="x")})
    found = edit(tool(of, {"a": 2, "b": "x"}))
    assert found.widened == "a"
    assert found.rules == {"t": exactly(a=(1, 2), b="x")}
    again = after(of, found)
    found = edit(tool(again, {"b": "x", "a": 1.0}))
    assert found.rules == {"t": exactly(a=(1, 2, 1.0), b="x")}
    assert verdict(after(again, found), {"a": 1.0, "b": "x"}) is ALLOW
    assert verdict(again, {"a": 1.0, "b": "x"}) is ASK


def test_a_second_list_would_allow_pairs_nobody_was_asked_about() -> None:
    of = book({"t": exactly(a=(1, 2), b="x")})
    found = refusal(tool(of, {"a": 1, "b": "y"}))
    assert found.reason == "one value more would allow calls that were not asked about"
    assert found.hint == "change the rule of p.yaml:7:5 by hand"
    edit(tool(book({"t": exactly(a=(1,), b="x")}), {"a": 1, "b": "y"}))


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"a": 2, "b": "y"}, "the call differs from the tool's rule in more than one argument"),
        ({"a": 1}, "the tool's rule is for other arguments"),
        ({"a": 1, "b": "x", "c": 1}, "the tool's rule is for other arguments"),
        ({"a": 1, "c": "x"}, "the tool's rule is for other arguments"),
        ({"a": 1, "b": "x"}, "the policy allows this already, nobody is asked"),
    ],
)
def test_a_rule_of_our_own_is_not_widened_in_other_ways(
    arguments: dict[str, Any], reason: str
) -> None:
    assert refusal(tool(book({"t": exactly(a=1, b="x")}), arguments)).reason == reason


@pytest.mark.parametrize(
    "rule",
    [
        msgspec.structs.replace(exactly(a=1), additional=Additional.ALLOW),
        msgspec.structs.replace(exactly(a=1), otherwise=DENY),
        msgspec.structs.replace(exactly(a=1), decision=ASK),
        msgspec.structs.replace(exactly(a=1), limit="30/min"),
        msgspec.structs.replace(exactly(), args={"a": Constraint(equals=1, required=False)}),
        msgspec.structs.replace(exactly(), args={"a": Constraint(equals=1, one_of=(1, 2))}),
        msgspec.structs.replace(exactly(), args={"a": Constraint(one_of=())}),
        msgspec.structs.replace(exactly(), args={"a": Constraint()}),
        msgspec.structs.replace(exactly(), args={"a": Constraint(max=1)}),
    ],
)
def test_a_rule_that_is_not_of_our_own_shape_is_left_alone(rule: ToolRule) -> None:
    found = refusal(tool(book({"t": rule}), {"a": 2}))
    assert found.reason == "the tool has a rule of its own that says more than exact calls"


@pytest.mark.parametrize("name", ["t*", "t?", "*", "", "t\u200b", "t\u3164", "t\n"])
def test_a_name_that_is_no_exact_key_gets_no_rule(name: str) -> None:
    refusal(tool(book(), CALL, name))
    refusal(narrowest(book(), Section.PROMPTS, name, {}))
    refusal(narrowest_denial(book(), Section.PROMPTS, name))


def test_a_name_that_is_denied_however_it_is_written_gets_no_rule() -> None:
    found = refusal(tool(book(), CALL, "t "))
    assert found.reason.startswith("a rule for exactly this call does not hold: a name that")


@pytest.mark.parametrize(
    "arguments",
    [
        {"a.b": 1},  # would also allow {"a": {"b": 1, "overwrite": true}}
        {".": 1},
        {"a\u202e": 1},
        {"a\u3164": 1},
        {"a\n": 1},
        {"a": 1, "A": 1},
    ],
    ids=ascii,
)
def test_argument_names_a_rule_cannot_hold_get_no_rule(arguments: dict[str, Any]) -> None:
    assert refusal(tool(book(), arguments)).reason


def test_a_rule_is_no_longer_than_a_person_reads() -> None:
    empty = len(msgspec.json.encode([["a"], [[""]]]))
    fits = {"a": "x" * (VALUES_LIMIT - empty)}
    edit(tool(book(), fits))
    found = refusal(tool(book(), {"a": fits["a"] + "x"}))
    assert found.reason.startswith("the rule would have 16385 bytes of values")
    refusal(tool(book({"t": exactly(**fits)}), {"a": "y"}))
    refusal(tool(book(), {"x" * VALUES_LIMIT: 1}))


def test_a_rule_has_no_more_arguments_than_the_limit() -> None:
    many = {f"a{number}": number for number in range(ARGUMENTS_LIMIT)}
    edit(tool(book(), many))
    assert refusal(tool(book(), many | {"b": 1})).reason == "the call has more than 100 arguments"


def test_a_value_nests_as_deep_as_the_limit_and_no_deeper() -> None:
    value: Any = 1
    for turn in range(DEPTH_LIMIT):
        value = {"x": value} if turn % 2 else [value]
    edit(tool(book(), {"a": value}))
    found = refusal(tool(book(), {"a": [value]}))
    assert found.reason == f"'a' nests deeper than {DEPTH_LIMIT}"
    for _ in range(5000):
        value = [value]
    assert refusal(tool(book(), {"a": value})) == found


def test_one_call_of_a_tool_cannot_be_denied_alone_and_the_wider_rule_is_told() -> None:
    found = refusal(narrowest_denial(book({"t": ASK}), Section.TOOLS, "t"))
    assert found.reason == "a rule cannot deny one call and go on asking about the tool's others"
    assert found.hint == (
        'to deny the tool altogether, write under tools.rules of p.yaml:7:5: "t": deny'
    )
    found = refusal(narrowest_denial(book(), Section.TOOLS, 'u"'))
    assert found.hint == 'to deny the tool altogether, write under tools.rules: "u\\"": deny'
    assert not refusal(narrowest_denial(book(), Section.TOOLS, "u\u202e")).hint


def test_a_prompt_is_denied_by_its_exact_name() -> None:
    of = book()
    found = edit(narrowest_denial(of, Section.PROMPTS, "hello"))
    assert (found.rules, found.verdict) == ({"hello": DENY}, DENY)
    assert decide_prompt("hello", after(of, found)).verdict is DENY
    assert decide_prompt("hello2", after(of, found)).verdict is ASK
    denied = book(prompts=Prompts(default=ASK, rules={"h*": DENY}))
    refusal(narrowest_denial(denied, Section.PROMPTS, "hello"))


@pytest.mark.parametrize("arguments", [{}, {"who": "me"}])
def test_no_rule_allows_a_prompt_with_these_arguments_only(arguments: dict[str, Any]) -> None:
    found = refusal(narrowest(book(), Section.PROMPTS, "hello", arguments))
    assert found.hint.endswith('write under prompts.rules: "hello": allow')


@pytest.mark.parametrize(
    "uri", ["file:///srv/x", "note://x", "HTTPS://Example.com/a#b", "/srv/a b", "file:///a%20b"]
)
def test_a_resource_is_allowed_in_each_form_it_is_read_in(uri: str) -> None:
    of = book()
    found = edit(narrowest(of, Section.RESOURCES, uri, {}))
    assert set(found.rules.values()) == {ALLOW}
    assert decide_resource(uri, of).verdict is ASK
    assert decide_resource(uri, after(of, found)).verdict is ALLOW
    assert decide_resource(f"{uri}x", after(of, found)).verdict is ASK
    for form in found.rules:
        rest = msgspec.structs.replace(
            found, rules={key: rule for key, rule in found.rules.items() if key != form}
        )
        assert decide_resource(uri, after(of, rest)).verdict is ASK


def test_a_resource_gets_no_rule_where_none_says_exactly_it() -> None:
    refusal(narrowest(book(), Section.RESOURCES, "https://a/b?c=d", {}))
    found = refusal(narrowest(book(), Section.RESOURCES, "file:///a\\b", {}))
    assert found.reason == "a URI that programs could read in different ways is always denied"
    denied = book(resources=Resources(rules={"file://**": DENY}))
    found = refusal(narrowest(denied, Section.RESOURCES, "FILE:///x", {}))
    assert found.reason == "the policy denies this already, nobody is asked"
    allowed = book(resources=Resources(rules={"file://**": ALLOW}))
    found = refusal(narrowest(allowed, Section.RESOURCES, "file:///x", {}))
    assert found.reason == "the policy allows this already, nobody is asked"
    found = refusal(narrowest(book(), Section.RESOURCES, "HTTP://A//b/%2561;x#y", {}))
    assert found.reason == "programs could read the URI in more than 8 ways"


def test_only_the_forms_that_are_asked_about_get_a_rule() -> None:
    of = book(resources=Resources(rules={"note://x/": ALLOW}))
    assert edit(narrowest(of, Section.RESOURCES, "note://x", {})).rules == {"note://x": ALLOW}


def test_a_resource_is_denied_by_its_uri() -> None:
    found = edit(narrowest_denial(book(), Section.RESOURCES, "file:///x"))
    assert (found.rules, found.verdict) == ({"file:///x": DENY}, DENY)
    assert decide_resource("FILE:/x", after(book(), found)).verdict is DENY


def test_exact_values_are_those_of_a_constraint_that_asks_for_nothing_else() -> None:
    assert values_of(Constraint(equals=None)) == (None,)
    assert values_of(Constraint(one_of=(1, 2))) == (1, 2)
    assert values_of(Constraint(equals=1, max=2)) == ()
    assert values_of(Constraint()) == ()


@pytest.mark.parametrize(
    ("method", "section"),
    [
        ("tools/call", Section.TOOLS),
        ("resources/read", Section.RESOURCES),
        ("resources/subscribe", Section.RESOURCES),
        ("prompts/get", Section.PROMPTS),
        ("completion/complete", None),
        ("sampling/createMessage", None),
        ("elicitation/create", None),
        ("tools", None),
        ("tools/x/call", None),
        ("", None),
    ],
)
def test_a_method_is_ruled_by_its_section_or_by_none(method: str, section: Section | None) -> None:
    assert section_of(method) is section
