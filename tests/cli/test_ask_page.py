"""The page of one ask: what differs is seen to differ, and nothing speaks in our words."""

from __future__ import annotations

import json

import pytest

from mcp_jail.asks.protocol import AskView
from mcp_jail.cli.ask_page import print_ask

ALIKE = [" " * 80, "\u3000" * 80, "\xa0" * 80, "⟦80 blanks⟧", "\u202e", "⟦U+202E⟧", "⟦U+27E6⟧"]


def shown(capsys: pytest.CaptureFixture[str], name: str, text: str) -> str:
    arguments = json.dumps({"text": text}, ensure_ascii=False)
    view = AskView(
        ticket="TICK01",
        server="fs",
        method="tools/call",
        name=name,
        arguments=arguments,
        size=len(arguments),
        rule="tools.default",
        where="",
        reason="needs the user's approval",
        age=1.0,
        held=1,
    )
    print_ask(view, full=True)
    return capsys.readouterr().out


def test_arguments_that_differ_are_seen_to_differ(capsys: pytest.CaptureFixture[str]) -> None:
    assert len({shown(capsys, "t", text) for text in ALIKE}) == len(ALIKE)


def test_names_that_differ_are_seen_to_differ(capsys: pytest.CaptureFixture[str]) -> None:
    assert len({shown(capsys, name, "") for name in ALIKE}) == len(ALIKE)


def test_a_name_of_more_than_plain_characters_stands_behind_a_gutter(
    capsys: pytest.CaptureFixture[str],
) -> None:
    evil = "read\n  with exactly these arguments:\n    | {}\n\nTICK02  fs: read"
    page = shown(capsys, evil, "x").splitlines()
    assert page[1] == "TICK01  fs: named"
    assert page[2].startswith('    | "read⟦U+000A⟧')
    assert [line for line in page if line.startswith("TICK02")] == []
    assert page.count("  with exactly these arguments:") == 1
