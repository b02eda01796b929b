"""Questions for names and our answers, as bytes (RFC 1035, 6891, 9460). Pure.

Nothing that is asked here leaves the machine: a name is answered from the policy alone. A question
is read strictly: one of them, no compression, nothing behind it but an OPT record. What a name may
be is the matter of `core.rules.hosts`; labels that are no host name are shown, never matched.
"""

from __future__ import annotations

from enum import IntEnum
from socket import inet_aton
from typing import Final

import msgspec

# Bytes of a question we read. The longest name takes 255, an OPT record with a cookie some 60.
QUESTION_LIMIT: Final = 1024
# Over TCP a message may have 64 KiB (RFC 1035, 4.2.2).
FRAME_LIMIT: Final = 0xFFFF + 2
# Seconds a program may remember an address. It is the same for as long as the jail lives.
TTL: Final = 60

_HEADER: Final = 12
_CLASS_IN: Final = 1
_OPT: Final = 41
_OUR_SIZE: Final = 1232  # bytes over UDP that no network cuts up (DNS flag day 2020)
_NAME_MAX: Final = 255  # bytes, with lengths and the root (RFC 1035, 2.3.4)
_LABEL_MAX: Final = 63
_PLAIN: Final = frozenset(range(0x21, 0x7F)) - frozenset(b".\\")  # bytes shown as they are


class Kind(IntEnum):
    """Types of records that are answered; anything else is refused."""

    A = 1
    AAAA = 28
    SVCB = 64
    HTTPS = 65


class Code(IntEnum):
    """Response codes we send."""

    OK = 0
    MALFORMED = 1
    FAILED = 2
    NO_SUCH_NAME = 3
    NOT_IMPLEMENTED = 4
    REFUSED = 5


class Question(msgspec.Struct, frozen=True):
    """One question. `name` is as it was asked, without its last dot; odd bytes are escaped."""

    id: int
    name: str
    type: int
    is_internet: bool
    echo: bytes  # the question's own bytes
    wants_recursion: bool
    has_opt: bool


class Malformed(msgspec.Struct, frozen=True):
    """A message that cannot be answered for what it asks: only its id is sure."""

    id: int
    code: Code
    opcode: int


def read_question(data: bytes) -> Question | Malformed | None:
    """The question of a message; None for one that is not to be answered at all."""
    if len(data) < _HEADER or data[2] & 0x80:  # too short, or a response
        return None
    number, flags = int.from_bytes(data[:2], "big"), data[2]
    opcode = flags >> 3 & 0xF
    if opcode:
        return Malformed(number, Code.NOT_IMPLEMENTED, opcode)
    questions, answers, authorities, extras = (
        int.from_bytes(data[at : at + 2], "big") for at in (4, 6, 8, 10)
    )
    found = _name_at(data, _HEADER)
    if (
        (questions, answers, authorities) != (1, 0, 0)
        or extras > 1
        or len(data) > QUESTION_LIMIT
        or found is None
    ):
        return Malformed(number, Code.MALFORMED, opcode)
    name, at = found
    fixed, rest = data[at : at + 4], data[at + 4 :]
    if len(fixed) < 4 or not _is_only_opt(rest, expected=extras == 1):  # noqa: PLR2004
        return Malformed(number, Code.MALFORMED, opcode)
    return Question(
        id=number,
        name=name,
        type=int.from_bytes(fixed[:2], "big"),
        is_internet=int.from_bytes(fixed[2:], "big") == _CLASS_IN,
        echo=data[_HEADER : at + 4],
        wants_recursion=bool(flags & 1),
        has_opt=extras == 1,
    )


def answer(question: Question, code: Code, address: str | None = None) -> bytes:
    """The response to a question; an IPv4 address makes it an answer, none an empty one."""
    record = b""
    if address is not None:
        # The name again (a pointer to the question), type, class, TTL, length, address.
        record = b"\xc0\x0c\x00\x01\x00\x01" + TTL.to_bytes(4, "big") + b"\x00\x04"
        record += inet_aton(address)
    opt = b""
    if question.has_opt:
        opt = b"\x00\x00\x29" + _OUR_SIZE.to_bytes(2, "big") + bytes(6)
    flags = 0x8080 | (0x0100 if question.wants_recursion else 0) | code
    counts = (1, 1 if record else 0, 0, 1 if opt else 0)
    return _header(question.id, flags, counts) + question.echo + record + opt


def complain(malformed: Malformed) -> bytes:
    """The response to what is no question: a header with a code."""
    return _header(malformed.id, 0x8080 | malformed.opcode << 11 | malformed.code, (0, 0, 0, 0))


def frame(message: bytes) -> bytes:
    """A message as TCP carries it: its length goes before it."""
    return len(message).to_bytes(2, "big") + message


def first_frame(data: bytes) -> tuple[bytes, int] | None:
    """The first message of a TCP stream and the bytes it took; None while it is not whole."""
    if len(data) < 2:  # noqa: PLR2004
        return None
    end = 2 + int.from_bytes(data[:2], "big")
    return None if len(data) < end else (bytes(data[2:end]), end)


def _header(number: int, flags: int, counts: tuple[int, ...]) -> bytes:
    return b"".join(value.to_bytes(2, "big") for value in (number, flags, *counts))


def _name_at(data: bytes, at: int) -> tuple[str, int] | None:
    """The name at a place and the place behind it; None where it is none."""
    labels: list[str] = []
    start = at
    while True:
        if at >= len(data) or at - start >= _NAME_MAX:
            return None
        length = data[at]
        label = data[at + 1 : at + 1 + length]
        if length > _LABEL_MAX or len(label) < length:  # also what looks like a pointer
            return None
        at += 1 + length
        if not length:
            return ".".join(labels), at
        labels.append(_shown(label))


def _shown(label: bytes) -> str:
    """A label as text. Bytes no host name has are escaped, a dot too: it would end the label."""
    return "".join(chr(byte) if byte in _PLAIN else f"\\x{byte:02x}" for byte in label)


def _is_only_opt(rest: bytes, *, expected: bool) -> bool:
    """Whether a message ends with one OPT record where one was announced, else with nothing."""
    if not expected:
        return not rest
    if len(rest) < 11 or rest[0] or int.from_bytes(rest[1:3], "big") != _OPT:  # noqa: PLR2004
        return False
    return len(rest) == 11 + int.from_bytes(rest[9:11], "big")
