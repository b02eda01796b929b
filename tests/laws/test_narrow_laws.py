"""Laws of "always": the call that was asked about is allowed, and not one other."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from imagined import HOME, Imagined
from mcp_jail.core.policy import (
    Additional,
    Constraint,
    Policy,
    Resources,
    ToolRule,
    Tools,
    Verdict,
)
from mcp_jail.core.rules.constraints import same_json
from mcp_jail.core.rules.decide import Rulebook, ToolCall, compile_rules, decide, decide_resource
from mcp_jail.core.rules.narrow import NoRule, RuleEdit, Section, narrowest

ALLOW, ASK = Verdict.ALLOW, Verdict.ASK
OUTLOOK = Imagined({f"{HOME}/p/a": "file"})

VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text("xyXY."), inner),
    max_leaves=4,
)
FEW = st.sampled_from([0, 1, 1.0, True, "1", None, [1], {"x": 1}])
NAMES = st.text("abAB.", max_size=2)
CALLS = st.dictionaries(NAMES, VALUES, max_size=3)
FEW_CALLS = st.dictionaries(st.sampled_from("ab"), FEW, min_size=1, max_size=2)
CONSTRAINTS = st.one_of(
    st.builds(Constraint, under=st.just(("~/p",))),
    st.builds(Constraint, equals=FEW, required=st.booleans()),
    st.builds(Constraint, one_of=st.lists(FEW, max_size=2).map(tuple)),
)
TOOL_RULES = st.builds(
    ToolRule,
    decision=st.just(ALLOW),
    otherwise=st.sampled_from(Verdict),
    additional=st.sampled_from(Additional),
    args=st.dictionaries(st.sampled_from("ab"), CONSTRAINTS, max_size=2),
)
RULES = st.sampled_from(Verdict) | TOOL_RULES
POLICIES = st.dictionaries(st.sampled_from(["t", "t*", "*t", "u", "?"]), RULES, max_size=4)


def of_rules(rules: dict[str, Verdict | ToolRule], default: Verdict) -> Rulebook:
    policy = Policy(name="p", tools=Tools(default=default, rules=rules))
    return compile_rules(policy, {}, home=HOME, cwd=None)


def after(book: Rulebook, edit: RuleEdit) -> Rulebook:
    return of_rules(book.policy.tools.rules | edit.rules, book.policy.tools.default)


def verdict(book: Rulebook, arguments: dict[str, Any], tool: str = "t") -> Verdict:
    return decide(ToolCall(tool, arguments, None), book, OUTLOOK).verdict


@given(POLICIES, st.sampled_from(Verdict), FEW_CALLS | CALLS, FEW_CALLS | CALLS)
def test_a_rule_opens_its_call_and_no_other(
    rules: dict[str, Verdict | ToolRule],
    default: Verdict,
    call: dict[str, Any],
    other: dict[str, Any],
) -> None:
    book = of_rules(rules, default)
    found = narrowest(book, Section.TOOLS, "t", call)
    if isinstance(found, NoRule):
        return
    changed = after(book, found)
    assert verdict(book, call) is ASK
    assert verdict(changed, call) is ALLOW
    if not same_json(call, other):
        assert verdict(changed, other) is verdict(book, other)


@given(POLICIES, CALLS, st.sampled_from(["u", "tt", "T", "x"]), CALLS)
def test_a_rule_for_one_tool_changes_nothing_for_others(
    rules: dict[str, Verdict | ToolRule], call: dict[str, Any], name: str, other: dict[str, Any]
) -> None:
    book = of_rules(rules, ASK)
    found = narrowest(book, Section.TOOLS, "t", call)
    if isinstance(found, RuleEdit):
        assert verdict(after(book, found), other, name) is verdict(book, other, name)


@given(st.lists(FEW_CALLS, min_size=1, max_size=5), FEW_CALLS)
def test_answers_add_up_to_the_calls_they_were_given_for(
    calls: list[dict[str, Any]], other: dict[str, Any]
) -> None:
    book, answered = of_rules({}, ASK), []
    for call in calls:
        found = narrowest(book, Section.TOOLS, "t", call)
        if isinstance(found, RuleEdit):
            book = after(book, found)
            answered.append(call)
    assert verdict(book, calls[0]) is ALLOW
    for call in [*answered, other]:
        is_answered = any(same_json(call, each) for each in answered)
        assert verdict(book, call) is (ALLOW if is_answered else ASK)


@given(CALLS)
def test_a_call_with_plain_names_always_gets_its_rule(call: dict[str, Any]) -> None:
    folded = {name.casefold() for name in call}
    is_plain = len(folded) == len(call) and not any("." in name for name in call)
    assert isinstance(narrowest(of_rules({}, ASK), Section.TOOLS, "t", call), RuleEdit) is is_plain


URIS = st.text("aA:/.#;% b2", min_size=1, max_size=12).map(lambda rest: f"file:{rest}")


@given(URIS, st.dictionaries(URIS, st.sampled_from(Verdict), max_size=2))
def test_a_resource_that_gets_a_rule_is_read_afterwards(
    uri: str, rules: dict[str, Verdict]
) -> None:
    policy = Policy(name="p", resources=Resources(rules=rules))
    book = compile_rules(policy, {}, home=HOME, cwd=None)
    found = narrowest(book, Section.RESOURCES, uri, {})
    if isinstance(found, NoRule):
        return
    assert decide_resource(uri, book).verdict is ASK
    opened = dict.fromkeys(found.rules, ALLOW)
    changed = msgspec.structs.replace(policy, resources=Resources(rules=rules | opened))
    book = compile_rules(changed, {}, home=HOME, cwd=None)
    assert decide_resource(uri, book).verdict is ALLOW
