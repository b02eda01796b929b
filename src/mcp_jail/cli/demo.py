"""`mcp-jail demo`: one server that robs you, run without a jail and in one.

Starts a small MCP server that comes with mcp-jail and misbehaves as much as it can, twice: as
clients start servers, and by `mcp-jail run`. All it goes for is bait in a throw-away directory; it
touches no file and no network of yours. Every row is decided from outside: by files on disk, by
what came to listeners and to the model, by the processes left. Ends with 1 if a row is not as it
should be, and says which.
"""

from __future__ import annotations

import argparse
import sys
from typing import Final

import msgspec
from rich.text import Text

from mcp_jail.cli.for_programs import json_page
from mcp_jail.cli.out import console
from mcp_jail.demo.attempts import Attempt, Finding, Outcome, Sign
from mcp_jail.demo.play import Comparison, Row, play
from mcp_jail.errors import ExitCode

EXAMPLE = "  mcp-jail demo"

_BAD: Final = "bold red"
_GOOD: Final = "bold green"

_INTRODUCTION: Final = "A note-taking MCP server that robs you, run twice. All it takes is bait."
_HEADINGS: Final = tuple(
    Text(each, style="bold") for each in ("what it tried", "without a jail", "with mcp-jail")
)
# Columns of the first two, with what parts them from the next: all fits in 80.
_WIDTHS: Final = (41, 16, 0)

_NEXT: Final = (
    ("Put it before a server of yours:", "mcp-jail run --help"),
    ("See what that server may touch: ", "mcp-jail show NAME"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the one option."""
    parser.add_argument("--json", action="store_true", help="print the findings for a program")


def run(arguments: argparse.Namespace) -> int:
    """Run both and print the table."""
    return report(play(), as_json=arguments.json)


def report(comparison: Comparison, *, as_json: bool) -> int:
    """Print a comparison; 0 only if each attempt got out without a jail and was held in one."""
    if as_json:
        sys.stdout.write(_as_json(comparison))
    else:
        _for_people(comparison)
    return ExitCode.NEGATIVE if comparison.failed else ExitCode.OK


def _for_people(comparison: Comparison) -> None:
    out = console()
    out.print(_INTRODUCTION)
    out.print()
    out.print(_line(_HEADINGS), soft_wrap=True)
    for section, rows in _sections(comparison.rows):
        out.print(Text(section, style="dim"), soft_wrap=True)
        for row in rows:
            tried = Text(f"  {row.attempt.tried}")
            bare, jailed = (_cell(row.attempt, each) for each in (row.bare, row.jailed))
            out.print(_line((tried, bare, jailed)), soft_wrap=True)
    out.print()
    for line in _verdict(comparison):
        out.print(line, soft_wrap=True)
    for why, command in _NEXT:
        out.print(Text(f"{why} ").append(command, style="bold"), soft_wrap=True)


def _line(cells: tuple[Text, ...]) -> Text:
    """Cells in columns; nothing after the last one, so that it can be pasted anywhere."""
    line = Text()
    for cell, width in zip(cells, _WIDTHS, strict=True):
        line.append_text(cell).append(" " * max(0, width - cell.cell_len))
    return line


def _sections(rows: tuple[Row, ...]) -> tuple[tuple[str, list[Row]], ...]:
    by_call = [row for row in rows if row.attempt.sign is Sign.CALL]
    alone = [row for row in rows if row.attempt.sign is not Sign.CALL]
    return (
        ("when you ask it to summarize your notes", alone),
        ("when the model is talked into a call", by_call),
    )


def _cell(attempt: Attempt, finding: Finding) -> Text:
    match finding.outcome:
        case Outcome.OUT:
            return Text(attempt.success.upper(), style=_BAD)
        case Outcome.UNTRIED:
            return Text("not tried", style="bold yellow")
        case Outcome.HELD:
            return Text().append("held", style=_GOOD).append(f"  {finding.held_by}", style="dim")


def _verdict(comparison: Comparison) -> list[Text]:
    rows = comparison.rows
    out_bare = sum(row.bare.outcome is Outcome.OUT for row in rows)
    out_jailed = sum(row.jailed.outcome is Outcome.OUT for row in rows)
    line = Text(f"{out_bare} of {len(rows)} got out without a jail, ")
    line.append(f"{out_jailed} with mcp-jail", style=_BAD if comparison.failed else _GOOD)
    line.append(f". {comparison.seconds:.1f} s.")
    return [line, *(Text(_failure(row), style=_BAD) for row in comparison.failed)]


def _failure(row: Row) -> str:
    if row.jailed.outcome is Outcome.OUT:
        places = ", ".join(row.jailed.seen)
        return f"NOT HELD: {row.attempt.tried} (seen from outside: {places})"
    if row.jailed.outcome is Outcome.UNTRIED:
        return f"NOT TRIED in the jail: {row.attempt.tried}"
    return f"PROVES NOTHING: {row.attempt.tried} did not get out without a jail either"


def _as_json(comparison: Comparison) -> str:
    findings = {
        "ok": not comparison.failed,
        "seconds": round(comparison.seconds, 3),
        "rows": [
            {
                "name": row.attempt.name,
                "tried": row.attempt.tried,
                "without_a_jail": msgspec.to_builtins(row.bare),
                "with_mcp_jail": msgspec.to_builtins(row.jailed),
            }
            for row in comparison.rows
        ],
        "failed": [row.attempt.name for row in comparison.failed],
    }
    return json_page(findings)
