"""The policies of what is measured say what the table says of them."""

from __future__ import annotations

import msgspec
import pytest
import yaml

from growth import RULES as GROWTH
from mcp_jail.config import load
from mcp_jail.core.policy import LockFirst, LockPolicy, ToolRule, Verdict
from policies import LOCK, RULES, policy_text


@pytest.mark.parametrize("rules", [RULES, *GROWTH])
def test_a_policy_has_as_many_rules_as_it_is_called_after(rules: int) -> None:
    text = policy_text("a", tool="t", constraints="{path: {under: [~/p]}}", rules=rules)
    tools = load(text, "a.yaml").policy.tools
    assert len(tools.rules) == rules
    assert sum("*" in name for name in tools.rules) == rules // 2
    assert tools.default is Verdict.DENY
    called = tools.rules["t"]
    assert isinstance(called, ToolRule)
    assert called.args["path"].under == ("~/p",)


def test_a_policy_writes_everything_down_and_nowhere_else() -> None:
    policy = load(policy_text("a", tool="t", constraints="{}"), "a.yaml").policy
    assert policy.audit.path is None


def test_the_lock_that_is_asked_for_trusts_what_it_sees_first() -> None:
    text = policy_text("a", tool="t", constraints="{}", lock=True)
    assert LOCK in text
    asked = msgspec.convert(yaml.safe_load(text)["lock"], LockPolicy)
    assert asked == LockPolicy(enabled=True, first=LockFirst.TRUST)
