"""Two texts side by side."""

from __future__ import annotations

import pytest

from mcp_jail.core.approved.word_diff import Op, diff, word_diff


def shown(old: str, new: str) -> list[str]:
    return [f"{each.op.value}{''.join(each.pieces).strip()}" for each in word_diff(old, new)]


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [
        ("a b c d", "a b c d", ["|a b c d"]),
        ("read it", "read it and send it", ["|read it", "+and send it"]),
        ("read the whole text now", "read now", ["|read", "-the whole text", "|now"]),
        ("", "new", ["+new"]),
        ("old", "", ["-old"]),
        ("", "", []),
        (
            "one two three four five",
            "one 2 three 4 five",
            ["|one", "-two three four", "+2 three 4"],
        ),
    ],
)
def test_words_that_stayed_went_and_came_are_told_apart(
    old: str, new: str, lines: list[str]
) -> None:
    found = shown(old, new)
    assert found[: len(lines)] == lines


def test_a_line_break_is_a_piece_of_its_own() -> None:
    (before, new, after) = word_diff("one\ntwo", "one\n\ntwo")
    assert (before.op, new.op, after.op) == (Op.KEPT, Op.IN, Op.KEPT)
    assert new.pieces == ("\n",)


def test_blanks_count() -> None:
    assert any(each.op is not Op.KEPT for each in word_diff("a b", "a  b"))


def test_lines_are_compared_without_being_joined_where_nothing_is_near() -> None:
    found = diff(["{", "a", "b", "c", "}"], ["{", "A", "b", "C", "}"])
    assert [(each.op.value, *each.pieces) for each in found] == [
        ("|", "{"),
        ("-", "a"),
        ("+", "A"),
        ("|", "b"),
        ("-", "c"),
        ("+", "C"),
        ("|", "}"),
    ]


def test_a_text_made_to_be_compared_for_ever_counts_as_replaced() -> None:
    old = ["x", *["a", "b"] * 5_000, "y"]
    new = ["x", *["b", "a"] * 5_000, "y"]
    found = diff(old, new)
    assert [each.op for each in found] == [Op.KEPT, Op.OUT, Op.IN, Op.KEPT]
    assert sum(len(each.pieces) for each in found if each.op is Op.OUT) == 10_000
