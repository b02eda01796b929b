"""What an unquoted text means as a JSON value."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_jail.config.scalars import core_number, core_value
from mcp_jail.core.rules.constraints import same_json


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("~", None),
        ("null", None),
        ("true", True),
        ("FALSE", False),
        ("yes", "yes"),
        ("off", "off"),
        ("No", "No"),
        ("1", 1),
        ("-1", -1),
        ("+1", 1),
        ("010", 10),
        ("0o10", 8),
        ("0x1F", 31),
        ("0b1", "0b1"),
        ("1_000", "1_000"),
        ("1:30", "1:30"),
        ("1.0", 1.0),
        ("1.", 1.0),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("-1.5E-1", -0.15),
        ("1.10.0", "1.10.0"),
        ("2026-01-01", "2026-01-01"),
        ("9007199254740993", 9007199254740993),
        ("nan", "nan"),
        ("=", "="),
        ("<<", "<<"),
    ],
)
def test_a_plain_scalar_is_read_as_yaml_1_2_reads_it(text: str, value: Any) -> None:
    assert same_json(core_value(text), value)


@pytest.mark.parametrize("text", [".inf", "-.INF", ".nan", "1e400", "-1e999", "9" * 500])
def test_numbers_json_does_not_have_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"JSON|large|digits"):
        core_value(text)


def test_words_are_no_numbers() -> None:
    assert core_number("1a") is None
    assert core_number("\u0661") is None
