"""`mcp-jail why NAME`: the last denials of a server, each with the policy line that made it.

Shows what was asked for, what did not hold, and the line of the policy as it stands now. Whether
the same call would be allowed after a change, `mcp-jail check` tells.
"""

from __future__ import annotations

import argparse
import sys

import msgspec

from mcp_jail.cli.entry_lines import plain_text, time_text
from mcp_jail.cli.out import bullet, heading
from mcp_jail.core.audit import Kind, Record
from mcp_jail.core.policy import Verdict
from mcp_jail.errors import ExitCode
from mcp_jail.proxy.prepare import Judged, audit_path, judge
from mcp_jail.store.history import last_records

EXAMPLE = "  mcp-jail why filesystem -n 3"

# Entries that are looked through for denials: the last few days of a busy server.
LOOKED_THROUGH = 20_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the name and how many."""
    parser.add_argument("name", metavar="NAME", help="the policy's name")
    parser.add_argument("-n", type=int, default=5, metavar="N", help="the last N denials (5)")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")


def run(arguments: argparse.Namespace) -> int:
    """Print the denials, the newest last; 1 when there are none."""
    judged = judge(name=arguments.name, policy_file=None)
    denials = [
        each for each in last_records(audit_path(judged), LOOKED_THROUGH) if _is_denial(each)
    ]
    shown = denials[-arguments.n :] if arguments.n > 0 else []
    for record in shown:
        if arguments.json:
            sys.stdout.write(msgspec.json.encode(record).decode() + "\n")
        else:
            _for_people(record, judged)
    if not shown and not arguments.json:
        bullet("nothing was denied in what the audit holds")
    return ExitCode.OK if shown else ExitCode.NEGATIVE


def _is_denial(record: Record) -> bool:
    return record.kind is Kind.CALL and record.verdict != Verdict.ALLOW.value


def _for_people(record: Record, judged: Judged) -> None:
    heading(f"{time_text(record.t)}  {plain_text(record.method)} {plain_text(record.name)}")
    if record.arguments:
        bullet(f"with {plain_text(msgspec.json.encode(record.arguments).decode())}")
    if record.verdict == Verdict.ASK.value:
        bullet("a person would have to approve it, and nobody can be asked yet")
    else:
        bullet(plain_text(record.reason))
    bullet(f"by {plain_text(record.rule)}", note=_source(record, judged))


def _source(record: Record, judged: Judged) -> str:
    """The policy line that the entry names, as the file has it now."""
    if not record.where:
        return "the default of mcp-jail; the policy does not say otherwise"
    lines = judged.file.text.splitlines()
    number = record.where.rsplit(":", 2)[-2] if record.where.count(":") > 1 else ""
    if not number.isdecimal() or not 0 < int(number) <= len(lines):
        return f"{record.where} (the file has changed since)"
    return f"{record.where}: {plain_text(lines[int(number) - 1].strip())}"
