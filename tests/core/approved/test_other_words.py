"""How often a server has said something else of an item."""

from __future__ import annotations

import pytest

from mcp_jail.core.approved import other_words
from mcp_jail.core.approved.lock import Pin
from mcp_jail.core.approved.other_words import OtherWords


def pin(digest: str, era: str = "legacy") -> Pin:
    return Pin(digest=digest, era=era, value={})


def test_words_that_come_back_are_counted_as_changed_twice() -> None:
    words = OtherWords()
    for digest in ("a", "a", "b", "a"):
        words.note("tool/t", pin(digest))
    assert (words.count("tool/t"), words.count("tool/other")) == (2, 0)


def test_each_era_has_a_form_of_its_own() -> None:
    words = OtherWords()
    words.note("tool/t", pin("a"))
    words.note("tool/t", pin("b", "modern"))
    assert words.count("tool/t") == 0


def test_beyond_the_limit_all_counts_as_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(other_words, "SEEN_LIMIT", 2)
    words = OtherWords()
    words.note("tool/t", pin("a"))
    words.note("tool/t", pin("b"))
    before = words.count("tool/t")
    words.note("tool/u", pin("a"))
    words.note("tool/v", pin("a"))
    assert words.count("tool/t") > before
