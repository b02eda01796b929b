"""What commands print for people: headings, bullets, rows; colour only on a terminal.

Programs get `--json` from the commands themselves. Text of a server is made inert before it comes
here. Words are never broken, so that a path can be copied; a line that is one long word is long.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from itertools import zip_longest
from textwrap import wrap

from rich.console import Console
from rich.text import Text

# Columns where the output is no terminal: what fits a mail or a ticket.
PLAIN_WIDTH = 80

# Columns below which folding would leave a word a line; what is narrower folds by itself.
MIN_WIDTH = 40


def console() -> Console:
    """A console on stdout that never reads markup, emoji or links out of what it prints."""
    return _Console(markup=False, emoji=False, highlight=False, width=_width())


def is_terminal() -> bool:
    """Whether a person looks at stdout as it comes."""
    return sys.stdout.isatty()


def heading(text: str) -> None:
    """A heading with an empty line before it."""
    out = console()
    out.print()
    out.print(Text(text, style="bold"))


def bullet(text: str, *, note: str = "") -> None:
    """A line of a list, and what there is to add to it in a line below; neither is folded."""
    out = console()
    out.print(Text(f"  {text}"), soft_wrap=True)
    if note:
        out.print(Text(f"    {note}", style="dim"), soft_wrap=True)


def folded(text: str, *, note: str = "") -> None:
    """A bullet whose text is folded between words."""
    out = console()
    for line in _lines(text, out.width, "  "):
        out.print(Text(line), soft_wrap=True)
    for line in _lines(note, out.width, "    "):
        out.print(Text(line, style="dim"), soft_wrap=True)


def rows(table: Sequence[tuple[str, ...]]) -> None:
    """Columns as wide as their cells; the last one is folded, its later lines are notes."""
    out = console()
    widths = [max(map(len, cells)) for cells in zip(*table, strict=True)][:-1] if table else []
    for *first, last in table:
        head = "".join(f"{cell:<{width}}  " for cell, width in zip(first, widths, strict=True))
        main, *more = last.split("\n")
        for number, line in enumerate(_lines(main, out.width, " " * len(head), deeper="  ")):
            out.print(Text(head + line[len(head) :] if number == 0 else line), soft_wrap=True)
        for text in more:
            for line in _lines(text, out.width, " " * len(head), deeper="  "):
                out.print(Text(line, style="dim"), soft_wrap=True)


def side_by_side(heads: tuple[str, str], pairs: Sequence[tuple[str, str]]) -> None:
    """Two columns of one width, each folded between words."""
    out = console()
    half = (out.width - 2) // 2
    out.print(Text(f"{heads[0]:<{half}}  {heads[1]}", style="bold"))
    for pair in pairs:
        left, right = (wrap(text, half, subsequent_indent="  ") for text in pair)
        for one, other in zip_longest(left, right, fillvalue=""):
            out.print(Text(f"{one:<{half}}  {other}".rstrip()), soft_wrap=True)


def counted(number: int, one: str, many: str) -> str:
    """A number with its noun."""
    return f"{number} {one if number == 1 else many}"


class _Console(Console):
    """A console for which a reader that has seen enough is no failure, as everywhere else."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def _lines(text: str, width: int, indent: str, *, deeper: str = "") -> list[str]:
    space = max(width, len(indent) + MIN_WIDTH)
    return wrap(
        text.lstrip(),
        space,
        initial_indent=indent + (" " * (len(text) - len(text.lstrip()))),
        subsequent_indent=indent + deeper,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _width() -> int | None:
    """COLUMNS where it is a width; else the terminal's own (None) or the plain one."""
    text = os.environ.get("COLUMNS", "")
    if text.isdecimal() and int(text) > 0:
        return max(int(text), MIN_WIDTH)
    if not is_terminal():
        return PLAIN_WIDTH
    return max(os.get_terminal_size(sys.stdout.fileno()).columns, MIN_WIDTH)
