"""The narrowest rule that makes an answer hold for ever: this call and no other.

For a tool it is a rule under its exact name that names every argument with its value and is closed
to others; what differs is asked about as before. Where the policy's rules cannot say exactly that,
there is no rule, and the reason tells why: nothing wider is ever made up.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, Final

import msgspec
from msgspec import UNSET

from mcp_jail.core.policy import (
    Additional,
    Constraint,
    Policy,
    ToolRule,
    Tools,
    Verdict,
    strictest,
)
from mcp_jail.core.rules.constraints import quoted, same_json
from mcp_jail.core.rules.decide import ToolCall, compile_rules, decide
from mcp_jail.core.rules.decision import yaml_key
from mcp_jail.core.rules.globs import is_glob
from mcp_jail.core.rules.outlook import Blind
from mcp_jail.core.rules.rulebook import NameRules, Rulebook
from mcp_jail.core.rules.uris import readings_of_uri
from mcp_jail.core.text.hidden import has_hidden

# Bytes of all values of a rule, as JSON. Longer ones are texts that nobody reads in a policy, and a
# call that writes a whole file is not made twice.
VALUES_LIMIT: Final = 16 * 1024

# Arguments of a rule; calls with more are no calls that are made again.
ARGUMENTS_LIMIT: Final = 100

# Nesting of a value in a rule; the policy file itself may nest 32 deep.
DEPTH_LIMIT: Final = 20

# Rules that one resource may need, one for each way programs read its URI.
READINGS_LIMIT: Final = 8


class Section(Enum):
    """The section of a policy whose rules decide a kind of request."""

    TOOLS = "tools"
    RESOURCES = "resources"
    PROMPTS = "prompts"


class RuleEdit(msgspec.Struct, frozen=True, kw_only=True):
    """Rules as they must stand in a section afterwards, by key; all else stays as it is.

    They are for this name with these arguments, which get `verdict`. `widened` is the argument of
    an existing rule that takes one value more, None where the rules are new or replace a plain ask.
    """

    section: Section
    name: str
    arguments: dict[str, Any]
    verdict: Verdict
    rules: dict[str, Verdict | ToolRule]
    widened: str | None = None


class NoRule(msgspec.Struct, frozen=True):
    """Why no rule says exactly this, and what a person can do instead."""

    reason: str
    hint: str = ""


def section_of(method: str) -> Section | None:
    """The section whose rules decide a request of the client; None where no rule can."""
    return _SECTIONS.get(method)


def narrowest(
    book: Rulebook, section: Section, name: str, arguments: Mapping[str, Any]
) -> RuleEdit | NoRule:
    """The rule that allows what is asked about now; `arguments` count for tools only."""
    match section:
        case Section.TOOLS:
            return _tool(book, name, dict(arguments))
        case Section.RESOURCES:
            return _resource(book, name)
        case Section.PROMPTS:
            return _prompt(book, name)


def narrowest_denial(book: Rulebook, section: Section, name: str) -> RuleEdit | NoRule:
    """The rule that denies what is asked about now.

    One call of a tool cannot be denied alone: a rule denies what does not keep to it, never what
    does, so that nothing gets round it by a value that reads otherwise. `"name": deny` would deny
    calls that nobody was asked about.
    """
    if section is not Section.TOOLS:
        return _named(book, section, name, Verdict.DENY)
    reason = "a rule cannot deny one call and go on asking about the tool's others"
    where = _where(book, section, name)
    hint = f"to deny the tool altogether, write under tools.rules{where}: {yaml_key(name)}: deny"
    return NoRule(reason, hint if name.isprintable() else "")


def values_of(constraint: Constraint) -> tuple[Any, ...]:
    """The exact values a constraint takes; empty where it asks for anything else."""
    if constraint.equals is not UNSET and constraint == Constraint(equals=constraint.equals):
        return (constraint.equals,)
    if constraint.one_of is not UNSET and constraint == Constraint(one_of=constraint.one_of):
        return constraint.one_of
    return ()


_SECTIONS: Final = {
    "tools/call": Section.TOOLS,
    "resources/read": Section.RESOURCES,
    "resources/subscribe": Section.RESOURCES,
    "prompts/get": Section.PROMPTS,
}


def _prompt(book: Rulebook, name: str) -> NoRule:
    """A rule for a prompt names no arguments, so none is as narrow as what was asked about."""
    where = _where(book, Section.PROMPTS, name)
    hint = (
        f"to allow it whatever they are, write under prompts.rules{where}: {yaml_key(name)}: allow"
    )
    reason = "a rule for a prompt holds for all its arguments"
    return NoRule(reason, hint if name.isprintable() else "")


def _tool(book: Rulebook, name: str, arguments: dict[str, Any]) -> RuleEdit | NoRule:
    refused = _fault_of_name(name) or _fault_of_arguments(arguments)
    if refused is not None:
        return refused
    there = book.policy.tools.rules.get(name)
    if isinstance(there, ToolRule):
        found = _widened(there, arguments, _where(book, Section.TOOLS, name))
        if isinstance(found, NoRule):
            return found
        widened, rule = found
    else:
        unclear = _unless_asked(book, Section.TOOLS, name)
        if unclear is not None:
            return unclear
        widened, rule = None, _rule_of(arguments)
    return _tried(name, arguments, rule, widened)


def _rule_of(arguments: dict[str, Any]) -> ToolRule:
    return ToolRule(
        decision=Verdict.ALLOW,
        args={name: Constraint(equals=value) for name, value in arguments.items()},
        additional=Additional.DENY,
        otherwise=Verdict.ASK,
    )


def _widened(
    rule: ToolRule, arguments: dict[str, Any], where: str
) -> tuple[str, ToolRule] | NoRule:
    """A rule of our own shape with one more value for the one argument that differs.

    All other arguments must have one value only: with two lists, the rule would also allow pairs
    that nobody was asked about.
    """
    hint = f"change the rule{where} by hand"
    values = {name: values_of(constraint) for name, constraint in rule.args.items()}
    shape = msgspec.structs.replace(_rule_of({}), args=rule.args)
    if rule != shape or not all(values.values()):
        return NoRule("the tool has a rule of its own that says more than exact calls", hint)
    if values.keys() != arguments.keys():
        return NoRule("the tool's rule is for other arguments", hint)
    new = [name for name in values if not _is_among(arguments[name], values[name])]
    if not new:
        return NoRule("the policy allows this already, nobody is asked")
    if len(new) > 1:
        return NoRule("the call differs from the tool's rule in more than one argument", hint)
    (name,) = new
    if any(len(known) > 1 for other, known in values.items() if other != name):
        return NoRule("one value more would allow calls that were not asked about", hint)
    wider = Constraint(one_of=(*values[name], arguments[name]))
    return name, msgspec.structs.replace(rule, args=rule.args | {name: wider})


def _tried(
    name: str, arguments: dict[str, Any], rule: ToolRule, widened: str | None
) -> RuleEdit | NoRule:
    """The edit, if its rule is small enough and allows the call when it is judged."""
    values = [values_of(constraint) for constraint in rule.args.values()]
    size = len(msgspec.json.encode([[*rule.args], values]))
    if size > VALUES_LIMIT:
        reason = f"the rule would have {size} bytes of values, at most {VALUES_LIMIT} are written"
        return NoRule(reason, "a pattern or a directory says it shorter; write the rule by hand")
    alone = Policy(name="alone", tools=Tools(rules={name: rule}))
    book = compile_rules(alone, {}, home="/", cwd=None)
    decision = decide(ToolCall(name, arguments, None), book, Blind())
    if decision.verdict is not Verdict.ALLOW:
        return NoRule(f"a rule for exactly this call does not hold: {decision.reason}")
    return RuleEdit(
        section=Section.TOOLS,
        name=name,
        arguments=arguments,
        verdict=Verdict.ALLOW,
        rules={name: rule},
        widened=widened,
    )


def _resource(book: Rulebook, uri: str) -> RuleEdit | NoRule:
    """Allow each form of the URI that is asked about: one that is not allowed holds the rest up."""
    forms = readings_of_uri(uri)
    if not forms:
        return NoRule("a URI that programs could read in different ways is always denied")
    rules: dict[str, Verdict | ToolRule] = {}
    for form in forms:
        if _section(book, Section.RESOURCES).verdict_of(form) is Verdict.ALLOW:
            continue
        refused = _fault_of_name(form) or _unless_asked(book, Section.RESOURCES, form)
        if refused is not None:
            return refused
        rules[form] = Verdict.ALLOW
    if not rules:
        return NoRule("the policy allows this already, nobody is asked")
    if len(rules) > READINGS_LIMIT:
        return NoRule(f"programs could read the URI in more than {READINGS_LIMIT} ways")
    return RuleEdit(
        section=Section.RESOURCES, name=uri, arguments={}, verdict=Verdict.ALLOW, rules=rules
    )


def _named(book: Rulebook, section: Section, name: str, verdict: Verdict) -> RuleEdit | NoRule:
    """The name itself with a verdict."""
    refused = _fault_of_name(name) or _unless_asked(book, section, name)
    if refused is not None:
        return refused
    return RuleEdit(
        section=section, name=name, arguments={}, verdict=verdict, rules={name: verdict}
    )


class _Section(msgspec.Struct, frozen=True):
    """The rules of a section, compiled and as written, and what holds without one."""

    rules: NameRules
    written: Mapping[str, Verdict | ToolRule]
    default: Verdict

    def verdict_of(self, name: str) -> Verdict:
        """What a name gets whose constraints all hold."""
        found = [rule.decision.verdict for rule in self.rules.for_name(name)]
        return strictest(*found) if found else self.default


def _unless_asked(book: Rulebook, section: Section, name: str) -> NoRule | None:
    """Why an exact rule would change more than this: unless a plain `ask` decides the name."""
    known = _section(book, section)
    for rule in known.rules.for_name(name):
        if isinstance(known.written[rule.key], ToolRule):
            where = _where(book, section, rule.key)
            reason = f"{quoted(rule.key)} says more than a word, and an exact rule would go before"
            return NoRule(reason, f"change the rule{where} by hand")
    verdict = known.verdict_of(name)
    if verdict is Verdict.ASK:
        return None
    word = "allows" if verdict is Verdict.ALLOW else "denies"
    return NoRule(f"the policy {word} this already, nobody is asked")


def _fault_of_name(name: str) -> NoRule | None:
    if is_glob(name):
        reason = f"{quoted(name)} has '*' or '?', which a rule takes for any characters"
        return NoRule(reason, "a rule for it would be wider; write one by hand if you want that")
    if not name or _is_unseen(name):
        return NoRule(f"{quoted(name)} has characters that do not show")
    return None


def _fault_of_arguments(arguments: dict[str, Any]) -> NoRule | None:
    if len(arguments) > ARGUMENTS_LIMIT:
        return NoRule(f"the call has more than {ARGUMENTS_LIMIT} arguments")
    for name, value in arguments.items():
        if "." in name:
            reason = f"the argument {quoted(name)} has a dot, which a rule also takes for an inside"
            return NoRule(reason)
        if _is_unseen(name):
            return NoRule(f"the argument {quoted(name)} has characters that do not show")
        if _is_deeper(value, DEPTH_LIMIT):
            return NoRule(f"{quoted(name)} nests deeper than {DEPTH_LIMIT}")
    return None


def _is_unseen(name: str) -> bool:
    """Whether a person who reads the rule could take the name for another one."""
    return not name.isprintable() or has_hidden(name)


def _is_deeper(value: Any, limit: int) -> bool:
    """Whether a value nests deeper; no deeper than one beyond the limit is looked at."""
    if isinstance(value, dict):
        value = [*value.values()]
    if not isinstance(value, list):
        return False
    return not limit or any(_is_deeper(item, limit - 1) for item in value)


def _is_among(value: Any, known: tuple[Any, ...]) -> bool:
    return any(same_json(value, each) for each in known)


def _where(book: Rulebook, section: Section, key: str) -> str:
    place = book.places.get((section.value, "rules", key))
    return "" if place is None else f" of {place}"


def _section(book: Rulebook, section: Section) -> _Section:
    policy = book.policy
    match section:
        case Section.TOOLS:
            return _Section(book.tools, policy.tools.rules, policy.tools.default)
        case Section.RESOURCES:
            return _Section(book.resources, policy.resources.rules, policy.resources.default)
        case Section.PROMPTS:
            return _Section(book.prompts, policy.prompts.rules, policy.prompts.default)
