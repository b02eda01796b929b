"""`mcp-jail unwrap [FILE...|--client ID|--all]`: take mcp-jail out of your clients' files again.

A file that is as `wrap` left it becomes what it was, to the byte. Where the client has written it
anew since, each entry goes back by what it says. Policies, audits and locks stay.
"""

from __future__ import annotations

import argparse
import os
import sys

from mcp_jail.cli.client_files import add_file_arguments, circumstances, targets_of
from mcp_jail.cli.out import counted, heading
from mcp_jail.cli.wrap import carry_out, exit_code, refuse_unknown
from mcp_jail.cli.wrap_report import UNWRAP, agreed, as_json, notes_of, print_notes, print_plans
from mcp_jail.clients.applying import apply_unwrap
from mcp_jail.clients.planning import Circumstances
from mcp_jail.clients.plans import FilePlan, Group
from mcp_jail.clients.running import running
from mcp_jail.clients.targets import at
from mcp_jail.clients.unplanning import plan_gone, plan_unwrap
from mcp_jail.errors import ExitCode
from mcp_jail.store.wrapped import WrappedFile, all_wrapped, forget_all_wrapped

EXAMPLE = """\
  mcp-jail unwrap --all --dry-run
  mcp-jail unwrap --client cursor"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the files and how to go about it."""
    add_file_arguments(parser, "unwrap")


def run(arguments: argparse.Namespace) -> int:
    """Show, ask, write; 1 when something was refused or a person said no."""
    given = circumstances(arguments)
    gone = _gone(given, arguments)
    targets, left = targets_of(arguments, given.ground, frozenset(each.path for each in gone))
    plans = [*(plan_unwrap(given, target) for target in targets), *map(plan_gone, gone), *left]
    refuse_unknown(given, plans)
    running_now = running([row for plan in plans if plan.changes for row in plan.rows])
    notes = notes_of(plans, running_now, given.ground.home)
    may_write = any(plan.changes for plan in plans) and not arguments.dry_run
    if not arguments.json:
        print_plans(plans, UNWRAP, given.ground.home)
        print_notes(notes)
    if may_write and not arguments.yes and not agreed(plans, UNWRAP):
        sys.stdout.write("nothing was written\n")
        return ExitCode.NEGATIVE
    written, failed = carry_out(given, plans, apply_unwrap) if may_write else ([], [])
    if arguments.json:
        sys.stdout.write(as_json([*plans, *failed], notes, is_written=bool(written)))
    else:
        print_plans(failed, UNWRAP, given.ground.home)
        _print_end(written)
    if arguments.all and not arguments.dry_run and not given.only:
        forget_all_wrapped(given.places)
    return exit_code([*plans, *failed])


def _gone(given: Circumstances, arguments: argparse.Namespace) -> list[WrappedFile]:
    """Files that were wrapped and that somebody has removed since, as far as they are meant.

    Of a directory that is not there either, such as a disk that is not mounted, only named ones.
    """
    files = {os.path.realpath(at(given.ground, file)) for file in arguments.files}
    return [
        known
        for known in all_wrapped(given.places)[0]
        if not given.only
        and known.is_wrapped
        and not os.path.lexists(known.path)
        and (known.path in files or (not files and _is_meant(known, arguments)))
    ]


def _is_meant(known: WrappedFile, arguments: argparse.Namespace) -> bool:
    is_mine = arguments.all or arguments.client in {entry.client for entry in known.entries}
    return is_mine and os.path.isdir(os.path.dirname(known.path))


def _print_end(written: list[FilePlan]) -> None:
    if not written:
        heading("Nothing was written")
        return
    done = sum(
        outcome.group is Group.DONE and not plan.is_gone
        for plan in written
        for outcome in plan.outcomes
    )
    heading(
        f"Unwrapped {counted(done, 'server', 'servers')} in "
        f"{counted(len(written), 'file', 'files')}"
    )
