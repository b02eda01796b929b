"""Whether one policy allows nothing that another does not: what is narrowed needs no trust.

It says so only where it is plain. Rules that are reordered, split or constrained otherwise may be
narrower as well; there a person has to look.
"""

from __future__ import annotations

from typing import Final

import msgspec

from mcp_jail.core.policy import Additional, Policy, ToolRule, Verdict, strictest

# The keys that may be stricter; every other one has to be the same.
_STRICTER: Final = ("tools", "resources", "prompts", "sampling", "elicitation")


def only_narrows(before: Policy, after: Policy) -> bool:
    """Whether the later policy is the earlier one with stricter verdicts and further denials."""
    same = msgspec.structs.replace(after, **{key: getattr(before, key) for key in _STRICTER})
    return (
        same == before
        and _is_as_strict(before.sampling, after.sampling)
        and _is_as_strict(before.elicitation, after.elicitation)
        and before.tools.hide_denied is after.tools.hide_denied
        and after.tools.additional in {before.tools.additional, Additional.DENY}
        and all(
            _is_as_strict(old.default, new.default) and _are_as_strict(old.rules, new.rules)
            for old, new in (
                (before.tools, after.tools),
                (before.resources, after.resources),
                (before.prompts, after.prompts),
            )
        )
    )


def _are_as_strict(
    before: dict[str, Verdict | ToolRule] | dict[str, Verdict],
    after: dict[str, Verdict | ToolRule] | dict[str, Verdict],
) -> bool:
    """No rule is gone, as a looser one might win in its place; what is new denies."""
    if not before.keys() <= after.keys():
        return False
    return all(
        _is_as_strict(before[name], rule) if name in before else rule is Verdict.DENY
        for name, rule in after.items()
    )


def _is_as_strict(before: Verdict | ToolRule, after: Verdict | ToolRule) -> bool:
    if isinstance(before, ToolRule) or isinstance(after, ToolRule):
        return before == after
    return strictest(before, after) is after
