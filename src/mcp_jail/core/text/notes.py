"""Runs of a server's log messages, read and judged as one.

A server that logs much sends thousands of `notifications/message` at once. A run of them is decoded
strictly, once, and rendered anew like everything else, only all in one call. It is passed on where
the bytes are the same before and after, which leaves no room for a second key; where it holds what
the protocol names and flat values, so that depth and case have nothing to add; where no character
needs a look; and where no line is long. Anything else is left to the session, line by line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

# Lines below which a run is not worth looking for.
LEAST = 8

# Bytes of a line that may be part of a run. A longer one is looked at by itself, as it may be more
# than its client takes.
LINE_LIMIT = 64 * 1024

Line = TypeVar("Line")


class Run(msgspec.Struct, frozen=True):
    """Log messages ready for the client, each with its newline."""

    lines: bytes


def pieces(lines: Sequence[Line]) -> Iterator[Line | Run]:
    """The lines in their order, runs of plain log messages taken together; never raises."""
    start = 0
    while start < len(lines):
        end, run = start, None
        for begins, decoder in _FORMS:
            end = _end_of(lines, start, begins)
            if end - start >= LEAST:
                run = _checked(lines[start:end], decoder)
                break
        if run is not None:
            yield run
        else:
            end = max(end, start + 1)
            yield from lines[start:end]
        start = end


# JavaScript's safe integers: what every reader takes for the same number.
_SAFE = 2**53 - 1
_Integer = Annotated[int, msgspec.Meta(ge=-_SAFE, le=_SAFE)]


class _Log(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    level: Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
    logger: str | UnsetType = UNSET
    data: str | bool | _Integer | UnsetType | None = UNSET


class _Note(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    jsonrpc: Literal["2.0"]
    method: Literal["notifications/message"]
    params: _Log


class _NoteAsSdksWrite(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    method: Literal["notifications/message"]
    params: _Log
    jsonrpc: Literal["2.0"]


# How each form begins, and what reads many lines of it.
_FORMS = (
    (b'{"jsonrpc":"2.0","method":"notifications/message"', msgspec.json.Decoder(_Note)),
    (b'{"method":"notifications/message"', msgspec.json.Decoder(_NoteAsSdksWrite)),
)
_encode_lines = msgspec.json.Encoder().encode_lines


def _end_of(lines: Sequence[Any], start: int, begins: bytes) -> int:
    """Where the lines that begin so end."""
    end = start
    for line in lines[start:]:
        if not (isinstance(line, bytes) and len(line) <= LINE_LIMIT and line.startswith(begins)):
            break
        end += 1
    return end


def _checked(lines: Sequence[Any], decoder: msgspec.json.Decoder[Any]) -> Run | None:
    """The run, None where a line of it needs a closer look."""
    block = b"\n".join([*lines, b""])
    if not block.isascii() or b"\x7f" in block or _has_escaped_control(block):
        return None
    try:
        found = decoder.decode_lines(block)
    except (msgspec.DecodeError, RecursionError):
        return None
    if _encode_lines(found) != block:
        return None
    if type(found[0]) is _NoteAsSdksWrite:
        block = _encode_lines([_Note(note.jsonrpc, note.method, note.params) for note in found])
    return Run(block)


def _has_escaped_control(block: bytes) -> bool:
    """Whether a text may hold a control character, but for tab and line ends."""
    return b"\\" in block and (b"\\u" in block or b"\\b" in block or b"\\f" in block)
