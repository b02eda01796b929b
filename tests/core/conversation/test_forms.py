"""The fields that a form may have."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_jail.core.conversation import forms
from mcp_jail.core.conversation.forms import fault_of_field, fault_of_value, is_typed

WHAT = "the field 'f'"

FIELDS: dict[str, dict[str, Any]] = {
    "plain text": {"type": "string"},
    "text with all": {
        "type": "string",
        "title": "Name",
        "description": "Your name\nas on the badge",
        "minLength": 0,
        "maxLength": 50,
        "pattern": "^[A-Za-z]{2,9}[ -][a-z]+$",
        "default": "Ann Lee",
    },
    **{
        f"text that is {form}": {"type": "string", "format": form}
        for form in ("email", "uri", "date", "date-time")
    },
    "number": {"type": "number", "minimum": 0, "maximum": 1.5, "default": 0.5},
    "integer": {
        "type": "integer",
        "exclusiveMinimum": 0,
        "exclusiveMaximum": 9,
        "multipleOf": 2,
        "default": 4,
    },
    "yes or no": {"type": "boolean", "default": False},
    "no default": {"type": "boolean", "default": None},
    "enum": {"type": "string", "enum": ["a", "b"], "default": "b"},
    "enum with names": {"type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"]},
    "titled": {
        "type": "string",
        "oneOf": [{"const": "a", "title": "A"}, {"const": "b", "title": "B"}],
        "default": "a",
    },
    "several": {
        "type": "array",
        "items": {"type": "string", "enum": ["a", "b"]},
        "minItems": 1,
        "maxItems": 2,
        "uniqueItems": True,
        "default": ["a"],
    },
    "several titled": {
        "type": "array",
        "items": {"anyOf": [{"const": "a", "title": "A"}, {"const": "b", "title": "B"}]},
    },
}


@pytest.mark.parametrize("field", FIELDS.values(), ids=FIELDS)
def test_a_field_of_the_protocol_is_let_be(field: dict[str, Any]) -> None:
    assert fault_of_field(WHAT, field) is None


@pytest.mark.parametrize("name", FIELDS)
def test_only_text_and_numbers_can_be_typed(name: str) -> None:
    assert is_typed(FIELDS[name]) == name.startswith(("text", "plain", "number", "integer"))


FAULTS: dict[str, tuple[Any, str]] = {
    "not an object": ("string", "is not described by an object"),
    "no type": ({"title": "x"}, "has the type null"),
    "an object": ({"type": "object", "properties": {}}, "has the type 'object'"),
    "null": ({"type": "null"}, "has the type 'null'"),
    "a list of types": ({"type": ["string", "null"]}, 'has the type ["string","null"]'),
    "a list of anything": ({"type": "array", "items": {"type": "string"}}, "needs one list"),
    "a list without items": ({"type": "array"}, "something else than choices"),
    "a list of lists": (
        {"type": "array", "items": {"type": "array", "enum": ["a"]}},
        "something else than choices",
    ),
    "a list of objects": (
        {"type": "array", "items": {"enum": ["a"], "properties": {}}},
        "something else than choices",
    ),
    "items that are no object": ({"type": "array", "items": ["a"]}, "something else than choices"),
    "a reference": ({"$ref": "#/$defs/X"}, "has the type null"),
    "a reference beside a type": ({"type": "string", "$ref": "x"}, "has '$ref', which such"),
    "an unknown word": ({"type": "boolean", "x-html": "<b>"}, "has 'x-html', which such"),
    "a word of another kind": ({"type": "boolean", "pattern": "a"}, "has 'pattern', which such"),
    "a choice with a pattern": ({"type": "string", "enum": ["a"], "pattern": "a"}, "'pattern'"),
    "a title that is no text": (
        {"type": "boolean", "title": 1},
        "the title of the field 'f' is no",
    ),
    "a long title": ({"type": "boolean", "title": "x" * 201}, "more than 200 characters"),
    "a long description": (
        {"type": "boolean", "description": "x" * 1_001},
        "the description of the field 'f' has more than 1000",
    ),
    "a title of two lines": ({"type": "boolean", "title": "a\nb"}, "too many lines"),
    "a long list in a description": (
        {"type": "boolean", "description": "a\n" * 11},
        "the description of the field 'f' has too many lines",
    ),
    "a default of two lines": ({"type": "string", "default": "a\rb"}, "too many lines"),
    "a choice of two lines": ({"type": "string", "enum": ["a\nb"]}, "too many lines"),
    "a hidden title": ({"type": "boolean", "title": "a\u200bb"}, "has hidden characters"),
    "a hidden description": ({"type": "boolean", "description": "\x1b[8m"}, "hidden characters"),
    "a format that hides": ({"type": "string", "format": "password"}, "the format 'password'"),
    "a format that is no text": ({"type": "string", "format": ["date"]}, "the format"),
    "a length below nothing": (
        {"type": "string", "minLength": -1},
        "minLength of the field 'f' is no count",
    ),
    "a length that is true": ({"type": "string", "maxLength": True}, "maxLength of"),
    "a length with a part": ({"type": "string", "maxLength": 1.5}, "maxLength of"),
    "a bad number of items": (
        {"type": "array", "items": {"enum": ["a"]}, "maxItems": "1"},
        "maxItems of",
    ),
    "a bad least number of items": (
        {"type": "array", "items": {"enum": ["a"]}, "minItems": -1},
        "minItems of",
    ),
    "unique that is neither": (
        {"type": "array", "items": {"enum": ["a"]}, "uniqueItems": 1},
        "neither true nor false",
    ),
    "a bound that is text": ({"type": "number", "minimum": "0"}, "minimum of"),
    "a bound that is true": ({"type": "integer", "maximum": True}, "maximum of"),
    "a pattern that is no text": ({"type": "string", "pattern": 1}, "the pattern of"),
    "a long pattern": ({"type": "string", "pattern": "a" * 201}, "is too long"),
    "a pattern that never ends": (
        {"type": "string", "pattern": "^(a+)+$"},
        "the pattern of the field 'f' may take too long",
    ),
    "a pattern of many repeats": ({"type": "string", "pattern": ".*.*.*.*x"}, "may take too long"),
    "a pattern of many counts": ({"type": "string", "pattern": "a{9}" * 4}, "may take too long"),
    "a default of another kind": ({"type": "string", "default": 1}, "the default of"),
    "a long default": ({"type": "string", "default": "x" * 1_001}, "more than 1000"),
    "a hidden default": ({"type": "string", "default": "a\u202e"}, "hidden characters"),
    "a number for yes": ({"type": "boolean", "default": 1}, "is not one of its kind"),
    "true for a number": ({"type": "number", "default": True}, "is not one of its kind"),
    "a part for a whole": ({"type": "integer", "default": 1.5}, "is not one of its kind"),
    "a default beside the choices": (
        {"type": "string", "enum": ["a"], "default": "c"},
        "is not one of its kind",
    ),
    "defaults beside the choices": (
        {"type": "array", "items": {"enum": ["a"]}, "default": ["a", "c"]},
        "is not one of its kind",
    ),
    "no choices": ({"type": "string", "enum": []}, "no choices or more than 300"),
    "too many choices": (
        {"type": "string", "enum": [str(number) for number in range(301)]},
        "no choices or more than 300",
    ),
    "choices that are no list": ({"type": "string", "enum": "ab"}, "needs one list of choices"),
    "two lists of choices": (
        {"type": "string", "enum": ["a"], "oneOf": [{"const": "a", "title": "A"}]},
        "needs one list of choices",
    ),
    "a choice that is no text": ({"type": "string", "enum": ["a", 1]}, "a choice of"),
    "a long choice": ({"type": "string", "enum": ["x" * 201]}, "more than 200"),
    "a hidden choice": ({"type": "string", "enum": ["a\u200b"]}, "hidden characters"),
    "a hidden name of a choice": (
        {"type": "string", "enum": ["a"], "enumNames": ["\u200b"]},
        "hidden characters",
    ),
    "a titled choice without title": (
        {"type": "string", "oneOf": [{"const": "a"}]},
        "with its title",
    ),
    "a titled choice with more": (
        {"type": "string", "oneOf": [{"const": "a", "title": "A", "pattern": "x"}]},
        "with its title",
    ),
    "a titled choice that is text": ({"type": "string", "oneOf": ["a"]}, "with its title"),
    "a titled choice with a long title": (
        {"type": "string", "oneOf": [{"const": "a", "title": "x" * 201}]},
        "more than 200",
    ),
    "a titled choice of a number": (
        {"type": "array", "items": {"anyOf": [{"const": 1, "title": "A"}]}},
        "is no text",
    ),
    "more names than choices": (
        {"type": "string", "enum": ["a"], "enumNames": ["A", "B"]},
        "one name for each choice",
    ),
    "names that are no list": (
        {"type": "string", "enum": ["a"], "enumNames": "A"},
        "one name for each choice",
    ),
}


@pytest.mark.parametrize(("field", "told"), FAULTS.values(), ids=FAULTS)
def test_any_other_field_is_refused_and_named(field: Any, told: str) -> None:
    fault = fault_of_field(WHAT, field)
    assert fault is not None
    assert told in fault
    assert WHAT in fault


def test_what_is_just_within_the_limits_is_let_be() -> None:
    field = {
        "type": "string",
        "title": "x" * forms.TITLE_LIMIT,
        "description": "\n" * 9 + "x" * (forms.DESCRIPTION_LIMIT - 9),
        "default": "x" * forms.DEFAULT_LIMIT,
        "pattern": "a+b*c{2}" + "d" * (forms.PATTERN_LIMIT - 8),
    }
    assert fault_of_field(WHAT, field) is None
    choices = [str(number).rjust(forms.CHOICE_LIMIT, "x") for number in range(forms.CHOICES_LIMIT)]
    assert fault_of_field(WHAT, {"type": "string", "enum": choices}) is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("plain text", ""),
        ("number", 1),
        ("number", 1.5),
        ("integer", -1),
        ("yes or no", True),
        ("enum", "a"),
        ("titled", "b"),
        ("several", []),
        ("several", ["b", "a"]),
        ("several titled", ["b"]),
    ],
)
def test_a_value_of_its_kind_fits(name: str, value: Any) -> None:
    assert fault_of_value(WHAT, FIELDS[name], value) is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("plain text", 1),
        ("plain text", ["a"]),
        ("plain text", {"a": "b"}),
        ("number", "1"),
        ("number", True),
        ("integer", 1.0),
        ("integer", False),
        ("yes or no", 0),
        ("yes or no", "true"),
        ("enum", "A"),
        ("enum", ["a"]),
        ("titled", "A"),
        ("several", "a"),
        ("several", ["a", "c"]),
        ("several", [["a"]]),
        ("several titled", ["A"]),
    ],
)
def test_a_value_of_another_kind_does_not(name: str, value: Any) -> None:
    assert fault_of_value(WHAT, FIELDS[name], value) == f"{WHAT} is not one of its kind"


def test_a_field_of_no_kind_has_no_values() -> None:
    assert fault_of_value(WHAT, {"type": "object"}, {}) is not None
