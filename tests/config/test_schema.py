"""The JSON Schema is made from the types."""

from __future__ import annotations

import msgspec

from mcp_jail.config.schema import DRAFT, policy_schema, schema_text


def test_the_schema_names_its_draft_and_is_json() -> None:
    schema = msgspec.json.decode(schema_text())
    assert schema == msgspec.json.decode(msgspec.json.encode(policy_schema()))
    assert schema["$schema"] == DRAFT
    assert schema["$ref"] == "#/$defs/Policy"


def test_unknown_keys_are_refused_at_every_level() -> None:
    kinds = policy_schema()["$defs"]
    for kind in kinds.values():
        if "properties" in kind:
            assert kind["additionalProperties"] is False


def test_every_key_is_described_and_what_is_not_enforced_says_so() -> None:
    kinds = policy_schema()["$defs"]
    described = [
        key["description"] for kind in kinds.values() for key in kind.get("properties", {}).values()
    ]
    assert all(described)
    assert kinds["Policy"]["properties"]["exec"]["description"].endswith("Not enforced yet.")
    assert "Not enforced" not in kinds["Tools"]["properties"]["rules"]["description"]


def test_a_rule_is_a_word_or_a_mapping() -> None:
    rules = policy_schema()["$defs"]["Tools"]["properties"]["rules"]
    assert {one["$ref"].rpartition("/")[2] for one in rules["additionalProperties"]["anyOf"]} == {
        "Verdict",
        "ToolRule",
    }
