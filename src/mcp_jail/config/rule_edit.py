"""Puts one rule into a policy's text, and leaves every other character as it is.

Comments, layout and line ends stay. What comes out is read again before anybody may write it: the
policy must be the old one but for this rule, the call must be allowed by it, and a call with one
argument more, less or other must not be. Where that cannot be had, nothing is made up: the error
brings the lines to write by hand.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

import msgspec

from mcp_jail.config.loading import Loaded, load
from mcp_jail.config.spans import Items, Keys, Span, read_spans
from mcp_jail.config.splices import (
    USUAL_STEP,
    Splice,
    applied,
    is_empty_braces,
    item_added,
    pair_added,
    usual_step,
    value_put,
)
from mcp_jail.config.yaml_text import Lines, in_lines, rule_lines, value_text
from mcp_jail.core.policy import Policy, ToolRule, Verdict
from mcp_jail.core.rules.constraints import same_json
from mcp_jail.core.rules.decide import (
    Decision,
    Rulebook,
    ToolCall,
    compile_rules,
    decide,
    decide_prompt,
    decide_resource,
)
from mcp_jail.core.rules.narrow import RuleEdit, Section, values_of
from mcp_jail.core.rules.outlook import Blind
from mcp_jail.errors import JailError, PolicyError


class RuleEditError(JailError):
    """A rule that cannot be put into this text; the hint brings its lines."""


def with_rule(text: str, source: str, edit: RuleEdit) -> str:
    """The text of a policy with an edit carried out; `source` is what its places are called.

    RuleEditError: nothing of it may be written.
    """
    before = _loaded(text, source, edit, "the policy cannot be read")
    body = text.removeprefix("\ufeff")
    mark = text[: len(text) - len(body)]
    for key, rule in edit.rules.items():
        body = applied(body, _splices(body, edit, key, rule))
    after = _loaded(mark + body, source, edit, "the rule does not fit into this policy")
    wanted = _with_rules(before.policy, edit)
    if not same_json(msgspec.to_builtins(after.policy), msgspec.to_builtins(wanted)):
        _refuse(edit, f"the rule would change more of '{source}' than itself")
    _prove(after, source, edit)
    return mark + body


def rule_yaml(edit: RuleEdit) -> str:
    """The lines of an edit, for a person to write into a policy."""
    rules: dict[str, str | Lines] = {key: rule_lines(rule) for key, rule in edit.rules.items()}
    return "\n".join(in_lines({edit.section.value: {"rules": rules}}, 0, USUAL_STEP))


def _splices(text: str, edit: RuleEdit, key: str, rule: Verdict | ToolRule) -> list[Splice]:
    """What to change in a text, so that a key of the section's rules has this rule."""
    root = read_spans(text)
    step = usual_step(root)
    lines: str | Lines = rule_lines(rule)
    owner, missing = root, [edit.section.value, "rules", key]
    while (pair := owner.pair(missing[0])) is not None:
        value = pair[1]
        if len(missing) == 1:
            if isinstance(rule, ToolRule) and edit.widened is not None:
                return _widening(text, value, rule, edit)
            return value_put(text, owner, pair, lines, step)
        del missing[0]
        if not isinstance(value, Keys) or is_empty_braces(text, value):
            return value_put(text, owner, pair, _nested(missing, lines), step)
        owner = value
    return pair_added(text, owner, missing[0], _below(missing, lines), step)


def _nested(keys: list[str], lines: str | Lines) -> Lines:
    return {keys[0]: _below(keys, lines)}


def _below(keys: list[str], lines: str | Lines) -> str | Lines:
    for key in reversed(keys[1:]):
        lines = {key: lines}
    return lines


def _widening(text: str, value: Span, rule: ToolRule, edit: RuleEdit) -> list[Splice]:
    """One value more for one argument of a rule that is there; all else of it stays."""
    argument = edit.widened or ""
    args = value.pair("args") if isinstance(value, Keys) else None
    found = args[1].pair(argument) if args and isinstance(args[1], Keys) else None
    constraint = found[1] if found else None
    if not isinstance(constraint, Keys):
        _refuse(edit, f"the rule for '{edit.name}' is not written as it was read")
    *known, new = values_of(rule.args[argument])
    choices, single = constraint.pair("one_of"), constraint.pair("equals")
    if choices is not None and isinstance(choices[1], Items):
        return item_added(text, choices[1], value_text(new))
    if single is None:
        _refuse(edit, f"the rule for '{edit.name}' is not written as it was read")
    if "\n" in text[single[0].start : single[1].end]:
        _refuse(edit, f"the value of '{argument}' goes over more than one line")
    key, old = single
    blank = " " if text[old.start - 1] == ":" else ""  # `equals:` says null
    values = blank + value_text([*known, new])
    return [Splice(key.start, key.end, "one_of"), Splice(old.start, old.end, values)]


def _with_rules(policy: Policy, edit: RuleEdit) -> Policy:
    """The policy as it must be read afterwards."""
    section: Any = getattr(policy, edit.section.value)
    rules = msgspec.structs.replace(section, rules=section.rules | edit.rules)
    return msgspec.structs.replace(policy, **{edit.section.value: rules})


def _loaded(text: str, source: str, edit: RuleEdit, what: str) -> Loaded:
    try:
        return load(text, source)
    except PolicyError as error:
        return _refuse(edit, f"{what}: {error.message}")


def _prove(after: Loaded, source: str, edit: RuleEdit) -> None:
    """Refuse an outcome that does not do what it is for, or more."""
    book = compile_rules(after.policy, after.places, home="/", cwd=None)
    decision = _judged(edit.arguments, edit, book)
    rules = {f"{edit.section.value}.rules.{key}" for key in edit.rules}
    if decision.verdict is not edit.verdict or decision.rule not in rules:
        _refuse(edit, f"the rule would not hold in '{source}': {decision.reason}")
    for other in _others(edit):
        if _judged(other, edit, book).verdict is edit.verdict:
            _refuse(edit, f"the rule would hold in '{source}' for other calls, too")


def _judged(arguments: dict[str, Any], edit: RuleEdit, book: Rulebook) -> Decision:
    match edit.section:
        case Section.TOOLS:
            call = ToolCall(edit.name, arguments, frozenset(arguments))
            return decide(call, book, Blind())
        case Section.RESOURCES:
            return decide_resource(edit.name, book)
        case Section.PROMPTS:
            return decide_prompt(edit.name, book)


def _others(edit: RuleEdit) -> Iterator[dict[str, Any]]:
    """Calls of the tool with one argument more, less or other than the one it is about."""
    if edit.section is not Section.TOOLS:
        return
    fresh = _fresh(edit)
    yield edit.arguments | {fresh: None}
    for name in edit.arguments:
        yield {other: value for other, value in edit.arguments.items() if other != name}
        yield edit.arguments | {name: fresh}


def _fresh(edit: RuleEdit) -> str:
    """A text that is neither a name nor a value in the rules: longer than all of them."""
    values: list[Any] = [*edit.arguments]
    for rule in edit.rules.values():
        if isinstance(rule, ToolRule):
            values += [value for each in rule.args.values() for value in values_of(each)]
    return "x" * (1 + max((len(value) for value in values if isinstance(value, str)), default=0))


def _refuse(edit: RuleEdit, message: str) -> NoReturn:
    raise RuleEditError(message, hint=f"write it by hand:\n{rule_yaml(edit)}")
