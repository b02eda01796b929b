"""Entries become one line each, whatever is in them."""

from __future__ import annotations

import json

import msgspec
import pytest

from chains import CALL, run_lines
from mcp_jail.core.recorded.audit import (
    BUSY,
    MAX_ENTRY_BYTES,
    MAX_LINE_BYTES,
    Anchor,
    Chain,
    Entry,
    Kind,
    link,
    read_record,
)

START = Entry(kind=Kind.START, name="files")


def sealed(entry: Entry) -> bytes:
    chain = Chain("run")
    chain.seal(START, 1)
    return chain.seal(entry, 2)


@pytest.mark.parametrize(
    "text",
    [
        "a\nb",
        "a\r\nb",
        "\x1b[2J\x1b[31m",
        "\x9b31m",
        "\x7f",
        "\u2028\u2029",
        "\u202e\u2066",
        "\U000e0041",
        "\x00",
        "\ud800",
        '","hash":"' + "0" * 64 + '"}\n{"v":1',
    ],
)
def test_no_text_of_a_server_breaks_its_line_or_acts_on_a_terminal(text: str) -> None:
    line = sealed(Entry(kind=Kind.WIRE, name=text, reason=text, detail={text: [text]}))
    assert line.endswith(b'"}\n')
    assert line.count(b"\n") == 1
    assert line[:-1].decode().isprintable()
    expected = text.encode("utf-8", "backslashreplace").decode()
    assert read_record(line).reason == expected


def test_white_space_between_tokens_of_the_arguments_does_not_break_the_line() -> None:
    line = sealed(Entry(kind=Kind.CALL, arguments=msgspec.Raw(b'{\n\t"a":\r\n1}')))
    assert line.count(b"\n") == 1
    assert read_record(line).arguments == {"a": 1}


def test_an_argument_of_ten_megabytes_is_one_short_line_that_says_so() -> None:
    arguments = b'{"content":"' + b"x" * 10_000_000 + b'"}'
    line = sealed(Entry(kind=Kind.CALL, name="n" * 10_000_000, arguments=msgspec.Raw(arguments)))
    record = read_record(line)
    assert len(line) <= MAX_LINE_BYTES
    assert record.cut > 20_000_000
    assert record.arguments == {"cut": len(arguments)}


def test_an_entry_at_the_limit_is_whole() -> None:
    room = MAX_ENTRY_BYTES - len(msgspec.json.encode(Entry(kind=Kind.WIRE, reason=".")))
    line = sealed(Entry(kind=Kind.WIRE, reason="." * (room + 1)))
    assert read_record(line).cut == 0
    assert len(line) <= MAX_LINE_BYTES
    assert read_record(sealed(Entry(kind=Kind.WIRE, reason="." * (room + 2)))).cut > 0


@pytest.mark.parametrize(
    "value",
    [10**40, -(10**40), 10**5000, {1: 2}, (1, 2), 1.5, float("inf"), "\ud800", object()],
    ids=["big", "small", "huge", "keys", "tuple", "float", "inf", "surrogate", "object"],
)
def test_a_detail_that_json_cannot_hold_is_recorded_all_the_same(value: object) -> None:
    record = read_record(sealed(Entry(kind=Kind.WIRE, detail={"value": value})))
    assert "value" in record.detail


def test_an_id_keeps_its_type() -> None:
    assert read_record(sealed(Entry(kind=Kind.CALL, id="1"))).id == "1"
    assert read_record(sealed(Entry(kind=Kind.CALL, id=1))).id == 1


def test_what_is_not_said_is_not_written() -> None:
    line = sealed(Entry(kind=Kind.END))
    assert list(json.loads(line)) == ["v", "t", "run", "n", "kind", "hash"]


def test_a_line_reads_back_as_what_was_sealed() -> None:
    record = read_record(sealed(CALL))
    assert (record.v, record.t, record.run, record.n) == (1, 2, "run", 1)
    for field in Entry.__struct_fields__:
        if field != "arguments":
            assert getattr(record, field) == getattr(CALL, field)
    assert record.arguments == {"path": "/home/me/notes.txt"}


def test_a_start_holds_the_anchor_it_was_given() -> None:
    anchor = Anchor(12, "ab" * 32, "files.jsonl.1")
    line = Chain("run", anchor).seal(START, 1)
    assert read_record(line).anchor == anchor


def test_a_chain_that_does_not_begin_with_its_start_is_refused() -> None:
    with pytest.raises(ValueError, match="start"):
        Chain("run").seal(CALL, 1)


def test_each_line_carries_the_hash_of_the_one_before_and_itself() -> None:
    previous = b""
    for line in run_lines("run", 3):
        previous = link(previous, line[:-1])
        assert previous.hex() == read_record(line).hash


@pytest.mark.parametrize("line", [b"", b"{}", b"[]", b'{"v":1}', b"\xff", b'{"v":1,"kind":"new"}'])
def test_a_line_that_is_no_entry_is_refused(line: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_record(line)


def test_a_busy_run_changes_to_a_quicker_hash_and_its_chain_stays_whole() -> None:
    lines = run_lines("busy", BUSY + 10)
    previous = b""
    for line in lines:
        previous = link(previous, line[:-1])
        assert line.endswith(b'"hash":"%b"}\n' % previous.hex().encode())
