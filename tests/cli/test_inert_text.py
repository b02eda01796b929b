"""A server's text as lines that cannot pass for ours."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from mcp_jail.cli.inert_text import (
    CUT,
    KEPT,
    NAME_LIMIT,
    TEXT_LIMIT,
    changed_words,
    inert,
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
