"""What a policy may become without a person's trust: stricter, and nothing else."""

from __future__ import annotations

from itertools import product
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_jail.core.narrower import only_narrows
from mcp_jail.core.policy import Policy, Verdict
from mcp_jail.core.rules.decide import compile_rules, decide_prompt

RULE = {"decision": "allow", "args": {"path": {"under": ["/x"]}}, "limit": "3/h"}
BEFORE = {
    "name": "a",
    "tools": {"default": "ask", "rules": {"read": "allow", "write": RULE, "x*": "ask"}},
    "resources": {"rules": {"file://*": "allow"}},
    "sampling": "ask",
}


def policy(**keys: Any) -> Policy:
    return msgspec.convert({**BEFORE, **keys}, Policy)


def tools(default: str = "ask", **rules: Any) -> dict[str, Any]:
    before: Any = BEFORE["tools"]
    return {"default": default, "rules": {**before["rules"], **rules}}


NARROWER: dict[str, dict[str, Any]] = {
    "the same": {},
    "a stricter default": {"tools": tools("deny")},
    "a stricter rule": {"tools": tools(read="ask")},
    "a denial more": {"tools": tools(**{"r*": "deny"})},
    "no other arguments": {"tools": {**tools(), "additional": "deny"}},
    "no sampling": {"sampling": "deny"},
    "stricter resources": {"resources": {"default": "deny", "rules": {"file://*": "ask"}}},
}
OTHERS: dict[str, dict[str, Any]] = {
    "a looser default": {"tools": tools("allow")},
    "a looser rule": {"tools": tools(**{"x*": "allow"})},
    "a rule that is gone": {"tools": {"default": "ask", "rules": {"read": "allow"}}},
    "a rule more that asks": {"tools": tools(xy="ask")},
    "another constraint": {"tools": tools(write={**RULE, "args": {"path": {"under": ["/"]}}})},
    "no limit": {"tools": tools(write="deny")},
    "what is denied is shown": {"tools": {**tools(), "hide_denied": False}},
    "more files": {"filesystem": {"read_only": ["~/projects"]}},
    "another network": {"network": {"mode": "host"}},
    "asks that count longer": {"ask": {"remember": "24h"}},
    "another command": {"server": {"command": ["sh"]}},
    "hidden characters": {"text": "off"},
    "sampling": {"sampling": "allow"},
}


@pytest.mark.parametrize("case", NARROWER)
def test_a_stricter_policy_only_narrows(case: str) -> None:
    assert only_narrows(policy(), policy(**NARROWER[case]))


@pytest.mark.parametrize("case", OTHERS)
def test_what_may_allow_more_does_not(case: str) -> None:
    assert not only_narrows(policy(), policy(**OTHERS[case]))


VERDICTS = st.sampled_from(["allow", "ask", "deny"])
PATTERNS = st.sampled_from(["a", "b", "ab", "a*", "*b", "*", "??", "a?", "?b"])
SECTIONS = st.fixed_dictionaries(
    {"default": VERDICTS, "rules": st.dictionaries(PATTERNS, VERDICTS, max_size=4)}
)
STRICTNESS = {Verdict.ALLOW: 0, Verdict.ASK: 1, Verdict.DENY: 2}


@given(SECTIONS, SECTIONS)
def test_nothing_is_allowed_by_what_only_narrows_that_was_not_before(
    before: dict[str, Any], after: dict[str, Any]
) -> None:
    merged = {**after, "rules": {**before["rules"], **after["rules"]}}
    old, new = policy(prompts=before), policy(prompts=merged)
    if not only_narrows(old, new):
        return
    was, will = (compile_rules(each, {}, home="/h", cwd=None) for each in (old, new))
    for name in ("a", "b", *map("".join, product("abc", repeat=2))):
        verdicts = [decide_prompt(name, book).verdict for book in (was, will)]
        assert STRICTNESS[verdicts[0]] <= STRICTNESS[verdicts[1]]
