"""Runs of a server's log messages, read and judged as one.

A server that logs much sends thousands of `notifications/message` at once. A run of them is decoded
strictly and rendered anew like everything else, only in one pass of each. It is passed on where it
has as many bytes before and after, which leaves no room for a second key: what we render is as
short as JSON without fractions can be. And where what a message holds is flat: then neither depth
nor the session has anything to add. Anything else is left to the session, line by line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal, TypeVar

import msgspec

from mcp_jail.core.mcp import SERVER_NOTIFICATIONS_PASSED
from mcp_jail.core.strict import collide

# Lines below which a run is not worth looking for.
LEAST = 8

Line = TypeVar("Line")


class Run(msgspec.Struct, frozen=True):
    """Log messages ready for the client, each with its newline."""

    lines: bytes


def pieces(lines: Sequence[Line]) -> Iterator[Line | Run]:
    """The lines in their order, runs of log messages taken together; never raises."""
    start = 0
    while start < len(lines):
        end, run = start, None
        for begins in _FORMS:
            end = _end_of(lines, start, begins)
            if end - start >= LEAST:
                run = _checked(lines[start:end])
                break
        if run is not None:
            yield run
        else:
            end = max(end, start + 1)
            yield from lines[start:end]
        start = end


_METHOD: Literal["notifications/message"] = "notifications/message"
# JavaScript's safe integers: what every reader takes for the same number.
_SAFE = 2**53 - 1
_Flat = dict[str, str | bool | Annotated[int, msgspec.Meta(ge=-_SAFE, le=_SAFE)] | None]


class _Note(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    jsonrpc: Literal["2.0"]
    method: Literal["notifications/message"]
    params: _Flat


# How usual senders begin it. Nothing, were the session not to pass it on.
_FORMS = (
    (b'{"jsonrpc":"2.0","method":"%b"' % _METHOD.encode(), b'{"method":"%b"' % _METHOD.encode())
    if _METHOD in SERVER_NOTIFICATIONS_PASSED
    else ()
)
_decode_lines = msgspec.json.Decoder(_Note).decode_lines
_encode_lines = msgspec.json.Encoder().encode_lines


def _end_of(lines: Sequence[Any], start: int, begins: bytes) -> int:
    """Where the lines that begin so end."""
    end = start
    for line in lines[start:]:
        if not (isinstance(line, bytes) and line.startswith(begins)):
            break
        end += 1
    return end


def _checked(lines: Sequence[Any]) -> Run | None:
    """The run, None where a line of it needs a closer look."""
    block = b"\n".join(lines)
    if not block.isascii():
        return None
    try:
        found = _decode_lines(block)
    except (msgspec.DecodeError, RecursionError):
        return None
    rendered = _encode_lines(found)
    if len(rendered) != len(block) + 1:
        return None
    for keys in {tuple(note.params) for note in found}:
        if not keys or collide(dict.fromkeys(keys)):
            return None  # without members, `params` itself is left out
    return Run(rendered)
