"""Every key of the format is described."""

from __future__ import annotations

import msgspec

from mcp_jail.config.reference import DESCRIPTIONS
from mcp_jail.core import policy as types


def test_every_key_has_a_line_and_no_line_is_for_nothing() -> None:
    keys = {
        (struct.__name__, field.encode_name)
        for struct in vars(types).values()
        if isinstance(struct, type) and issubclass(struct, types.Closed)
        for field in msgspec.structs.fields(struct)
    }
    assert set(DESCRIPTIONS) == keys


def test_a_line_is_one_sentence() -> None:
    for text in DESCRIPTIONS.values():
        assert text.endswith(".")
        assert len(text) <= 80
