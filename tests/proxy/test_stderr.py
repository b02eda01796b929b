"""The error stream: a server's escape sequences are dead when they reach a terminal."""

from __future__ import annotations

import os
import termios

import pytest

from mcp_jail.proxy.stderr import LINE_LIMIT, RUN_LIMIT, ErrorStream, clean


def shown(*chunks: bytes) -> str:
    read_end, write_end = os.pipe()
    stream = ErrorStream("fs", fd=write_end)
    for chunk in chunks:
        stream.server_wrote(chunk)
    stream.server_ended()
    stream.close()
    os.close(write_end)
    with os.fdopen(read_end, encoding="utf-8", newline="\n") as reader:
        return reader.read()


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("\x1b[8mhidden\x1b[0m", "hidden"),
        ("\x1b[2J\x1b[1;1H", ""),
        ("\x1b]52;c;ZXZpbA==\x07x", "x"),
        ("\x1b]0;title\x1b\\x", "x"),
        ("\x1b]8;;https://evil\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("a\x9b31mb", "a31mb"),
        ("a\x08\x08b\rc\x00d", "abcd"),
        ("tab\tstays", "tab\tstays"),
        ("a\u202eb", "a\\u{202e}b"),
        ("a\U000e0041b", "a\\u{e0041}b"),
        ("a\u200bb", "a\\u{200b}b"),
        ("gr\u00fc\u00df \u4f60", "gr\u00fc\u00df \u4f60"),
    ],
    ids=repr,
)
def test_control_sequences_are_taken_out_and_hidden_characters_shown(raw: str, text: str) -> None:
    assert clean(raw) == text


def test_each_line_is_prefixed_with_the_servers_name() -> None:
    assert shown(b"one\ntw", b"o\nthree") == "[fs] one\n[fs] two\n[fs] three\n"


def test_a_server_cannot_fake_our_own_words() -> None:
    assert shown(b"mcp-jail: all is well\n").startswith("[fs] mcp-jail:")
    assert shown(b"x\rmcp-jail: all is well\n") == "[fs] xmcp-jail: all is well\n"


def test_a_sequence_split_over_two_reads_is_still_taken_out() -> None:
    assert shown(b"a\x1b]52;c;", b"ZXZpbA==\x07b\n") == "[fs] ab\n"


def test_a_long_line_is_cut_and_says_so() -> None:
    text = shown(b"x" * (LINE_LIMIT * 3), b"y" * LINE_LIMIT, b"\nnext\n")
    first, second = text.splitlines()
    assert first.endswith("... (cut)")
    assert "y" not in text
    assert second == "[fs] next"


def test_a_flood_is_capped_and_its_end_is_said(tmp_path: object) -> None:
    path = f"{tmp_path}/stderr"
    fd = os.open(path, os.O_RDWR | os.O_CREAT)
    stream = ErrorStream("fs", fd=fd)
    for _ in range(2 * RUN_LIMIT // (64 * 1024)):
        stream.server_wrote((b"x" * 1023 + b"\n") * 64)
    size = os.fstat(fd).st_size
    os.close(fd)
    assert size < RUN_LIMIT * 1.1
    with open(path, encoding="utf-8") as file:
        assert "the rest is dropped" in file.read()[-200:]


def test_a_reader_that_does_not_read_blocks_nobody() -> None:
    read_end, write_end = os.pipe()
    stream = ErrorStream("fs", fd=write_end)
    for _ in range(1000):
        stream.server_wrote(b"x" * 1000 + b"\n")
    os.close(read_end)
    stream.tell("nobody hears this")
    stream.close()
    os.close(write_end)


def test_a_terminal_that_is_held_blocks_nobody() -> None:
    leader, follower = os.openpty()
    termios.tcflow(follower, termios.TCOOFF)  # what Ctrl-S does
    stream = ErrorStream("fs", fd=follower)
    for _ in range(200):
        stream.server_wrote(b"x" * 1000 + b"\n")
    assert os.get_blocking(follower), "the shell's own descriptor is left as it was"
    stream.close()
    os.close(follower)
    os.close(leader)


def hidden(*chunks: bytes, secret: str) -> str:
    read_end, write_end = os.pipe()
    stream = ErrorStream("fs", fd=write_end)
    stream.hide(lambda text: text.replace(secret, "[redacted]"))
    for chunk in chunks:
        stream.server_wrote(chunk)
    stream.server_ended()
    stream.tell(f"it said {secret}")
    stream.close()
    os.close(write_end)
    with os.fdopen(read_end, encoding="utf-8", newline="\n") as reader:
        return reader.read()


def test_a_secret_is_in_no_line_however_it_arrives() -> None:
    told = hidden(b"a hunt", b"er-2 b\nhun\x1b[1mter-2\n", b"hunter-2", secret="hunter-2")
    assert told == (
        "[fs] a [redacted] b\n[fs] [redacted]\n[fs] [redacted]\nmcp-jail: it said [redacted]\n"
    )


@pytest.mark.parametrize("room", range(1, 12))
@pytest.mark.parametrize("end", [b"\n", b"." * 5000 + b"\n", b""], ids=["line", "long", "open"])
def test_a_secret_at_the_cut_leaves_no_beginning(room: int, end: bytes) -> None:
    told = hidden(b"." * (LINE_LIMIT - room) + b"hunter-2", end, secret="hunter-2")
    assert "hunt" not in told
