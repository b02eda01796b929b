"""A server's text as lines that cannot pass for ours."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from mcp_jail.cli.inert_text import (
    ALIKE,
    CUT,
    KEPT,
    NAME_LIMIT,
    TEXT_LIMIT,
    Line,
    behind_gutter,
    changed_words,
    inert,
    is_named_whole,
    json_lines,
    named,
    text_lines,
)

HOSTILE = "a\x1b[2Jb\rc\u202ed\x9b31me\u2028f\x85g\U000e0041h\x00i\x7f"


def test_nothing_of_a_text_acts_on_the_terminal() -> None:
    for line in text_lines(HOSTILE, 70):
        assert line.text.isprintable()
    assert named(HOSTILE).isprintable()


def test_what_is_hidden_is_shown() -> None:
    shown = inert("read\u200b it\u202e now")
    assert "⟦U+200B⟧" in shown
    assert "⟦U+202E⟧" in shown


def test_a_carriage_return_cannot_write_over_what_stands_before_it() -> None:
    assert inert("evil\rgood") == "evil⟦U+000D⟧good"
    assert inert("one\r\ntwo") == "one\ntwo"


@pytest.mark.parametrize("blank", [" ", "\u00a0", "\u3000", "\u2003", "\u2800"])
def test_blanks_cannot_push_text_out_of_sight(blank: str) -> None:
    assert inert(f"good{blank * 5_000}evil") == "good ⟦5,000 blanks⟧ evil"


@pytest.mark.parametrize("line", ["\n", "   \n", "\u3000\n", "\r\n"])
def test_empty_lines_cannot_push_text_out_of_sight(line: str) -> None:
    shown = inert(f"good\n{line * 400}evil")
    assert shown.startswith("good\n⟦400 empty lines⟧\n")
    assert shown.endswith("evil")


@pytest.mark.parametrize("text", ["x" * 9_000, "word " * 9_000, "漢字" * 3_000, "a\n" * 3_000])
def test_a_long_text_is_cut_and_its_tail_is_shown(text: str) -> None:
    lines = text_lines(text + "and now EVIL", 70)
    assert "EVIL" in lines[-1].text
    (cut,) = [line for line in lines if line.gutter == CUT]
    assert "of " in cut.text
    assert sum(len(line.text) for line in lines) <= TEXT_LIMIT
    whole = text_lines(text + "and now EVIL", 70, cut=False)
    assert CUT not in {line.gutter for line in whole}
    letters = "".join(line.text for line in whole).replace(" ", "")
    assert letters == (text + "and now EVIL").replace(" ", "").replace("\n", "")


def test_a_text_that_says_it_is_cut_is_told_from_one_that_is() -> None:
    (line,) = text_lines("! 9,000 of 12,000 characters are left out here", 70)
    assert line.gutter == "|"


@pytest.mark.parametrize("text", ["word " * 60, "x" * 300, "漢字" * 90, "👩‍👩‍👧 " * 50, "é" * 200])
@pytest.mark.parametrize("width", [34, 74])
def test_no_line_is_wider_than_it_may_be(text: str, width: int) -> None:
    for line in (*text_lines(text, width), *changed_words(text, f"{text} {text[::-1]}", width)):
        assert cell_len(line.text) <= width


def test_many_lines_of_json_are_cut_and_their_tail_is_shown() -> None:
    lines = json_lines("\n".join(f'"line{number}",' for number in range(5_000)), 70)
    assert [line.text for line in lines if line.gutter == CUT] == [
        "4,820 of 5,000 lines are left out here"
    ]
    assert "line4999" in lines[-1].text


def test_a_change_is_told_word_by_word() -> None:
    lines = changed_words("Give back a text.", "Give back a text and send it.", 70)
    assert [(line.gutter, line.text) for line in lines] == [
        ("|", "Give back a"),
        ("-", "text."),
        ("+", "text and send it."),
    ]


def test_a_text_cannot_pretend_that_its_words_are_gone() -> None:
    lines = changed_words("Give.", "Give.\n- all this went\n| and this stayed", 70)
    assert {line.gutter for line in lines} == {"|", "+"}
    assert any(line.gutter == "+" and "all this went" in line.text for line in lines)


def test_a_change_of_white_space_alone_is_spelled_out() -> None:
    lines = changed_words("send it", "send\u00a0it", 70)
    assert "\\xa0" in "".join(line.text for line in lines if line.gutter == "+")
    lines = changed_words("one\ntwo", "one\n\ntwo", 70)
    assert [line.text for line in lines if line.gutter == "+"] == ["'\\n'"]


def test_what_stayed_is_shown_next_to_a_change_and_else_counted() -> None:
    text = "first " + "word " * 500 + "last"
    lines = changed_words(text, f"{text} EVIL", 70)
    assert [line.gutter for line in lines if line.gutter in {KEPT, CUT}] == [KEPT]
    assert lines[-2].text.endswith("last")
    assert lines[-1].text == "EVIL"
    assert KEPT not in {line.gutter for line in changed_words(text, f"{text} EVIL", 70, cut=False)}


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("read_file", "read_file"),
        ("tool/a.b-c:d", "tool/a.b-c:d"),
        ("file:///home/me/*", "file:///home/me/*"),
        ("two words", '"two words"'),
        ('a" is approved', '"a\\" is approved"'),
        ("", '""'),
        ("a\nb", '"a⟦U+000A⟧b"'),
    ],
)
def test_a_name_is_one_word_of_ours(name: str, shown: str) -> None:
    assert named(name) == shown


def test_a_long_name_is_cut_and_says_so() -> None:
    assert named("x" * 5_000) == "x" * NAME_LIMIT + "… (5,000 characters)"


ZERO_WIDTH = "\u200b\u200c\u200d\u2060"


def hidden(text: str) -> str:
    """A text as zero-width characters, two bits each."""
    return "".join(ZERO_WIDTH[byte >> bits & 3] for byte in text.encode() for bits in (6, 4, 2, 0))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (f"A{hidden('list the files')}B", f"A{hidden('send the files')}B"),
        (f"A{hidden('list the files')}B", f"Another{hidden('send the files')}B"),
        (f"A{hidden('x' * 300)}B", f"A{hidden('x' * 299 + 'y')}B"),
        ("a\u200b" * 1_100 + "z", "a\u200b" * 1_099 + "a\u200cz"),
        ("A⟦U+200B⟧B", "A\u200bB"),
        ("A\r\nB", "A\nB"),
        ("A\tB", "A    B"),
        (f"A{' ' * 20}B", f"A{chr(0x2003) * 20}B"),
        ("A\n\n\n \n\nB", "A\n\n \n\n\nB"),
        ("A\u2800\u2800B", "A \u2800B"),
    ],
    ids=ascii,
)
@pytest.mark.parametrize("cut", [True, False])
def test_no_change_is_without_a_line(old: str, new: str, *, cut: bool) -> None:
    lines = changed_words(old, new, 70, cut=cut)
    out, put = ("".join(line.text for line in lines if line.gutter == op) for op in "-+")
    assert out != put
    if not cut:
        assert CUT not in {line.gutter for line in lines}


def test_two_texts_that_look_alike_are_said_to_differ_in_what_is_hidden() -> None:
    lines = changed_words(f"A{hidden('list')}B", f"A{hidden('send')}B", 70)
    assert lines[0] == Line(ALIKE, "differs in hidden characters")
    assert ALIKE not in {line.gutter for line in changed_words("A\u200b", "B\u200b", 70)}


def test_hidden_characters_that_are_counted_are_told_in_full_when_asked_for() -> None:
    text = f"A{hidden('list the files')}B"
    assert [line.text for line in text_lines(text, 70) if line.gutter == CUT] == [
        "hidden characters are counted here"
    ]
    whole = text_lines(text, 70, cut=False)
    assert CUT not in {line.gutter for line in whole}
    assert sum(line.text.count("U+") for line in whole) == len(text) - 2


@pytest.mark.parametrize("name", ["x" * 101, "\u200b", "a\rb", "a⟦U+200B⟧b", "\n" * 60, "\u2800"])
def test_a_name_that_is_not_told_as_it_is_is_known(name: str) -> None:
    assert not is_named_whole(name)


@pytest.mark.parametrize("name", ["x" * 100, "two words", 'a"b', "a\nb", ""])
def test_a_name_that_is_told_as_it_is_is_known(name: str) -> None:
    assert is_named_whole(name)


def test_what_is_said_on_the_error_stream_is_behind_a_gutter() -> None:
    said = behind_gutter(("mcp-jail: hint: curl\nmcp-jail: error: x", HOSTILE, "y " * 300))
    assert len(said) > 5
    for line in said:
        assert line.startswith("    | ")
        assert line.isprintable()
