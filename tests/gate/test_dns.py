"""Questions are read strictly, answers are what resolvers expect, no bytes break either."""

from __future__ import annotations

from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_jail.gate.dns import (
    QUESTION_LIMIT,
    Code,
    Kind,
    Malformed,
    Question,
    answer,
    complain,
    first_frame,
    frame,
    read_question,
)

OPT = b"\0\0\x29\x04\xd0\0\0\0\0\0\0"


def labels(*parts: bytes) -> bytes:
    return b"".join(bytes((len(part),)) + part for part in parts) + b"\0"


def asked(
    name: bytes,
    *,
    kind: int = Kind.A,
    klass: int = 1,
    counts: tuple[int, ...] = (1, 0, 0, 0),
    flags: int = 0x0100,
    tail: bytes = b"",
) -> bytes:
    header = b"".join(n.to_bytes(2, "big") for n in (0xBEEF, flags, *counts))
    return header + name + kind.to_bytes(2, "big") + klass.to_bytes(2, "big") + tail


def question(data: bytes) -> Question:
    read = read_question(data)
    assert isinstance(read, Question)
    return read


EXAMPLE = labels(b"API", b"example", b"com")


def test_a_question_is_read_as_it_was_asked() -> None:
    read = question(asked(EXAMPLE, kind=28))
    assert (read.name, read.type, read.is_internet) == ("API.example.com", Kind.AAAA, True)
    assert read.echo == EXAMPLE + b"\0\x1c\0\x01"
    assert not question(asked(EXAMPLE, klass=3)).is_internet
    assert question(asked(b"\0")).name == ""


def test_an_opt_record_is_the_only_thing_that_may_follow() -> None:
    assert question(asked(EXAMPLE, counts=(1, 0, 0, 1), tail=OPT)).has_opt
    assert not question(asked(EXAMPLE)).has_opt
    cookie = OPT[:-2] + b"\0\x04\0\x0a\0\0"
    assert question(asked(EXAMPLE, counts=(1, 0, 0, 1), tail=cookie)).has_opt


@pytest.mark.parametrize(
    "data",
    [
        asked(b"\xc0\x0c"),  # a name that is a pointer to itself
        asked(b"\x03abc\xc0\x0c"),
        asked(b"\x40" + b"a" * 64 + b"\0"),
        asked(labels(*[b"a" * 63] * 4)),
        asked(b"\x05abc"),
        asked(b""),
        asked(EXAMPLE)[:-1],
        asked(EXAMPLE, tail=b"\0"),
        asked(EXAMPLE, tail=OPT),
        asked(EXAMPLE, counts=(0, 0, 0, 0)),
        asked(EXAMPLE, counts=(2, 0, 0, 0)),
        asked(EXAMPLE, counts=(2, 0, 0, 0), tail=EXAMPLE + b"\0\x01\0\x01"),
        asked(EXAMPLE, counts=(1, 1, 0, 0)),
        asked(EXAMPLE, counts=(1, 0, 1, 0)),
        asked(EXAMPLE, counts=(1, 0, 0, 1)),
        asked(EXAMPLE, counts=(1, 0, 0, 2), tail=OPT + OPT),
        asked(EXAMPLE, counts=(1, 0, 0, 1), tail=OPT + b"\0"),
        asked(EXAMPLE, counts=(1, 0, 0, 1), tail=b"\x01a" + OPT),
        asked(EXAMPLE, counts=(1, 0, 0, 1), tail=OPT[:-2] + b"\0\x09"),
        asked(EXAMPLE, counts=(1, 0, 0, 1), tail=OPT[:-2] + b"\x04\0" + bytes(QUESTION_LIMIT)),
    ],
)
def test_a_malformed_question_is_told_so(data: bytes) -> None:
    read = read_question(data)
    assert read == Malformed(0xBEEF, Code.MALFORMED, 0)
    assert complain(read) == b"\xbe\xef\x80\x81" + bytes(8)


@pytest.mark.parametrize("data", [b"", b"\0" * 11, asked(EXAMPLE, flags=0x8180)])
def test_what_is_no_question_is_not_answered(data: bytes) -> None:
    assert read_question(data) is None  # an answer to an answer could go round for ever


def test_another_operation_is_not_implemented() -> None:
    update = read_question(asked(EXAMPLE, flags=5 << 11))
    assert update == Malformed(0xBEEF, Code.NOT_IMPLEMENTED, 5)
    assert complain(update)[2:4] == b"\xa8\x84"


@pytest.mark.parametrize(
    ("label", "shown"),
    [
        (b"a.b", "a\\x2eb"),
        (b"a\0b", "a\\x00b"),
        (b"a\\b", "a\\x5cb"),
        (b"a b", "a\\x20b"),
        ("\u00fc".encode(), "\\xc3\\xbc"),
        (b"_dmarc", "_dmarc"),
    ],
)
def test_a_label_that_no_host_has_is_shown_and_cannot_pass_for_one(
    label: bytes, shown: str
) -> None:
    assert question(asked(labels(label, b"example"))).name == f"{shown}.example"


def test_an_answer_repeats_the_question_and_gives_the_address() -> None:
    read = question(asked(EXAMPLE, counts=(1, 0, 0, 1), tail=OPT))
    message = answer(read, Code.OK, "198.18.0.7")
    assert message[:12] == bytes.fromhex("beef81800001000100000001")
    assert message[12:].startswith(read.echo)
    record = message[12 + len(read.echo) :]
    assert record[:12] == bytes.fromhex("c00c00010001") + (60).to_bytes(4, "big") + b"\0\x04"
    assert str(ip_address(record[12:16])) == "198.18.0.7"
    assert record[16:] == bytes.fromhex("0000290 4d0000000000000".replace(" ", ""))


@pytest.mark.parametrize("code", Code)
def test_an_answer_without_an_address_is_empty(code: Code) -> None:
    message = answer(question(asked(EXAMPLE, flags=0)), code)
    assert message == bytes((0xBE, 0xEF, 0x80, 0x80 | code, 0, 1)) + bytes(6) + EXAMPLE + bytes(
        (0, 1, 0, 1)
    )


@given(st.lists(st.binary(max_size=300), max_size=5), st.integers(1, 400))
def test_frames_come_out_as_they_went_in(messages: list[bytes], step: int) -> None:
    stream = b"".join(frame(message) for message in messages)
    buffer, found = b"", []
    for at in range(0, len(stream), step):
        buffer += stream[at : at + step]
        while (first := first_frame(buffer)) is not None:
            found.append(first[0])
            buffer = buffer[first[1] :]
    assert found == messages
    assert buffer == b""


@given(st.binary(max_size=300))
def test_no_bytes_make_the_reader_raise(data: bytes) -> None:
    for start in (b"", asked(b"")[:12], asked(EXAMPLE, counts=(1, 0, 0, 1))):
        read = read_question(start + data)
        if isinstance(read, Question):
            assert len(answer(read, Code.OK, "198.18.0.1")) < QUESTION_LIMIT + 64
            assert len(read.name) <= 4 * 255
