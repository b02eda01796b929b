"""What happens to a call: the page to read to know what mcp-jail lets through.

A tool's rule is looked up by name; its checks are held against the arguments; where one does not
hold, or an argument is there that a closed rule does not name, the rule's `otherwise` applies.
Arguments that the tool does not declare are refused where the policy says so. With no rule the
default of the policy holds. Nothing here ends in allow by an error: what cannot be evaluated does
not hold.

`reason` is written for the model: what was not kept, never how to widen the policy and nothing that
tells a hidden tool from one that does not exist. `hint` is written for the person.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from mcp_jail.core.policy import Additional, Verdict
from mcp_jail.core.rules.constraints import quoted, unmet
from mcp_jail.core.rules.decision import ASK_MEANS, Decision, dotted, plainly, yaml_key
from mcp_jail.core.rules.outlook import Outlook
from mcp_jail.core.rules.rulebook import KeyPath, NameRules, Rule, Rulebook, compile_rules
from mcp_jail.core.rules.uris import readings_of_uri

__all__ = [
    "ASK_MEANS",
    "Decision",
    "Outlook",
    "Rulebook",
    "ToolCall",
    "compile_rules",
    "decide",
    "decide_prompt",
    "decide_resource",
]

# Characters of a tool's or prompt's name. The protocol advises 128; beyond this nobody named it.
NAME_LIMIT = 512


class ToolCall(msgspec.Struct, frozen=True):
    """A call as the client sent it.

    `declared` are the top-level names of the tool's own input schema, None where no list was seen,
    or where the list has no such tool (`is_absent`).
    """

    tool: str
    arguments: Mapping[str, Any]
    declared: frozenset[str] | None
    is_absent: bool = False


def decide(call: ToolCall, book: Rulebook, outlook: Outlook) -> Decision:
    """Judge a tool call; reads files only through the outlook, changes nothing."""
    if _is_odd(call.tool):
        return _odd_name(("tools",), book)
    rules = book.tools.for_name(call.tool)
    if len(rules) == 1:
        decision = _by_rule(rules[0], call.arguments, book, outlook)
    elif rules:
        decision = _strictest([_by_rule(rule, call.arguments, book, outlook) for rule in rules])
    else:
        decision = _by_default("tools", call.tool, book.policy.tools.default, book)
    if decision.verdict is Verdict.DENY or book.policy.tools.additional is Additional.ALLOW:
        return decision
    return _undeclared(call, book) or decision


def decide_resource(uri: str, book: Rulebook) -> Decision:
    """Judge the reading of a resource: each form a server may take its URI for must be allowed."""
    readings = readings_of_uri(uri)
    if not readings:
        return _odd_name(("resources",), book)
    default = book.policy.resources.default
    return _strictest(
        [_by_name("resources", form, default, book.resources, book) for form in readings]
    )


def decide_prompt(name: str, book: Rulebook) -> Decision:
    """Judge the getting of a prompt by its name."""
    if _is_odd(name):
        return _odd_name(("prompts",), book)
    return _by_name("prompts", name, book.policy.prompts.default, book.prompts, book)


def _by_rule(
    rule: Rule, arguments: Mapping[str, Any], book: Rulebook, outlook: Outlook
) -> Decision:
    for check in rule.checks:
        reason = unmet(check, arguments, outlook)
        if reason is not None:
            path = (*rule.path, "args", check.name)
            hint = f"the limit stands in {dotted(path)}"
            return Decision(rule.otherwise, dotted(rule.path), book.places.get(path), reason, hint)
    return rule.decision if rule.named is None else _by_names(rule, rule.named, arguments, book)


def _by_names(
    rule: Rule, named: frozenset[str], arguments: Mapping[str, Any], book: Rulebook
) -> Decision:
    """What a rule says that holds for no other arguments than it names."""
    strange = sorted(arguments.keys() - named)
    if not strange:
        return rule.decision
    path = (*rule.path, "additional")
    reason = f"the rule names no argument {quoted(strange[0])}"
    hint = f"the limit stands in {dotted(path)}"
    return Decision(rule.otherwise, dotted(rule.path), book.places.get(path), reason, hint)


def _by_name(kind: str, name: str, default: Verdict, rules: NameRules, book: Rulebook) -> Decision:
    found = rules.for_name(name)
    if not found:
        return _by_default(kind, name, default, book)
    return _strictest([rule.decision for rule in found])


def _by_default(kind: str, name: str, default: Verdict, book: Rulebook) -> Decision:
    decision = plainly(default, (kind, "default"), book.places)
    return msgspec.structs.replace(decision, hint=to_allow(kind, name))


def to_allow(kind: str, name: str) -> str:
    """The line that would allow what no rule of this section names."""
    return f"no rule names it; to allow it, add under {kind}.rules: {yaml_key(name)}: allow"


def _undeclared(call: ToolCall, book: Rulebook) -> Decision | None:
    """A denial where arguments go beyond the tool's own schema, or that schema is not known."""
    path = ("tools", "additional")
    if call.declared is None:
        reason = "the tool's own list of arguments has not been seen; list the tools first"
        if call.is_absent:
            reason = "the server has listed no tool of this name"
        return plainly(Verdict.DENY, path, book.places, reason)
    strange = sorted(call.arguments.keys() - call.declared)
    if not strange:
        return None
    reason = f"the tool declares no argument {quoted(strange[0])}"
    return plainly(Verdict.DENY, path, book.places, reason)


def _odd_name(path: KeyPath, book: Rulebook) -> Decision:
    reason = "a name that programs could read in different ways"
    return plainly(Verdict.DENY, path, book.places, reason)


def _strictest(decisions: list[Decision]) -> Decision:
    """The first of the strictest; the rules come in an order of their own, not the file's."""
    for verdict in (Verdict.DENY, Verdict.ASK):
        for decision in decisions:
            if decision.verdict is verdict:
                return decision
    return decisions[0]


def _is_odd(name: str) -> bool:
    """Whether a server might trim or cut a name and so run another tool than was judged."""
    return not name or len(name) > NAME_LIMIT or name != name.strip() or not name.isprintable()
