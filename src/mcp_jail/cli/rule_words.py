"""A rule of the policy in words, for people.

Values may have come from a model, by an answer for always: nothing in them acts on the terminal,
and none fills the page.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from mcp_jail.config.yaml_text import value_text
from mcp_jail.core.policy import Additional, Constraint, ToolRule, Verdict
from mcp_jail.core.text.hidden import has_hidden

# Characters of one value that are shown; the policy's line, which is named, has the whole.
VALUE_LIMIT: Final = 200


def rule_words(rule: Verdict | ToolRule) -> str:
    """What a rule comes to: one verdict, or two where anything is asked of the arguments."""
    if isinstance(rule, Verdict):
        return rule.value
    if rule.args or rule.additional is Additional.DENY:
        return f"{rule.decision.value}, else {rule.otherwise.value}"
    return rule.decision.value


def constraint_words(constraint: Constraint) -> str:
    """What an argument must be."""
    written = msgspec.to_builtins(constraint)
    if constraint.required:
        del written["required"]
    return ", ".join(f"{key} {_shown(value)}" for key, value in written.items()) or "anything"


def _shown(value: Any) -> str:
    is_plain = isinstance(value, str) and value.isprintable() and not has_hidden(value)
    text = value if is_plain else value_text(value)
    cut = f"… ({len(text):,} characters)" if len(text) > VALUE_LIMIT else ""
    return f"{text[:VALUE_LIMIT]}{cut}"
