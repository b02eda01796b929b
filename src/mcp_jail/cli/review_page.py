"""The page of a review: each item that differs, then the digest of what is shown.

Lines of ours begin in the first column or with a label; those of a server always stand behind a
gutter, so that no text of it can pass for a word of ours.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rich.text import Text

from mcp_jail.cli.inert_text import ALIKE, CUT, KEPT, MARGIN, Line, named, text_lines, written
from mcp_jail.cli.item_page import Sheet, parts_of
from mcp_jail.cli.out import console, counted, heading
from mcp_jail.core.approved.lock import Change, Drift
from mcp_jail.core.approved.review import SHORT_DIGEST, Review

_STYLES: Final = {"+": "green", "-": "red", KEPT: "dim", CUT: "bold yellow", ALIKE: "bold yellow"}
_CHANGES: Final = {
    Change.ADDED: "bold green",
    Change.CHANGED: "bold yellow",
    Change.REMOVED: "bold red",
    Change.UNCHANGED: "bold red",
}


def print_items(drifts: Iterable[Drift], *, full: bool = False, word: str = "") -> int:
    """Each item with all there is to read of it; how many texts were too long to be shown whole.

    `word` stands in place of what changed.
    """
    out = console()
    sheet = Sheet(out.width - MARGIN, cut=not full)
    cuts = 0
    for drift in drifts:
        page = Text()
        page.append(f"\n{word or drift.change.value:<8}", style=_CHANGES[drift.change])
        page.append(f" {named(drift.key)}{_era(drift)}\n", style="bold")
        for part in parts_of(drift, sheet):
            if part.label:
                page.append(f"  {part.label}\n")
            for line in part.lines:
                _append(page, line)
                cuts += line.gutter == CUT
        page.right_crop(1)
        out.print(page, soft_wrap=True)
    return cuts


def print_lines(texts: Iterable[str]) -> None:
    """Texts of somebody else, each line of them behind a gutter."""
    page = Text()
    out = console()
    for text in texts:
        for line in text_lines(text, out.width - MARGIN, cut=False):
            _append(page, line)
    page.right_crop(1)
    out.print(page, soft_wrap=True)


def print_cuts(cuts: int) -> None:
    """Say that something is there and was not shown, where it is so."""
    if cuts:
        heading(cuts_told(cuts))


def cuts_told(cuts: int) -> str:
    """How many texts were not shown whole, and what shows them."""
    return f"{counted(cuts, 'text is', 'texts are')} not shown whole; --full shows all"


def short_digest(review: Review) -> str:
    """The digest of what is shown, as far as a page shows it."""
    return review.digest[:SHORT_DIGEST]


def _append(page: Text, line: Line) -> None:
    page.append(written(line) + "\n", style=_STYLES.get(line.gutter, ""))


def _era(drift: Drift) -> str:
    """The era an item was seen in, where it was approved for the other one only."""
    if drift.approved is None or drift.seen is None or drift.approved.era == drift.seen.era:
        return ""
    return f"  (for clients of the {drift.seen.era} era; approved for those of the other)"
