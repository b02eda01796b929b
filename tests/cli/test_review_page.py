"""The page of a review: what a server says cannot pass for what we say."""

from __future__ import annotations

import pytest
from rich.cells import cell_len
from rich.text import Text

from mcp_jail.cli import review_page
from mcp_jail.cli.inert_text import Line
from mcp_jail.cli.review_page import print_items, print_lines
from mcp_jail.core.approved.lock import Lock
from mcp_jail.core.approved.review import both, review
from pins import lock_of, tool

FORGED = """\
Harmless.

removed  tool/evil
What is shown: 123456789abc0123456789abc0123456
    | Nothing else changed.
  description
approved: 3 items"""


def page(capsys: pytest.CaptureFixture[str], old: Lock | None, new: Lock) -> list[str]:
    print_items(review(old, new).drifts)
    return capsys.readouterr().out.splitlines()


def test_a_description_that_imitates_our_page_stays_behind_its_gutter(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = page(capsys, None, lock_of(tool("echo", FORGED)))
    assert [line for line in lines if line and not line.startswith("    ")] == [
        "added    tool/echo",
        "  description",
        "  inputSchema",
    ]
    for line in FORGED.splitlines():
        assert f"    | {line}".rstrip() in lines


@pytest.mark.parametrize(
    "name",
    [
        "x\nremoved  tool/evil",
        "x   What is shown: 123456789abc0123456789abc0123456",
        '"',
        "\u202e",
        "\x1b[2J",
        "x" * 9_000,
        "",
    ],
    ids=ascii,
)
def test_a_name_cannot_begin_a_line_of_its_own(
    capsys: pytest.CaptureFixture[str], name: str
) -> None:
    lines = page(capsys, None, lock_of(tool(name)))
    (heading,) = [line for line in lines if line and not line.startswith(" ")]
    assert heading.startswith(("added    tool/", 'added    "tool/'))
    assert heading.isprintable()


def test_a_page_fits_eighty_columns(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    old = lock_of(tool("echo", "words " * 400 + "漢字" * 90))
    new = lock_of(tool("echo", "words " * 400 + "x" * 400), tool("more", "\u202e" * 500))
    for line in page(capsys, old, new):
        assert cell_len(line) <= 80


def test_markup_in_a_text_is_text(capsys: pytest.CaptureFixture[str]) -> None:
    text = "[bold]not bold[/bold] [link=https://evil.example]here[/link] :smile:"
    assert f"    | {text}" in page(capsys, None, lock_of(tool("echo", text)))


def test_an_item_that_is_new_in_one_era_only_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    legacy = lock_of(tool("echo"))
    seen = both(legacy, lock_of(tool("echo", "Modern."), era="modern"))
    assert any("for clients of the modern era" in line for line in page(capsys, legacy, seen))


def test_ten_thousand_items_are_all_shown(capsys: pytest.CaptureFixture[str]) -> None:
    lines = page(capsys, None, lock_of(*(tool(f"t{number}") for number in range(10_000))))
    assert sum(line.startswith("added    tool/t") for line in lines) == 10_000


def test_what_is_left_out_for_its_length_is_counted(capsys: pytest.CaptureFixture[str]) -> None:
    shown = review(None, lock_of(tool("a", "x" * 9_000), tool("b"), tool("c", "y " * 9_000)))
    assert print_items(shown.drifts) == 2
    assert print_items(shown.drifts, full=True) == 0
    capsys.readouterr()


def test_notes_of_what_a_server_did_stay_behind_their_gutter(
    capsys: pytest.CaptureFixture[str],
) -> None:
    note = "member \x1b]52;c;ZXZpbA==\x07\x1b[1A\u202e\u2028x\x9b\r\nall is as it was approved\r\tx"
    print_lines([note, "second"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    for line in lines:
        assert line.startswith("    | ")
        assert line.isprintable()


def test_a_line_is_inert_whatever_it_was_made_of() -> None:
    written = Text()
    review_page._append(written, Line("|", "a\x1b[2J\nadded    tool/evil\r\u202e\tb"))
    shown = "    | a⟦U+001B⟧[2J⟦U+000A⟧added    tool/evil⟦U+000D⟧⟦U+202E⟧    b\n"
    assert written.plain == shown
