"""What a notification says: whatever a model or a server writes, in it nothing acts or hides."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_bus import notice
from mcp_jail.asks.card import ARGUMENTS_SHOWN, Card, Screen, card, inert
from mcp_jail.core.text.hidden import has_hidden


def shown(*, has_markup: bool = True, is_pressed_by_persons: bool = True, **more: Any) -> Card:
    return card(notice("", **more), Screen(True, has_markup, is_pressed_by_persons))


@given(st.text(), st.text(), st.text(), st.booleans())
def test_no_text_acts_hides_or_begins_a_line(
    server: str, tool: str, arguments: str, has_markup: bool
) -> None:
    made = shown(server=server, tool=tool, arguments=arguments, has_markup=has_markup)
    first, second, third = made.body.split("\n")
    assert "mcp-jail allow ABC234" in first
    assert second.startswith("tool: ")
    assert third.startswith("arguments: ")
    assert not has_hidden(made.title + made.body)
    if has_markup:
        assert re.sub("&(?:amp|lt|gt);", "", made.body).count("&") == 0
        assert not set("<>") & set(made.body)


@given(st.text(max_size=60))
def test_a_reader_of_markup_shows_what_a_reader_of_plain_text_shows(arguments: str) -> None:
    plain, markup = (shown(arguments=arguments, has_markup=has) for has in (False, True))
    assert html.unescape(markup.body) == plain.body


@given(st.text())
def test_a_title_is_safe_as_plain_text_and_as_markup(tool: str) -> None:
    assert re.fullmatch(r"[\w./:@ -]+ \(ABC234\)", shown(tool=tool, server=tool).title)


@pytest.mark.parametrize(
    "more",
    [
        {"arguments": "x" * (ARGUMENTS_SHOWN + 1)},
        {"arguments": "{" + " " * 200 + "}", "whole": False},
        {"arguments": "\u200b" * 100 + "a\u200b" * 100},
        {"tool": "t" * 81},
        {"whole": False},
    ],
    ids=["long", "shortened", "hidden", "long name", "said to be shortened"],
)
def test_who_cannot_be_shown_all_is_not_offered_to_allow_it(more: dict[str, Any]) -> None:
    made = shown(**more)
    assert made.actions == ("deny", "Deny")
    assert made.body.startswith("Too long to be allowed here. Read it whole and answer in a")


def test_what_can_be_shown_whole_can_be_allowed_or_denied() -> None:
    made = shown(arguments="x" * ARGUMENTS_SHOWN)
    assert made.actions == ("allow", "Allow", "deny", "Deny")
    assert made.body.startswith("Answer here, or in a terminal: ")
    assert "x" * ARGUMENTS_SHOWN in made.body


def test_where_programs_can_press_a_button_there_is_none_that_allows() -> None:
    made = shown(is_pressed_by_persons=False)
    assert made.actions == ("deny", "Deny")
    assert "Deny here, or answer in a terminal: mcp-jail allow ABC234" in made.body


def test_an_answer_that_was_not_taken_is_told_and_not_asked_for_again() -> None:
    made = shown(refused="a process that\nan MCP client started")
    assert made.actions == ()
    assert made.body.split("\n")[0] == (
        "Not taken, as it came from a process that⟦U+000A⟧an MCP client started. "
        "Answer in a terminal: mcp-jail allow ABC234, or mcp-jail deny ABC234"
    )


def test_a_long_text_is_cut_and_says_by_how_much() -> None:
    body = shown(arguments="x" * 5_000).body
    assert f"… ({5_000 - ARGUMENTS_SHOWN:,} characters more)" in body
    assert len(body) < 600


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\nb\r\tc", "a⟦U+000A⟧b⟦U+000D⟧⟦U+0009⟧c"),
        ("a\u202eb", "a⟦U+202E⟧b"),
        ("a\x1b[2J", "a⟦U+001B⟧[2J"),
        ("a" + " " * 50 + "b", "a ⟦50 blanks⟧ b"),
        ("a\u2800b\u2003c", "a⟦U+2800⟧b⟦U+2003⟧c"),
        ("two  words", "two  words"),
    ],
)
def test_what_is_not_seen_is_spelled_out(text: str, expected: str) -> None:
    assert inert(text) == expected
