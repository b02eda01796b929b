"""Values and rules as YAML text that reads back as exactly the same.

Texts stand in double quotes with every character escaped that a person would not see; the few words
of the format stand bare. What is written reads the same by YAML 1.1 and 1.2.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from msgspec import UNSET

from mcp_jail.core.policy import Additional, Constraint, ToolRule, Verdict
from mcp_jail.core.text.hidden import has_hidden

# Texts are YAML already; a mapping is written in lines or in braces, as its place asks for.
Lines = Mapping[str, "str | Lines"]


def value_text(value: Any) -> str:
    """A JSON value on one line."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return _float_text(value)
        case str():
            return _quoted(value)
        case list() | tuple():
            return f"[{', '.join(map(value_text, value))}]"
        case dict():
            inner = ", ".join(f"{_quoted(key)}: {value_text(item)}" for key, item in value.items())
            return f"{{{inner}}}"
        case _:
            raise TypeError(f"no JSON value: {type(value).__name__}")


def key_text(name: str) -> str:
    """A key; in quotes unless it is a plain word that no reader takes for something else."""
    is_plain = _PLAIN_KEY.fullmatch(name) is not None and name.lower() not in _TELLING_WORDS
    return name if is_plain else _quoted(name)


def rule_lines(rule: Verdict | ToolRule) -> str | Lines:
    """A rule with exact values; what the format takes as given is not written."""
    if isinstance(rule, Verdict):
        return rule.value
    lines: dict[str, str | Lines] = {"decision": rule.decision.value}
    if rule.args:
        lines["args"] = {name: constraint_text(each) for name, each in rule.args.items()}
    if rule.additional is not Additional.ALLOW:
        lines["additional"] = rule.additional.value
    lines["otherwise"] = rule.otherwise.value
    return lines


def constraint_text(constraint: Constraint) -> str:
    """A constraint on exact values."""
    if constraint.equals is not UNSET:
        return f"{{equals: {value_text(constraint.equals)}}}"
    if constraint.one_of is not UNSET:
        return f"{{one_of: {value_text(constraint.one_of)}}}"
    raise TypeError("a constraint without exact values")


def in_braces(lines: str | Lines) -> str:
    """On one line, as it may stand anywhere."""
    if isinstance(lines, str):
        return lines
    return f"{{{', '.join(pair_in_braces(key, inner) for key, inner in lines.items())}}}"


def pair_in_braces(key: str, lines: str | Lines) -> str:
    """A key with its value, as it stands between braces."""
    return f"{key_text(key)}: {in_braces(lines)}"


def in_lines(lines: Lines, column: int, step: int) -> list[str]:
    """Line by line, keys beginning at a column, each level `step` deeper."""
    found: list[str] = []
    for key, inner in lines.items():
        head = f"{' ' * column}{key_text(key)}:"
        if isinstance(inner, str):
            found.append(f"{head} {inner}")
        else:
            found += [head, *in_lines(inner, column + step, step)]
    return found


_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_TELLING_WORDS = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n"})
_MAY_NEED_ESCAPE = re.compile(r"[^ !#-\[\]-~]")
_SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_TWO_DIGITS, _FOUR_DIGITS = 0xFF, 0xFFFF


def _quoted(text: str) -> str:
    return '"' + _MAY_NEED_ESCAPE.sub(_escaped, text) + '"'


def _escaped(found: re.Match[str]) -> str:
    character = found[0]
    if character in _SHORT:
        return _SHORT[character]
    code = ord(character)
    if character.isprintable() and not has_hidden(character):
        return character
    if code <= _TWO_DIGITS:
        return f"\\x{code:02X}"
    return f"\\u{code:04X}" if code <= _FOUR_DIGITS else f"\\U{code:08X}"


def _float_text(number: float) -> str:
    """As Python writes it, with a point: YAML 1.1 takes `1e+16` for a text."""
    text = repr(number)
    mantissa, e, exponent = text.partition("e")
    return text if "." in mantissa or not e else f"{mantissa}.0e{exponent}"
