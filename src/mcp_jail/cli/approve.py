"""`mcp-jail approve NAME [ITEM...]`: let a client see what you have read.

Shows what `mcp-jail diff` shows, asks, and approves exactly that; a running server's client is told
within a second. Where nothing waits, the server is started in its jail and looked at. What is no
longer listed stays approved unless you name it. A script answers with --yes and the digest that
somebody read: --seen DIGEST.
"""

from __future__ import annotations

import argparse
import re
import sys
from typing import Final

import msgspec

from mcp_jail.cli.agent import refuse_agent
from mcp_jail.cli.chosen import add_policy_arguments, policy_of
from mcp_jail.cli.comparison import Comparison, Purpose, compare, some
from mcp_jail.cli.diff import print_comparison, shifted
from mcp_jail.cli.out import bullet, counted, folded, heading
from mcp_jail.cli.review_page import cuts_told, short_digest
from mcp_jail.core.approved.lock import Lock
from mcp_jail.core.approved.review import SHORT_DIGEST, without_launch
from mcp_jail.errors import ExitCode, UsageError
from mcp_jail.proxy.lock_place import proposal_path
from mcp_jail.store.approvals import Answer, ChangedMeanwhileError, carry_out
from mcp_jail.store.locks import write_proposal
from mcp_jail.store.places import find_places

EXAMPLE = """\
  mcp-jail approve filesystem
  mcp-jail approve filesystem write_file
  mcp-jail approve filesystem --yes --seen 3fa9c2d17b0e5d864c21f7a09be8d135"""

TAKES_COMMAND = True
USAGE = "mcp-jail approve [OPTIONS] NAME|--policy FILE [ITEM...] [-- COMMAND...]"

_DIGEST: Final = re.compile(rf"[0-9a-f]{{{SHORT_DIGEST},64}}")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what names a policy, the items, and how to answer."""
    add_policy_arguments(parser)
    parser.add_argument("items", nargs="*", metavar="ITEM", help="only these (default: all)")
    parser.add_argument("--live", action="store_true", help="look now, whatever the last run saw")
    parser.add_argument(
        "--reject",
        action="store_true",
        help="block them, approved or not, until they change",
    )
    parser.add_argument("--write-file", action="store_true", help="write lock.file for others too")
    parser.add_argument("--full", action="store_true", help="cut no text, however long")
    parser.add_argument("--yes", action="store_true", help="do not ask; needs --seen")
    parser.add_argument("--seen", metavar="DIGEST", type=_digest, help="what `diff` says is shown")


def run(arguments: argparse.Namespace) -> int:
    """Show, ask, carry out; 1 if nothing is, 3 if it is not what was shown."""
    name, file = policy_of(shifted(arguments))
    _refuse_what_does_not_fit(arguments)
    if not arguments.reject:
        refuse_agent(find_places(), "approve")
    comparison = compare(
        name=name,
        policy_file=file,
        command=arguments.command,
        items=tuple(arguments.items),
        is_live=lambda approved, pending: _is_live(arguments, approved, pending),
        purpose=Purpose(
            again="approve --live" if arguments.live else "approve", rejects=arguments.reject
        ),
    )
    path = _file_to_write(comparison) if arguments.write_file else None
    cuts = print_comparison(comparison, full=arguments.full)
    shown, lock = comparison.shown, comparison.approved
    answer = Answer.REJECTED if arguments.reject else Answer.APPROVED
    if shown.taken_up or shown.taken_out or (shown.turned_down and arguments.reject):
        if not _is_agreed(comparison, arguments, answer, cuts):
            bullet(f"nothing is {answer.value}")
            return ExitCode.NEGATIVE
        lock = carry_out(
            answer,
            shown,
            comparison.again,
            files=comparison.files,
            audit=comparison.audit,
            name=comparison.judged.policy.name,
        )
        _print_done(comparison, answer, cuts)
    elif shown.kept and path is None:
        bullet(f"nothing is {answer.value}")
        return ExitCode.NEGATIVE
    if path is not None and lock is not None:
        _write_file(comparison, path, lock)
    return ExitCode.OK


def _refuse_what_does_not_fit(arguments: argparse.Namespace) -> None:
    if arguments.yes and arguments.seen is None:
        hint = "mcp-jail diff NAME prints the digest of what it shows"
        raise UsageError("--yes approves only what somebody has read: add --seen DIGEST", hint=hint)
    if arguments.reject and arguments.write_file:
        raise UsageError("--reject approves nothing that --write-file could write")


def _is_live(arguments: argparse.Namespace, approved: Lock | None, pending: Lock | None) -> bool:
    """Whether the server is to be looked at now: where nothing else could be shown."""
    if arguments.live:
        return True
    is_of_what_is_approved = arguments.write_file or (arguments.reject and arguments.items)
    return pending is None and not (is_of_what_is_approved and approved is not None)


def _file_to_write(comparison: Comparison) -> str:
    """Where lock.file lies; what stands there and is no lock is left alone."""
    path = comparison.proposal_path
    if path is None:
        name = comparison.judged.policy.name
        hint = "add it, for example: lock: {file: mcp-jail.lock.json}"
        raise UsageError(f"policy '{name}' names no lock.file to write", hint=hint)
    return path


def _write_file(comparison: Comparison, path: str, lock: Lock) -> None:
    """Write lock.file, where it may still be written: a link may have come in between."""
    if proposal_path(comparison.judged) != path:
        raise ChangedMeanwhileError(
            f"lock.file leads elsewhere than to '{path}' now; it was not written",
            hint="look at the links in that directory",
        )
    name = comparison.judged.policy.name  # its state has a name that says where the policy lies
    write_proposal(path, msgspec.structs.replace(without_launch(lock), name=name))
    bullet(f"written for others: {path}")


def _is_agreed(
    comparison: Comparison, arguments: argparse.Namespace, answer: Answer, cuts: int
) -> bool:
    """Whether a person, or a script for one, agrees to what is shown."""
    shown = comparison.shown
    heading(f"What is shown: {short_digest(shown)}")
    _print_proposed(comparison)
    if arguments.seen is not None and not shown.digest.startswith(arguments.seen):
        raise ChangedMeanwhileError(
            f"what is shown is not {arguments.seen}; nothing was done",
            hint=f"read it, then repeat its digest: --seen {short_digest(shown)}",
        )
    if arguments.yes:
        return True
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        hint = f"read it, then: --yes --seen {short_digest(shown)}"
        raise UsageError("approve asks a person, and this is no terminal", hint=hint)
    word = "Approve" if answer is Answer.APPROVED else "Reject"
    what = f"this ({cuts_told(cuts)})" if cuts else "what is shown"
    sys.stdout.write(f"{word} {what}? [y/N] ")
    sys.stdout.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def _print_proposed(comparison: Comparison) -> None:
    """For a first contact: what others have approved already."""
    if comparison.proposal is None or not comparison.is_first:
        return
    count, others = comparison.as_proposed
    told = f"{counted(count, 'item is', 'items are')} as lock.file proposes"
    folded(f"{told}; not: {some(others)}" if others else told)


def _print_done(comparison: Comparison, answer: Answer, cuts: int) -> None:
    shown = comparison.shown
    if answer is Answer.REJECTED:
        count = len({each.key for each in shown.turned_down})
        folded(f"rejected: {counted(count, 'item', 'items')}, blocked until it changes")
        return
    note = f"of what is approved now, {cuts_told(cuts)}" if cuts else ""
    folded(f"approved: {counted(len(shown.taken_up), 'item', 'items')}", note=note)
    if shown.taken_out:
        folded(f"taken out: {counted(len(shown.taken_out), 'item', 'items')}")


def _digest(text: str) -> str:
    if _DIGEST.fullmatch(text) is None:
        raise argparse.ArgumentTypeError(
            f"expected at least {SHORT_DIGEST} hex digits of the digest; for fewer, a server can "
            "find another catalogue that has the same"
        )
    return text
