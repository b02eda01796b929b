"""The fields a form may have: text, number, yes-or-no, one choice, several choices; nothing nested.

Each keyword must be one of its kind's (2025-06-18 to 2026-07-28, and what pydantic adds): one that
we do not know might be shown or followed by a client that does.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import Any, assert_never

from mcp_jail.core.conversation.like_ours import are_choices_like_ours, is_like_ours
from mcp_jail.core.rules.constraints import quoted
from mcp_jail.core.text.hidden import has_hidden

# Characters of what is shown of a field, and lines, so that nothing is pushed out of sight.
NAME_LIMIT = 64
TITLE_LIMIT = 200
DESCRIPTION_LIMIT = 1_000
DESCRIPTION_LINES = 10
DEFAULT_LIMIT = 1_000
CHOICE_LIMIT = 200

# Choices of one field: all countries fit.
CHOICES_LIMIT = 300

# Characters of a pattern, and repeats in it. It runs in the client on what a person typed: without
# groups and with few repeats it cannot take long.
PATTERN_LIMIT = 200
REPEATS_LIMIT = 3


class Kind(Enum):
    """What a person does with a field."""

    TEXT = "text"
    NUMBER = "number"
    BOOLEAN = "boolean"
    CHOICE = "choice"
    CHOICES = "choices"


def fault_of_field(what: str, field: Any) -> str | None:
    """Why a field's schema may not be shown, None if it may; `what` names it in the reason."""
    if type(field) is not dict:
        return f"{what} is not described by an object"
    kind = _kind_of(field)
    if kind is None:
        return f"{what} has the type {quoted(field.get('type'))}, which is none of a form"
    unknown = sorted(field.keys() - _SHOWN - _KEYWORDS[kind])
    if unknown:
        return f"{what} has {quoted(unknown[0])}, which such a field has not"
    fault = fault_of_labels(what, field) or _fault_of_keywords(what, kind, field)
    default = field.get("default")
    if fault or default is None:
        return fault
    if kind is Kind.TEXT:
        return fault_of_shown(f"the default of {what}", default, DEFAULT_LIMIT)
    return fault_of_value(f"the default of {what}", field, default)


def fault_of_value(what: str, field: dict[str, Any], value: Any) -> str | None:
    """Why a value is not of a field's kind or none of its choices; None if it is one.

    The field must be without fault. Lengths, ranges, formats and patterns are the client's to hold.
    """
    match _kind_of(field):
        case Kind.TEXT:
            fits = type(value) is str
        case Kind.NUMBER:
            fits = type(value) is int or (type(value) is float and field["type"] == "number")
        case Kind.BOOLEAN:
            fits = type(value) is bool
        case Kind.CHOICE:
            fits = value in _choices(field)
        case Kind.CHOICES:
            known = _choices(field["items"])
            fits = type(value) is list and all(item in known for item in value)
        case None:
            fits = False
        case kind:
            assert_never(kind)
    return None if fits else f"{what} is not one of its kind"


def fault_of_shown(what: str, text: Any, limit: int, lines: int = 1) -> str | None:
    """Why something is no text of so many characters and lines that a person sees all of."""
    if type(text) is not str:
        return f"{what} is no text"
    if len(text) > limit:
        return f"{what} has more than {limit} characters"
    if has_hidden(text):
        return f"{what} has hidden characters"
    if is_like_ours(text):
        return f"{what} speaks as only mcp-jail's own questions do"
    return f"{what} has too many lines" if len(text.splitlines()) > lines else None


def fault_of_labels(what: str, shown: dict[str, Any]) -> str | None:
    """Why the title or the description of something, where it has one, may not be shown."""
    fault = None
    if "title" in shown:
        fault = fault_of_shown(f"the title of {what}", shown["title"], TITLE_LIMIT)
    if fault or "description" not in shown:
        return fault
    what = f"the description of {what}"
    return fault_of_shown(what, shown["description"], DESCRIPTION_LIMIT, DESCRIPTION_LINES)


def is_typed(field: dict[str, Any]) -> bool:
    """Whether a person can write what they like into a field, digits at least."""
    return _kind_of(field) in (Kind.TEXT, Kind.NUMBER)


_SHOWN = frozenset({"type", "title", "description", "default"})
_KEYWORDS = {
    Kind.TEXT: frozenset({"minLength", "maxLength", "format", "pattern"}),
    Kind.NUMBER: frozenset(
        {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}
    ),
    Kind.BOOLEAN: frozenset(),
    Kind.CHOICE: frozenset({"enum", "enumNames", "oneOf"}),
    Kind.CHOICES: frozenset({"items", "minItems", "maxItems", "uniqueItems"}),
}
_FORMATS = ("email", "uri", "date", "date-time")
_COUNTS = ("minLength", "maxLength", "minItems", "maxItems")


def _kind_of(field: dict[str, Any]) -> Kind | None:
    match field.get("type"):
        case "string":
            return Kind.CHOICE if "enum" in field or "oneOf" in field else Kind.TEXT
        case "number" | "integer":
            return Kind.NUMBER
        case "boolean":
            return Kind.BOOLEAN
        case "array":
            return Kind.CHOICES
        case _:
            return None


def _fault_of_keywords(what: str, kind: Kind, field: dict[str, Any]) -> str | None:
    for key in _COUNTS:
        if key in field and (type(field[key]) is not int or field[key] < 0):
            return f"{key} of {what} is no count"
    match kind:
        case Kind.TEXT:
            return _fault_of_text_rules(what, field)
        case Kind.NUMBER:
            odd = [
                key for key in sorted(field.keys() & _KEYWORDS[kind]) if not _is_number(field[key])
            ]
            return f"{odd[0]} of {what} is no number" if odd else None
        case Kind.CHOICE:
            return _fault_of_choices(what, field)
        case Kind.CHOICES:
            return _fault_of_items(what, field)
        case Kind.BOOLEAN:
            return None
        case _:
            assert_never(kind)


def _fault_of_text_rules(what: str, field: dict[str, Any]) -> str | None:
    if "format" in field and field["format"] not in _FORMATS:
        return f"{what} has the format {quoted(field['format'])}, which is none of a form"
    pattern = field.get("pattern", "")
    if type(pattern) is not str or len(pattern) > PATTERN_LIMIT:
        return f"the pattern of {what} is too long or no text"
    if "(" in pattern or len(_REPEAT.findall(pattern)) > REPEATS_LIMIT:
        return f"the pattern of {what} may take too long"
    return None


_REPEAT = re.compile(r"[*+{]")


def _is_number(value: Any) -> bool:
    return type(value) is int or type(value) is float


def _fault_of_items(what: str, field: dict[str, Any]) -> str | None:
    items = field.get("items")
    if type(items) is not dict or items.keys() - _ITEMS or items.get("type", "string") != "string":
        return f"{what} is a list of something else than choices"
    if type(field.get("uniqueItems", True)) is not bool:
        return f"uniqueItems of {what} is neither true nor false"
    return _fault_of_choices(what, items)


_ITEMS = frozenset({"type", "enum", "enumNames", "oneOf", "anyOf"})


def _fault_of_choices(what: str, field: dict[str, Any]) -> str | None:
    written = [key for key in ("enum", "oneOf", "anyOf") if key in field]
    choices = field[written[0]] if len(written) == 1 else None
    if type(choices) is not list:
        return f"{what} needs one list of choices"
    if not 0 < len(choices) <= CHOICES_LIMIT:
        return f"{what} has no choices or more than {CHOICES_LIMIT}"
    shown: list[Any] = []
    for choice in choices:
        if "enum" in field:
            shown.append(choice)
        elif type(choice) is dict and choice.keys() == {"const", "title"}:
            shown += (choice["const"], choice["title"])
        else:
            return f"{what} has a choice that is not a const with its title"
    names = field.get("enumNames", [])
    if type(names) is not list or len(names) > len(choices):
        return f"enumNames of {what} is not one name for each choice"
    for text in (*shown, *names):
        fault = fault_of_shown(f"a choice of {what}", text, CHOICE_LIMIT)
        if fault:
            return fault
    if are_choices_like_ours((*shown, *names)):
        return f"{what} has the choices of mcp-jail's own questions"
    return None


def _choices(field: dict[str, Any]) -> list[str]:
    if "enum" in field:
        return list(field["enum"])
    return [choice["const"] for choice in field.get("oneOf", field.get("anyOf", []))]
