"""The policy format as JSON Schema, for editors; made from the types that read it."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from mcp_jail.config.later import LATER
from mcp_jail.config.reference import DESCRIPTIONS
from mcp_jail.core.policy import Policy
from mcp_jail.core.rules.rulebook import KeyPath

DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"
SCHEMA_ID: Final = "urn:mcp-jail:policy:1"

_REFERENCE: Final = "#/$defs/"


def policy_schema() -> dict[str, Any]:
    """The schema, with a description of each key; keys that are not enforced yet say so."""
    schema = msgspec.json.schema(Policy)
    kinds = schema["$defs"]
    for (kind, key), text in DESCRIPTIONS.items():
        kinds[kind]["properties"][key]["description"] = text
    for later in LATER:
        described = _key_of(kinds, later.key)
        described["description"] += " Not enforced yet."
    return {"$schema": DRAFT, "$id": SCHEMA_ID, "title": "mcp-jail policy", **schema}


def schema_text() -> str:
    """The schema as indented JSON with a newline at its end."""
    return msgspec.json.format(msgspec.json.encode(policy_schema()), indent=2).decode() + "\n"


def _key_of(kinds: dict[str, Any], path: KeyPath) -> dict[str, Any]:
    """The description of the key at a path; `*` stands for the keys of a mapping."""
    described: dict[str, Any] = {"$ref": f"{_REFERENCE}Policy"}
    for key in path:
        if key == "*":
            described = described["additionalProperties"]
        else:
            described = next(kind for kind in _kinds_in(kinds, described) if key in kind)[key]
    return described


def _kinds_in(kinds: dict[str, Any], described: dict[str, Any]) -> list[dict[str, Any]]:
    """The properties of every kind that a key may have."""
    options = [described, *described.get("anyOf", ())]
    names = [one["$ref"].removeprefix(_REFERENCE) for one in options if "$ref" in one]
    return [kinds[name].get("properties", {}) for name in names]
