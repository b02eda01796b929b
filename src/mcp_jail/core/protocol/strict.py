"""What is checked of a JSON text beyond its grammar: encoding, depth, keys written once.

Everything here runs at the speed of C: a line may have 32 MiB.
"""

from __future__ import annotations

import re
from itertools import accumulate
from typing import Any

# Nesting of arrays and objects in one message. The Python SDK gives up between 150 and 300.
DEPTH_LIMIT = 100

# A double holds no integer of more digits: JavaScript reads infinity where Python reads a number.
_DIGITS_LIMIT = 308
_LONG_NUMBER = re.compile(rb"[0-9]{%d}" % (_DIGITS_LIMIT + 1))

# Bytes of a long line that are decoded at once: text may take four times as much memory.
_PIECE = 256 * 1024
_CONTINUATION = 0x80  # the top two bits of a byte inside a character
_casefold = str.casefold
_STEPS = [1 if byte in b"[{" else -1 for byte in range(256)]
_NOT_MARKS = bytes(byte for byte in range(256) if byte not in b'[]{}"')


class RefusedError(Exception):
    """A value that is valid JSON and that we do not take; the text says why."""


def is_utf8(line: bytes) -> bool:
    """Whether bytes are valid UTF-8; a long line is looked at in pieces."""
    view = memoryview(line)
    start = 0
    while start < len(line):
        end = min(start + _PIECE, len(line))
        while start < end < len(line) and line[end] & 0xC0 == _CONTINUATION:
            end -= 1  # not inside a character
        try:
            str(view[start:end], "utf-8")
        except UnicodeDecodeError:
            return False
        if end == start:
            return False  # a run of continuation bytes as long as a piece
        start = end
    return True


def count_members(value: Any, depth: int, collisions_to: int) -> int:
    """How many members all objects in a value have; refuses depth and colliding keys."""
    if depth > DEPTH_LIMIT:
        raise RefusedError(f"nested deeper than {DEPTH_LIMIT}")
    count = 0
    if type(value) is dict:
        count = len(value)
        if count > 1 and depth <= collisions_to and collide(value):
            raise RefusedError("keys that differ only in case")
        value = value.values()
    for item in value:
        kind = type(item)
        if kind is dict or kind is list:
            count += count_members(item, depth + 1, collisions_to)
    return count


def collide(members: dict[str, Any]) -> bool:
    """Whether two keys of an object are the same when case is ignored."""
    return len(set(map(_casefold, members))) != len(members)


def has_huge_number(line: bytes) -> bool:
    """Whether a valid JSON text has an integer, outside strings, that no double can hold."""
    if len(line) <= _DIGITS_LIMIT or _LONG_NUMBER.search(line) is None:
        return False
    return _LONG_NUMBER.search(_outside_strings(_unescaped(line))) is not None


def written_members(line: bytes) -> int:
    """The number of members written in a valid JSON text: colons outside strings."""
    return _outside_strings(_unescaped(line)).count(b":")


def is_too_deep(line: bytes) -> bool:
    """Whether a valid JSON text nests deeper than the limit; linear in what it holds."""
    if not _has_many_brackets(line):
        return False
    brackets = _outside_strings(_unescaped(line).translate(None, _NOT_MARKS))
    return max(accumulate(map(_STEPS.__getitem__, brackets)), default=0) > DEPTH_LIMIT


def _unescaped(line: bytes) -> bytes:
    """A JSON text in which every quote begins or ends a string."""
    if b"\\" not in line:
        return line
    # Escaped backslashes go first, so that one left before a quote escapes it.
    return line.replace(b"\\\\", b"").replace(b'\\"', b"")


def _outside_strings(line: bytes) -> bytes:
    """What stands between the strings: every other piece between quotes."""
    return b"".join(line.split(b'"')[::2])


def _has_many_brackets(line: bytes) -> bool:
    """Whether more brackets open than the limit, wherever they stand.

    Found one after the other: a search runs over a text a hundred times as fast as counting does.
    """
    left = DEPTH_LIMIT
    for bracket in (b"[", b"{"):
        at = line.find(bracket)
        while at >= 0:
            left -= 1
            if left < 0:
                return True
            at = line.find(bracket, at + 1)
    return False
