"""JSON for programs: the same values, and nothing in it that acts on a terminal."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from mcp_jail.cli.for_programs import json_line, json_page

ODD = "a\u2028b\u202ec\x9b31md\x7fe\x1bf\U000e0041g\udcffh"


@pytest.mark.parametrize("made", [json_line, json_page])
def test_no_character_acts_and_none_is_lost(made: Callable[[Any], str]) -> None:
    text = made({"näme": ODD, "n": 10**30})
    assert text.isascii()
    assert all(char.isprintable() or char == "\n" for char in text)
    assert json.loads(text) == {"näme": ODD, "n": 10**30}


def test_a_line_is_one() -> None:
    assert json_line({"a": "b\nc", "d": [1]}).splitlines() == ['{"a":"b\\nc","d":[1]}']
