"""The lines between the keeper and the program that shows a notification."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_bus import notice
from mcp_jail.asks.notice import (
    LINE_LIMIT,
    TEXT_LIMIT,
    Said,
    notice_line,
    read_notice,
    read_said,
    said_line,
)
from mcp_jail.config.checks import REMEMBER_LEAST, REMEMBER_MOST


@given(st.text(), st.text())
def test_an_ask_comes_as_it_was_given(tool: str, arguments: str) -> None:
    ask = notice("", tool=tool, arguments=arguments)
    assert read_notice(notice_line(ask)) == ask


@pytest.mark.parametrize("long", ["tool", "arguments"])
def test_a_long_ask_is_cut_to_one_line_and_says_that_it_is_not_whole(long: str) -> None:
    line = notice_line(notice("", **{long: "\x01" * (TEXT_LIMIT + 1)}))
    assert len(line) < LINE_LIMIT
    assert not read_notice(line).whole
    assert read_notice(notice_line(notice("", **{long: "x" * TEXT_LIMIT}))).whole


@pytest.mark.parametrize(
    "change",
    [
        {"ticket": "abc234"},
        {"ticket": "ABC2345"},
        {"ticket": "<b>AB2"},
        {"seconds": 0},
        {"seconds": -1},
        {"seconds": 1e9},
        {"tool": 7},
        {"more": 1},
    ],
    ids=str,
)
def test_an_ask_of_another_shape_is_refused(change: dict[str, Any]) -> None:
    line = msgspec.json.encode(msgspec.to_builtins(notice("")) | change)
    with pytest.raises(ValueError, match=r"Expected|Object"):
        read_notice(line)


@pytest.mark.parametrize("seconds", [REMEMBER_LEAST, REMEMBER_MOST])
def test_an_ask_may_stand_as_long_as_a_policy_says(seconds: float) -> None:
    assert read_notice(notice_line(notice("", seconds=seconds))).seconds == seconds


def test_an_answer_comes_as_it_was_given() -> None:
    said = Said(answer="deny", pid=7)
    assert read_said(said_line(said)) == said


@pytest.mark.parametrize(
    "output",
    [
        b"",
        b"\n",
        b'{"answer":"allow"}',  # no end: it was cut
        b'{"answer":"allow"}\n{"answer":"allow"}\n',
        b'{"answer":"maybe"}\n',
        b'{"answer":true}\n',
        b"allow\n",
        b'{"answer":"allow","x":"%s"}\n' % (b"x" * LINE_LIMIT),
    ],
    ids=lambda output: str(output[:40]),
)
def test_anything_but_one_answer_is_none(output: bytes) -> None:
    assert read_said(output) is None
