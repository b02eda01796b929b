"""`mcp-jail wrap [FILE...|--client ID|--all]`: put mcp-jail before the servers of your clients.

In each entry that starts a server, the command becomes mcp-jail and the server's own command moves
behind it; every other byte of the file stays. A policy is made for each server that has none. Shows
what would change and asks; `mcp-jail unwrap` takes it back to the byte.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

from mcp_jail.cli.client_files import add_file_arguments, circumstances, targets_of
from mcp_jail.cli.out import counted, folded, heading
from mcp_jail.cli.pin_offer import dead_of, offer, unpinned_of
from mcp_jail.cli.wrap_report import WRAP, agreed, as_json, notes_of, print_notes, print_plans
from mcp_jail.clients.applying import apply_notes, apply_wrap
from mcp_jail.clients.planning import Circumstances, plan_wrap
from mcp_jail.clients.plans import FilePlan, Group, Outcome, faulty
from mcp_jail.clients.policy_names import Names
from mcp_jail.clients.running import running
from mcp_jail.clients.targets import Target
from mcp_jail.errors import ExitCode, JailError, UsageError
from mcp_jail.store.places import HOME_VARIABLE, Places
from mcp_jail.store.state_key import keep_key
from mcp_jail.store.wrapped import note_all_wrapped

EXAMPLE = """\
  mcp-jail wrap --all --dry-run
  mcp-jail wrap ~/.cursor/mcp.json --server github"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the files and how to go about it."""
    add_file_arguments(parser, "wrap")


def run(arguments: argparse.Namespace) -> int:
    """Show, ask, write; 1 when something was refused or a person said no."""
    given = circumstances(arguments)
    targets, left = targets_of(arguments, given.ground)
    names = Names(given.places, given.ground.home)
    plans = [*(plan_wrap(given, target, names) for target in targets), *left]
    refuse_unknown(given, plans)
    running_now = running([row for plan in plans if plan.changes for row in plan.rows])
    notes = [
        *_of_our_home(given, plans),
        *dead_of(plans),
        *notes_of(plans, running_now, given.ground.home),
    ]
    may_write = any(plan.changes for plan in plans) and not arguments.dry_run
    if not arguments.json:
        print_plans(plans, WRAP, given.ground.home)
        print_notes(notes)
    if may_write and not arguments.yes and not agreed(plans, WRAP):
        sys.stdout.write("nothing was written\n")
        return ExitCode.NEGATIVE
    if may_write:
        keep_key(given.places, given.key)
    written, failed = carry_out(given, plans, apply_wrap) if may_write else ([], [])
    for plan in () if arguments.dry_run else plans:
        apply_notes(given.places, plan, given.key, is_all=arguments.all)
    if arguments.json:
        sys.stdout.write(as_json([*plans, *failed], notes, is_written=bool(written)))
    else:
        print_plans(failed, WRAP, given.ground.home)
        _print_end(written, plans, arguments)
    if arguments.all and not arguments.dry_run and not given.only:
        note_all_wrapped(given.places)
    return exit_code([*plans, *failed])


def _of_our_home(given: Circumstances, plans: list[FilePlan]) -> list[str]:
    """What to know where this command keeps policies elsewhere than the clients will look."""
    if HOME_VARIABLE not in given.ground.environ or not any(plan.changes for plan in plans):
        return []
    told = (
        f"{HOME_VARIABLE} is set here, and most clients hand on HOME and PATH only: unless yours "
        f"sets it too, mcp-jail finds none of these policies; take it out of your shell, or wrap "
        "without it"
    )
    return [told]


def carry_out(
    given: Circumstances, plans: list[FilePlan], apply: Callable[[Places, FilePlan], None]
) -> tuple[list[FilePlan], list[FilePlan]]:
    """Write each file that changes; those that were written, and the refusals of the others."""
    written, failed = [], []
    for plan in plans:
        if not plan.changes:
            continue
        try:
            apply(given.places, plan)
        except JailError as error:
            failed.append(_refused(plan, error))
        except Exception as fault:  # noqa: BLE001 - the other files are to be written all the same
            failed.append(faulty(Target(plan.path, plan.rows), fault))
        else:
            written.append(plan)
    return written, failed


def _refused(plan: FilePlan, error: JailError) -> FilePlan:
    """A file that could not be written after all."""
    outcome = Outcome(Group.REFUSED, "", plan.outcomes[0].client, error.message, error.hint)
    return FilePlan(plan.path, plan.rows, (outcome,))


def refuse_unknown(given: Circumstances, plans: list[FilePlan]) -> None:
    """UsageError for a --server that stands in none of the files."""
    found = {outcome.server for plan in plans for outcome in plan.outcomes}
    missing = sorted(given.only - found)
    if missing:
        raise UsageError(f"there is no server '{missing[0]}' in any of these files")


def exit_code(plans: list[FilePlan]) -> int:
    """1 when anything was refused."""
    groups = {outcome.group for plan in plans for outcome in plan.outcomes}
    return ExitCode.NEGATIVE if Group.REFUSED in groups else ExitCode.OK


def _print_end(
    written: list[FilePlan], plans: list[FilePlan], arguments: argparse.Namespace
) -> None:
    if not written:
        heading("Nothing was written")
        if any(plan.changes for plan in plans) and arguments.dry_run:
            folded("without --dry-run it is, once you said yes")
        return
    done = [outcome for plan in written for outcome in plan.outcomes if outcome.group is Group.DONE]
    heading(
        f"Wrapped {counted(len(done), 'server', 'servers')} in "
        f"{counted(len(written), 'file', 'files')}"
    )
    policies = sorted({outcome.policy for outcome in done})
    folded(f"read their policies, and open what each needs: mcp-jail show {policies[0]}")
    folded("start the clients again; then look at what the servers say, and approve it:")
    folded(f"  mcp-jail diff {policies[0]}; mcp-jail approve {policies[0]}")
    folded("take it back: mcp-jail unwrap, with the same words")
    offer(unpinned_of(written), may_ask=not arguments.yes)
