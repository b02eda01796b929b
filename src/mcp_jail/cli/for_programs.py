"""What `--json` prints: a value on one line, or folded for a file that people look at, too.

All of it is ASCII: a program reads the same text out of escapes, a terminal does nothing by them,
and a file name that is no Unicode can be written, too.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec


def json_line(value: Any) -> str:
    """A value as one line of JSON Lines, with its end."""
    return _ascii(json.dumps(msgspec.to_builtins(value), separators=(",", ":")))


def json_page(value: Any) -> str:
    """A value as JSON over several lines."""
    return _ascii(json.dumps(msgspec.to_builtins(value), indent=2))


def _ascii(text: str) -> str:
    return text.replace("\x7f", "\\u007f") + "\n"
