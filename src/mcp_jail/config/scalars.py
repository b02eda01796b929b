"""What an unquoted text means where a JSON value is wanted: the YAML 1.2 core schema.

Where the format wants a text it stays a text: `text: off` is "off" and `version: 1.10` is "1.10".
"""

from __future__ import annotations

import re

NULLS = frozenset({"", "~", "null", "Null", "NULL"})
BOOLEANS = {
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "False": False,
    "FALSE": False,
}

# Digits of a number; Python itself stops at 4,300, and no JSON argument has as many.
DIGITS_LIMIT = 400


def core_value(text: str) -> str | int | float | bool | None:
    """The value of a plain scalar; raises ValueError for infinities and NaN, which JSON lacks."""
    if text in NULLS:
        return None
    if text in BOOLEANS:
        return BOOLEANS[text]
    number = core_number(text)
    return text if number is None else number


def core_number(text: str) -> int | float | None:
    """The number a plain scalar is, None where it is none; raises ValueError as `core_value`."""
    if _INTEGER.fullmatch(text):
        _refuse_long(text)
        return int(text)
    if _PREFIXED.fullmatch(text):
        return int(text, 0)
    if _INFINITE.fullmatch(text):
        raise ValueError(f"{text} is no JSON value")
    if _FLOAT.fullmatch(text):
        _refuse_long(text)
        number = float(text)
        if number in {float("inf"), float("-inf")}:
            raise ValueError(f"{text} is too large")
        return number
    return None


# YAML 1.2.2, 10.3.2.
_INTEGER = re.compile(r"[-+]?[0-9]+")
_PREFIXED = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_INFINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")


def _refuse_long(text: str) -> None:
    if len(text) > DIGITS_LIMIT:
        raise ValueError("a number with too many digits")
