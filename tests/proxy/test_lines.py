"""Lines cut at newlines only, bounded both ways, through real pipes."""

from __future__ import annotations

import fcntl
import os
import socket

from hypothesis import given
from hypothesis import strategies as st

from mcp_jail.proxy.lines import (
    EDGE,
    HIGH_WATER,
    LARGE,
    LineReader,
    LineWriter,
    TooLong,
    widen,
)


def read_all(pieces: list[bytes], limit: int = 1 << 20) -> list[bytes | TooLong]:
    read_end, write_end = os.pipe()
    os.set_blocking(read_end, False)
    reader = LineReader(read_end, limit=limit)
    found: list[bytes | TooLong] = []
    try:
        for piece in pieces:
            os.write(write_end, piece)
            found += reader.read()
        os.close(write_end)
        while not reader.at_end:
            found += reader.read()
    finally:
        os.close(read_end)
    return found


@given(st.lists(st.binary(min_size=1, max_size=30), max_size=8), st.data())
def test_bytes_split_anywhere_give_the_same_lines(pieces: list[bytes], data: st.DataObject) -> None:
    whole = b"".join(pieces)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=6)))
    edges = zip([0, *cuts], [*cuts, len(whole)], strict=True)
    split = [whole[start:end] for start, end in edges if start < end]
    expected = [line for line in whole.split(b"\n") if line and line != b"\r"]
    assert read_all(split) == expected


def test_only_a_newline_ends_a_line() -> None:
    line = b"a\rb\x0b\x0c\x85\xe2\x80\xa8c"
    assert read_all([line + b"\n"]) == [line]


def test_a_last_line_without_newline_is_given() -> None:
    assert read_all([b"a\nb"]) == [b"a", b"b"]


def test_a_line_over_the_limit_is_dropped_with_its_edges_and_the_next_one_is_read() -> None:
    long = b"HEAD" + b"x" * 60_000 + b"TAIL"
    found = read_all([long[:30_000], long[30_000:] + b"\nnext\n"], limit=50_000)
    assert isinstance(found[0], TooLong)
    assert found[0].size == len(long)
    assert found[0].edges.startswith(b"HEAD")
    assert found[0].edges.endswith(b"TAIL")
    assert found[1:] == [b"next"]


def test_a_line_without_end_keeps_no_more_than_its_edges() -> None:
    read_end, write_end = os.pipe()
    reader = LineReader(read_end, limit=10_000)
    for _ in range(40):
        os.write(write_end, b"x" * 4096)
        reader.read()
    assert len(reader._kept) <= max(10_000 + 4096, 2 * EDGE)
    os.close(read_end)
    os.close(write_end)


def test_a_large_line_comes_whole_and_makes_both_its_pipes_wide() -> None:
    line = b"".join(b"%d," % number for number in range(700_000))
    read_end, write_end = os.pipe()
    for end in (read_end, write_end):
        os.set_blocking(end, False)
    reader, writer = LineReader(read_end), LineWriter(write_end)
    for piece in (b"before\n", line + b"\n", b"after\n"):
        writer.put(piece)
    found: list[bytes | TooLong] = []
    while len(found) < 3:
        writer.flush()
        found += reader.read()
    assert found == [b"before", line, b"after"]
    assert fcntl.fcntl(read_end, fcntl.F_GETPIPE_SZ) == LARGE
    os.close(read_end)
    os.close(write_end)


def test_what_is_no_pipe_is_not_made_wide_and_takes_large_lines_too() -> None:
    ours, theirs = socket.socketpair()
    line = b"x" * 1_000_000
    with ours, theirs:
        ours.setblocking(False)
        theirs.setblocking(False)
        reader, writer = LineReader(ours.fileno()), LineWriter(theirs.fileno())
        writer.put(line + b"\n")
        found: list[bytes | TooLong] = []
        while not found:
            writer.flush()
            found += reader.read()
        assert found == [line]
        assert not widen(ours.fileno())


def test_a_writer_never_blocks_and_says_when_it_is_full() -> None:
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    writer = LineWriter(write_end)
    sent = b"".join(b"%d\n" % number for number in range(400_000))
    for start in range(0, len(sent), 10_000):
        writer.put(sent[start : start + 10_000])
        writer.flush()
    assert writer.is_full
    assert writer.pending > HIGH_WATER
    received = b""
    while writer.pending:
        received += os.read(read_end, 1 << 16)
        writer.flush()
    os.close(write_end)
    while data := os.read(read_end, 1 << 16):
        received += data
    assert received == sent
    os.close(read_end)


def test_a_writer_whose_reader_is_gone_is_broken_and_drops_the_rest() -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    writer = LineWriter(write_end)
    writer.put(b"x\n")
    writer.flush()
    assert writer.is_broken
    writer.put(b"y\n")
    assert writer.pending == 0
    os.close(write_end)
