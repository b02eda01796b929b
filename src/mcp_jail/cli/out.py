"""What commands print for people: headings, bullets, tables; colour only on a terminal.

Programs get `--json` from the commands themselves. Text of a server is made inert before it comes
here.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

# Columns where the output is no terminal: what fits a mail or a ticket.
PLAIN_WIDTH = 80


def console() -> Console:
    """A console on stdout that never reads markup, emoji or links out of what it prints."""
    width = None if sys.stdout.isatty() else int(os.environ.get("COLUMNS", PLAIN_WIDTH))
    return Console(markup=False, emoji=False, highlight=False, width=width)


def heading(text: str) -> None:
    """A heading with an empty line before it."""
    out = console()
    out.print()
    out.print(Text(text, style="bold"))


def bullet(text: str, *, note: str = "") -> None:
    """A line of a list, and what there is to add to it in a line below."""
    out = console()
    out.print(Text(f"  {text}"), soft_wrap=True)
    if note:
        out.print(Text(f"    {note}", style="dim"), soft_wrap=True)


def table(columns: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    """A table without lines; long cells fold instead of being cut."""
    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=bool(any(columns)))
    for column in columns:
        grid.add_column(column, overflow="fold", header_style="bold")
    for row in rows:
        grid.add_row(*(Text(cell) for cell in row))
    console().print(grid)
