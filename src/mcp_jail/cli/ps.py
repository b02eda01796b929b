"""`mcp-jail ps`: the servers that run in jails now.

What holds each of them, what it may be told without you, and what it was told so far.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any, Literal

from rich.table import Table

from mcp_jail.asks.calling import call_all
from mcp_jail.cli.ask_page import age, tell_silent
from mcp_jail.cli.entry_lines import plain_text
from mcp_jail.cli.for_programs import json_line
from mcp_jail.cli.out import bullet, console, folded
from mcp_jail.cli.running_rows import differences
from mcp_jail.errors import ExitCode
from mcp_jail.store.places import find_places

EXAMPLE = "  mcp-jail ps"

# Head of a column, the member of a status, and whether it is a number.
_COLUMNS = (
    ("NAME", "name", False),
    ("PID", "pid", True),
    ("SANDBOX", "sandbox", False),
    ("NETWORK", "network", False),
    ("TOOLS", "tools_default", False),
    ("PROOF", "proof", False),
    ("ASKS", "asks", True),
    ("CALLS", "calls", True),
    ("DENIED", "denials", True),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the form of the output."""
    parser.add_argument("--json", action="store_true", help="one JSON object a line")


def run(arguments: argparse.Namespace) -> int:
    """Print what runs; 1 when nothing does."""
    said, silent = call_all(find_places(), "status")
    tell_silent(silent)
    found = [each.ok for each in said]
    if arguments.json:
        for status in found:
            sys.stdout.write(json_line(status))
    elif found:
        console().print(_table(found, time.time()))
        for status in found:
            for each in differences(status):
                folded(f"{plain_text(str(status.get('name', '')))}: {each}")
    elif not silent:
        bullet("no server runs in a jail now")
    return ExitCode.OK if found else ExitCode.NEGATIVE


def _table(found: list[dict[str, Any]], now: float) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for head, member, is_number in _COLUMNS:
        is_name = member == "name"  # the only one that may be long
        side: Literal["left", "right"] = "right" if is_number else "left"
        table.add_column(head, justify=side, no_wrap=not is_name, overflow="fold")
    table.add_column("SINCE", justify="right", no_wrap=True)
    for status in found:
        cells = [plain_text(str(status.get(member, ""))) for _, member, _ in _COLUMNS]
        since = age(max(0.0, now - status.get("since", 0) / 1000))
        table.add_row(*cells, since)
    return table
