"""Forms that a server asks to have filled in, as the scenarios about elicitation want them."""

from __future__ import annotations

from typing import Any, Final


def form(**properties: dict[str, Any]) -> dict[str, Any]:
    """A form all of whose fields must be filled in."""
    return {"type": "object", "properties": properties, "required": list(properties)}


PERSON: Final = form(
    username={"type": "string", "description": "User's response"},
    email={"type": "string", "description": "User's email address"},
)

DEFAULTS: Final = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {
            "type": "string",
            "enum": ["active", "inactive", "pending"],
            "default": "active",
        },
        "verified": {"type": "boolean", "default": True},
    },
}

_OPTIONS: Final = ["option1", "option2", "option3"]


def _titled(what: str) -> list[dict[str, str]]:
    ordinals = ("First", "Second", "Third")
    return [
        {"const": f"value{number}", "title": f"{ordinal} {what}"}
        for number, ordinal in enumerate(ordinals, 1)
    ]


CHOICES: Final = {
    "type": "object",
    "properties": {
        "untitledSingle": {"type": "string", "enum": _OPTIONS},
        "titledSingle": {"type": "string", "oneOf": _titled("Option")},
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": _OPTIONS}},
        "titledMulti": {"type": "array", "items": {"anyOf": _titled("Choice")}},
    },
}
