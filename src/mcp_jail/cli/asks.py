"""`mcp-jail asks`: the calls that wait for your answer.

Shows every ask of every server that runs, with the exact arguments. Answer with `mcp-jail allow
TICKET` or `mcp-jail deny TICKET`.
"""

from __future__ import annotations

import argparse
import sys

from mcp_jail.cli.ask_page import open_asks, print_ask, tell_silent
from mcp_jail.cli.for_programs import json_line
from mcp_jail.cli.out import bullet
from mcp_jail.errors import ExitCode
from mcp_jail.store.places import find_places

EXAMPLE = "  mcp-jail asks"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the form of the output."""
    parser.add_argument("--json", action="store_true", help="one JSON object a line")


def run(arguments: argparse.Namespace) -> int:
    """Print what waits; 1 when nothing does."""
    found, silent = open_asks(find_places())
    for _, view in found:
        if arguments.json:
            sys.stdout.write(json_line(view))
        else:
            print_ask(view)
    tell_silent(silent)
    if found and not arguments.json:
        bullet("answer in a terminal: mcp-jail allow TICKET, or mcp-jail deny TICKET")
    if not found and not silent and not arguments.json:
        bullet("nothing waits for an answer")
    return ExitCode.OK if found else ExitCode.NEGATIVE
