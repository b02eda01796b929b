"""Bytes to messages and back: one strict decode, so that two parsers can never disagree.

What is judged is what is sent: every message is rendered anew from what was decoded here, never
forwarded as it came. Only the members of a bulk result stay raw below the names that are judged,
after checks of the whole line. Refused: anything but one JSON object, duplicate keys, keys that
collide when case is ignored, NaN and infinities, lone surrogates, invalid UTF-8, unknown envelope
keys, both or neither of result and error, ids that are no string or integer, and messages that are
too large or too deep. Each rule is here because one SDK reads the thing differently from another.
"""

from __future__ import annotations

from typing import Any, Literal, assert_never

import msgspec
from msgspec import UNSET, Raw, UnsetType

from mcp_jail.core.protocol.strict import (
    DEPTH_LIMIT,
    RefusedError,
    collide,
    count_members,
    has_huge_number,
    is_too_deep,
    is_utf8,
    written_members,
)

# Bytes of one line. A 16 MiB result with its JSON escapes needs 18; TypeScript clients give up at
# 10, Python ones never do. Twice the largest result worth having, so that memory stays bounded.
MESSAGE_LIMIT = 32 * 1024 * 1024

# Levels below a server's result at which keys may not collide in case: result, list, item. Deeper
# lie JSON Schemas, where `x` and `X` are two honest property names.
SERVER_COLLISION_DEPTH = 3

# JSON-RPC 2.0, section 5.1.
PARSE_ERROR = -32700
INVALID_REQUEST = -32600

MessageId = int | str


class Request(msgspec.Struct, frozen=True):
    """A call that wants an answer."""

    id: MessageId
    method: str
    params: dict[str, Any]


class Notification(msgspec.Struct, frozen=True):
    """A message that wants no answer."""

    method: str
    params: dict[str, Any]


class Result(msgspec.Struct, frozen=True):
    """An answer; `raw` has passed the whole-line checks and is decoded by `whole` or `members`."""

    id: MessageId
    raw: Raw


class Failure(msgspec.Struct, frozen=True):
    """An error answer; the id is None when the other side could not tell which request failed."""

    id: MessageId | None
    error: dict[str, Any]


class BadLine(msgspec.Struct, frozen=True):
    """A line that is no message; `id` is what an answer may name, where that is beyond doubt."""

    reason: str
    code: int
    id: MessageId | None = None


Message = Request | Notification | Result | Failure


def parse(line: bytes) -> Message | BadLine:
    """Read one line, its newline already cut off; never raises.

    Everything is decoded and checked except the inside of a result, which stays raw.
    """
    if not line.isascii() and not is_utf8(line):
        return BadLine("not valid UTF-8", PARSE_ERROR)
    try:
        envelope = _decode_envelope(line)
    except msgspec.ValidationError as error:
        return BadLine(_not_a_message(line, error), INVALID_REQUEST)
    except RecursionError:
        return BadLine(f"nested deeper than {DEPTH_LIMIT}", PARSE_ERROR)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return BadLine("not a JSON object", PARSE_ERROR)
    fault = _fault_of_shape(envelope)
    if fault is None:
        fault = _fault_of_keys(line, envelope)
    if fault is not None:
        return BadLine(fault, INVALID_REQUEST, _id_beyond_doubt(line, envelope))
    return _message(envelope)


def whole(raw: Raw) -> dict[str, Any] | BadLine:
    """Decode a result completely: lists, `initialize`, `server/discover`, a client's answers."""
    try:
        value = _decode_any(raw)
    except RecursionError:
        return BadLine(f"nested deeper than {DEPTH_LIMIT}", INVALID_REQUEST)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return BadLine("a number out of range", INVALID_REQUEST)
    if type(value) is not dict:
        return BadLine("the result is not an object", INVALID_REQUEST)
    fault = _fault_of_whole(value, bytes(raw))
    return value if fault is None else BadLine(fault, INVALID_REQUEST)


def members(raw: Raw) -> dict[str, Raw] | BadLine:
    """The top members of a bulk result, each still raw; duplicate and colliding keys refused."""
    try:
        found = _decode_members(raw)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return BadLine("the result is not an object", INVALID_REQUEST)
    if collide(found):
        return BadLine("keys that differ only in case", INVALID_REQUEST)
    if _is_written_once(raw, found):
        return found
    everything = whole(raw)
    return everything if isinstance(everything, BadLine) else found


def as_id(value: Any) -> MessageId | None:
    """A value that may be an id or a progress token, else None; True and 1.0 are neither."""
    return value if type(value) is str or type(value) is int else None


def size_of(raw: Raw) -> int:
    """The bytes of a raw value, without copying it."""
    return memoryview(raw).nbytes


def render(message: Message) -> bytes:
    """A message as one line with its newline; no character in it ends a line in any language."""
    match message:
        case Request():
            envelope = _Envelope("2.0", message.id, message.method, message.params or UNSET)
        case Notification():
            envelope = _Envelope("2.0", UNSET, message.method, message.params or UNSET)
        case Result():
            envelope = _Envelope("2.0", message.id, result=message.raw)
        case Failure():
            envelope = _Envelope("2.0", message.id, error=message.error)
        case _:
            assert_never(message)
    return _line(envelope)


def render_result(id: MessageId, result: dict[str, Any]) -> bytes:
    """An answer as one line; members may be raw."""
    return _line(_Answer(id=id, result=result))


def render_error(id: MessageId | None, code: int, text: str) -> bytes:
    """An error answer as one line; `id` None becomes null as JSON-RPC 2.0 asks."""
    return _line(_NullableAnswer(id=id, error={"code": code, "message": text}))


class _Envelope(msgspec.Struct, forbid_unknown_fields=True):
    jsonrpc: Literal["2.0"]
    id: int | str | UnsetType | None = UNSET
    method: str | UnsetType = UNSET
    params: dict[str, Any] | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: dict[str, Any] | UnsetType = UNSET


class _AsSdksWrite(msgspec.Struct):
    """The same members in the order in which both official SDKs write a call."""

    method: str | UnsetType
    params: dict[str, Any] | UnsetType
    jsonrpc: str
    id: int | str | UnsetType | None


class _Answer(msgspec.Struct):
    id: int | str
    result: dict[str, Any] | Raw
    jsonrpc: str = "2.0"


class _NullableAnswer(msgspec.Struct):
    id: int | str | None
    error: dict[str, Any]
    jsonrpc: str = "2.0"


_decode_envelope = msgspec.json.Decoder(_Envelope).decode
_decode_members = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_any = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode
_encode_lines = msgspec.json.Encoder().encode_lines
# NEL and the two Unicode separators end a line for some readers; as escapes they cannot.
_SEPARATORS = (
    (b"\xe2\x80\xa8", b"\\u2028"),
    (b"\xe2\x80\xa9", b"\\u2029"),
    (b"\xc2\x85", b"\\u0085"),
)
_AROUND = len(b'{"jsonrpc":"2.0","id":,"result":}')


def _message(envelope: _Envelope) -> Message:
    """The message of an envelope in which `_fault_of_shape` found no fault."""
    id_ = envelope.id
    if envelope.method is not UNSET:
        params = {} if envelope.params is UNSET else envelope.params
        if id_ is UNSET or id_ is None:
            return Notification(envelope.method, params)
        return Request(id_, envelope.method, params)
    if envelope.result is not UNSET and id_ is not UNSET and id_ is not None:
        return Result(id_, envelope.result)
    error = {} if envelope.error is UNSET else envelope.error
    return Failure(None if id_ is UNSET else id_, error)


def _line(value: Any) -> bytes:
    text = _encode_lines((value,))  # with the newline, which spares a copy of what is large
    if not text.isascii():
        for separator, escape in _SEPARATORS:
            # The first byte alone is looked for at the speed of memchr(3).
            if separator[:1] in text and separator in text:
                text = text.replace(separator, escape)
    return text.replace(b"\r", b" ") if b"\r" in text else text


def _fault_of_shape(envelope: _Envelope) -> str | None:
    is_call = envelope.method is not UNSET
    is_result = envelope.result is not UNSET
    is_error = envelope.error is not UNSET
    if is_call + is_result + is_error != 1:
        return "exactly one of method, result and error is needed"
    if envelope.id is None and not is_error:
        return "an id is a string or an integer, not null"
    if is_call:
        return None
    if envelope.params is not UNSET:
        return "an answer has no params"
    return "an answer needs an id" if envelope.id is UNSET else None


def _fault_of_keys(line: bytes, envelope: _Envelope) -> str | None:
    if envelope.result is not UNSET:
        return _fault_of_bulk(line, envelope, envelope.result)
    inner = envelope.params if envelope.error is UNSET else envelope.error
    try:
        count = 0 if inner is UNSET else count_members(inner, 1, DEPTH_LIMIT)
    except RefusedError as refused:
        return str(refused)
    if has_huge_number(line):
        return "a number out of range"
    # What the usual senders write is what we would: then no key was lost, and nothing is counted.
    if _encode(envelope) == line or _encode(_as_sdks_write(envelope)) == line:
        return None
    count += sum(value is not UNSET for value in _fields(envelope))
    return None if count == written_members(line) else "a key stands twice in one object"


def _as_sdks_write(call: _Envelope) -> _AsSdksWrite:
    return _AsSdksWrite(call.method, call.params, call.jsonrpc, call.id)


_DATA = "structuredContent"


def _fault_of_whole(value: dict[str, Any], text: bytes) -> str | None:
    # What a tool gives as data is read by no rule, so its keys may be any.
    data = value.get(_DATA)
    try:
        count = count_members({**value, _DATA: None}, 1, SERVER_COLLISION_DEPTH)
        count += count_members([data], 1, 0) - (_DATA not in value)
    except RefusedError as refused:
        return str(refused)
    if count != written_members(text):
        return "a key stands twice in one object"
    return "a number out of range" if has_huge_number(text) else None


def _fault_of_bulk(line: bytes, envelope: _Envelope, result: Raw) -> str | None:
    if is_too_deep(line):
        return f"nested deeper than {DEPTH_LIMIT}"
    # Written compactly in any order, there are 33 bytes besides the id and the result.
    if len(line) == _AROUND + len(_encode(envelope.id)) + size_of(result):
        return None
    around = line.replace(bytes(result), b"0", 1)
    written = sum(value is not UNSET for value in _fields(envelope))
    return None if written_members(around) == written else "a key stands twice in one object"


def _fields(envelope: _Envelope) -> tuple[Any, ...]:
    return (
        envelope.jsonrpc,
        envelope.id,
        envelope.method,
        envelope.params,
        envelope.result,
        envelope.error,
    )


def _is_written_once(raw: Raw, found: dict[str, Raw]) -> bool:
    """Whether a result is written compactly, which leaves no room for a second key."""
    # The list of keys has brackets for the braces and every comma; a colon each comes on top.
    size = len(_encode([*found])) + len(found)
    for value in found.values():
        size += size_of(value)
    return size_of(raw) == size


def _not_a_message(line: bytes, error: msgspec.ValidationError) -> str:
    if line.lstrip()[:1] == b"[":
        return "a batch: send one message a line"
    if "out of range" in str(error):
        return "a number out of range"
    if "unknown field" in str(error):
        return "a member that JSON-RPC 2.0 has not"  # its name is the other side's words
    return "not a JSON-RPC 2.0 message"


def _id_beyond_doubt(line: bytes, envelope: _Envelope) -> MessageId | None:
    """The id, if the line has that key once and no escape could hide another."""
    if envelope.id is UNSET or line.count(b'"id"') != 1 or b"\\u" in line:
        return None
    return envelope.id
