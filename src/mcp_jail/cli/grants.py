"""`mcp-jail grants`: the answers that still count, and taking one back.

An answer counts for one call unless you said otherwise, and never longer than the server runs.
What you allowed for always is a rule of the policy: take it out there.
"""

from __future__ import annotations

import argparse
import sys

import msgspec

from mcp_jail.asks.calling import call, call_all
from mcp_jail.asks.protocol import GrantView
from mcp_jail.cli.ask_page import print_grants, tell_silent
from mcp_jail.cli.entry_lines import plain_text
from mcp_jail.cli.for_programs import json_line
from mcp_jail.cli.out import bullet
from mcp_jail.errors import ExitCode, UsageError
from mcp_jail.store.places import find_places

EXAMPLE = """\
  mcp-jail grants
  mcp-jail grants --revoke K7Q2PD"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what to take back and the form of the output."""
    parser.add_argument("--revoke", metavar="TICKET", help="take this answer back")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")


def run(arguments: argparse.Namespace) -> int:
    """Print what counts; 1 when nothing does."""
    places = find_places()
    said, silent = call_all(places, "grants")
    tell_silent(silent)
    found = [
        (each.run, view)
        for each in said
        for view in msgspec.convert(each.ok.get("grants", []), list[GrantView])
    ]
    if arguments.revoke is not None:
        named = [run for run, view in found if view.ticket == arguments.revoke.upper()]
        if not named:
            raise UsageError(
                f"no answer counts under '{plain_text(arguments.revoke)}'",
                hint="what you allowed for always is a rule of the policy: take it out there",
            )
        call(named[0], "revoke", ticket=arguments.revoke.upper())
        bullet(f"taken back: {arguments.revoke.upper()}")
        return ExitCode.OK
    views = [view for _, view in found]
    if arguments.json:
        for view in views:
            sys.stdout.write(json_line(view))
    else:
        print_grants(views)
        if not views and not silent:
            bullet("no answer counts any more")
    return ExitCode.OK if views else ExitCode.NEGATIVE
