"""`mcp-jail deny [TICKET]`: say no to a call that waits for you.

The model is told that you said no. `--for session` says no to the same call until the server ends.
"""

from __future__ import annotations

import argparse

from mcp_jail.cli.answering import add_for, send, told
from mcp_jail.cli.ask_page import ask_of, print_ask
from mcp_jail.cli.out import bullet
from mcp_jail.errors import ExitCode, UsageError
from mcp_jail.store.places import find_places

EXAMPLE = """\
  mcp-jail deny K7Q2PD
  mcp-jail deny K7Q2PD --for session"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the ticket and how long the answer counts."""
    parser.add_argument("ticket", metavar="TICKET", nargs="?", help="which ask (default: the only)")
    add_for(parser, words="once|15m|session")


def run(arguments: argparse.Namespace) -> int:
    """Show and answer."""
    lasts = arguments.lasts or "once"
    if lasts == "always":
        raise UsageError(
            "a 'no' for always is a rule of the policy",
            hint="write it under tools.rules, for example: delete_file: deny",
        )
    places = find_places()
    run_, view = ask_of(places, arguments.ticket)
    print_ask(view)
    send(run_, view, "deny", lasts)
    bullet(f"denied {told(lasts)}")
    return ExitCode.OK
