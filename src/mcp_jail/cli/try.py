# ruff: noqa: N999 - the command is called so
"""`mcp-jail try -- COMMAND...`: look at an unknown server in the tightest jail.

No policy, no client, none of your directories, no network, a home of its own that is gone
afterwards. Shows all that the server would tell a model, what it wrote, what it runs, and the end
of its error stream. No tool is called. With --starter NAME, a first policy is printed instead.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any, Final

from mcp_jail.cli.for_programs import json_page
from mcp_jail.cli.inert_text import named
from mcp_jail.cli.out import bullet, counted, folded, heading, rows
from mcp_jail.cli.review_page import print_cuts, print_items, print_lines
from mcp_jail.cli.seeing import SAID
from mcp_jail.cli.show import divided, mount_row
from mcp_jail.cli.starter import first_policy
from mcp_jail.core.approved.lock import drift
from mcp_jail.errors import ExitCode, UsageError
from mcp_jail.proxy.live import Look, LookError, look
from mcp_jail.proxy.prepare import Prepared
from mcp_jail.proxy.talk import Talk
from mcp_jail.proxy.unknown import prepare_unknown
from mcp_jail.sandbox.launch import Jail
from mcp_jail.sandbox.traces import Traces, traces
from mcp_jail.store.places import checked_name

EXAMPLE = """\
  mcp-jail try -- mcp-server-filesystem /tmp
  mcp-jail try --starter fs -- mcp-server-filesystem /tmp > ~/.config/mcp-jail/policies/fs.yaml"""

TAKES_COMMAND = True
USAGE = "mcp-jail try [OPTIONS] -- COMMAND..."

# Seconds a server is watched after it has listed what it has.
WATCHED: Final = 1.0

# Characters of a path that a server wrote to; deep homes have 100 before its own begin.
PATH_SHOWN: Final = 400

# Files and processes that a page names.
SHOWN: Final = 50


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add how to look and what to print."""
    parser.set_defaults(name=None, policy=None)
    parser.add_argument(
        "--seconds",
        type=float,
        default=WATCHED,
        metavar="N",
        help=f"watch it for N seconds after it has listed all ({WATCHED:g})",
    )
    parser.add_argument("--full", action="store_true", help="cut no text, however long")
    parser.add_argument("--starter", metavar="NAME", help="print a first policy of this name")
    parser.add_argument("--json", action="store_true", help="print what was seen for a program")


def run(arguments: argparse.Namespace) -> int:
    """Look, and print; 1 when the server does not answer or not to the end."""
    if not arguments.command:
        raise UsageError("no server to try", hint="mcp-jail try -- COMMAND...")
    if arguments.starter is not None:
        checked_name(arguments.starter)
    prepared = prepare_unknown(arguments.command)
    found: list[Traces] = []

    def watch(jail: Jail, talk: Talk) -> None:
        talk.listen(arguments.seconds)
        server = None if talk.ended or talk.fault else jail.server_pid()
        if server is not None:
            found[:] = [traces(prepared.plan, server, jail.init_pid)]

    seen = look(prepared, is_recorded=False, watch=watch)
    left = found[0] if found else None
    if arguments.json:
        sys.stdout.write(_as_json(prepared, seen, left))
    elif arguments.starter is not None:
        if not seen.is_open:
            raise LookError("the server does not answer", said=seen.said[-SAID:])
        first = first_policy(arguments.starter, arguments.command, seen.seen)
        sys.stdout.write(first.text)
        if first.left_out:
            told = ", ".join(map(named, first.left_out[:SHOWN]))
            why = "no rule can have such a name, so the default holds"
            sys.stderr.write(f"mcp-jail: warning: without a rule: {told}; {why}\n")
    else:
        _for_people(prepared, seen, left, full=arguments.full)
    return ExitCode.OK if seen.is_open and not seen.broken else ExitCode.NEGATIVE


def _for_people(prepared: Prepared, seen: Look, left: Traces | None, *, full: bool) -> None:
    heading("An unknown server, in the tightest jail")
    command = " ".join(named(word) for word in prepared.plan.command)
    yours, _ = divided(prepared.plan)
    rows([("command", command), *map(mount_row, yours)])
    for lint in prepared.lints:
        folded(lint.message, note=lint.hint)
    drifts = drift(None, seen.seen)
    heading(f"What it would tell a model: {counted(len(drifts), 'item', 'items')}")
    print_cuts(print_items(drifts, full=full, word="says"))
    if not seen.is_open:
        folded("it does not answer" + (f": {seen.ended}" if seen.ended else ""))
    elif seen.broken:
        kinds = ", ".join(f"{kind.value}s" for kind in seen.broken)
        folded(f"it does not list its {kinds} to the end")
    if seen.notes:
        heading("What it did that no server should")
        print_lines(seen.notes)
    _print_traces(left)
    heading("What it tried on the network (there is none here)")
    tried = list(dict.fromkeys((entry.method, entry.name) for entry in seen.tried))
    for what, where in tried[:SHOWN]:
        bullet(f"{what} {named(where)}")
    if len(tried) > SHOWN:
        folded(f"and {len(tried) - SHOWN:,} more")
    if not tried:
        folded("nothing")
    heading("The end of its error stream")
    print_lines(seen.said or ("(nothing)",))
    if seen.is_open:
        heading("What now")
        folded("a first policy for it: the same command with --starter NAME")


def _print_traces(left: Traces | None) -> None:
    heading("What it wrote (gone now)")
    if left is None:
        folded("it ended before that could be looked at")
        return
    for trace in left.files[:SHOWN]:
        size = f", {trace.size:,} bytes" if trace.kind == "file" else ""
        bullet(f"{named(trace.path, PATH_SHOWN)} ({trace.kind}{size})")
    if len(left.files) > SHOWN:
        folded(f"and {len(left.files) - SHOWN:,} more{' at least' if left.is_cut else ''}")
    if not left.files:
        folded("nothing")
    heading("What it runs")
    for words in left.processes[:SHOWN]:
        bullet(" ".join(named(word) for word in words))
    if len(left.processes) > SHOWN:
        folded(f"and {len(left.processes) - SHOWN:,} more")


def _as_json(prepared: Prepared, seen: Look, left: Traces | None) -> str:
    shown: dict[str, Any] = {
        "command": list(prepared.plan.command),
        "opened": seen.is_open,
        "ended": seen.ended,
        "broken": [kind.value for kind in seen.broken],
        "items": {
            key: [{"era": pin.era, "value": pin.value} for pin in pins]
            for key, pins in seen.seen.items.items()
        },
        "notes": list(seen.notes),
        "network": [
            {"what": entry.method, "where": entry.name, "why": entry.reason} for entry in seen.tried
        ],
        "files": None
        if left is None
        else [{"path": t.path, "kind": t.kind, "size": t.size} for t in left.files],
        "processes": None if left is None else [list(words) for words in left.processes],
        "stderr": list(seen.said),
    }
    return json_page(shown)
