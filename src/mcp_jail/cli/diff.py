"""`mcp-jail diff NAME [ITEM...]`: what a server says now against what you approved.

Shows what the last run saw and hid from its client. With --live, and where that run saw only a part
(a client may only say hello), the server is started in its jail and asked for all it lists. Nothing
is approved by looking. ITEM is `tool/echo`, or `echo`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Sequence
from typing import Any

from mcp_jail.cli.chosen import add_policy_arguments, policy_of
from mcp_jail.cli.comparison import Comparison, Purpose, compare, some
from mcp_jail.cli.entry_lines import time_text
from mcp_jail.cli.for_programs import json_page
from mcp_jail.cli.lock_rows import AS_APPROVED
from mcp_jail.cli.out import bullet, counted, folded, heading, rows
from mcp_jail.cli.review_page import print_cuts, print_items, print_lines, short_digest
from mcp_jail.cli.seeing import LAUNCH_KEY
from mcp_jail.config.carried_code import has_code
from mcp_jail.core.approved.ignored import in_words
from mcp_jail.core.approved.lock import Drift, Lock, Pin
from mcp_jail.core.approved.review import listed_twice
from mcp_jail.core.text.command_shown import launch_shown
from mcp_jail.errors import ExitCode, UsageError

EXAMPLE = """\
  mcp-jail diff filesystem
  mcp-jail diff filesystem --live --exit-code"""

TAKES_COMMAND = True
USAGE = "mcp-jail diff [OPTIONS] NAME|--policy FILE [ITEM...] [-- COMMAND...]"

_MILLISECONDS = 1_000

# What no shell reads as anything but a word; a server chooses the names of its items.
_WORD = re.compile(r"[\w./:@-]+", re.ASCII)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what names a policy, the items, and how to look."""
    add_policy_arguments(parser)
    parser.add_argument("items", nargs="*", metavar="ITEM", help="only these (default: all)")
    parser.add_argument("--live", action="store_true", help="start the server and look at it")
    parser.add_argument("--full", action="store_true", help="cut no text, however long")
    parser.add_argument("--exit-code", action="store_true", help="end with 3 if anything differs")
    parser.add_argument("--json", action="store_true", help="print the differences for a program")


def run(arguments: argparse.Namespace) -> int:
    """Print what differs."""
    name, file = policy_of(shifted(arguments))
    comparison = compare(
        name=name,
        policy_file=file,
        command=arguments.command,
        items=tuple(arguments.items),
        is_live=lambda _approved, _pending: bool(arguments.live),
        purpose=Purpose(again="diff --live", takes_proposal=True),
    )
    if arguments.json:
        sys.stdout.write(_as_json(comparison))
    else:
        print_comparison(comparison, full=arguments.full)
        _print_next(comparison)
    is_blank = comparison.seen is None and comparison.is_first
    if arguments.exit_code and is_blank:
        raise UsageError(
            "there is nothing to compare: no run has seen the server",
            hint="--live starts it in its jail and compares what it says",
        )
    is_drift = bool(comparison.shown.drifts) or comparison.others > 0
    is_drift |= comparison.is_rejected_said or bool(comparison.left_out)
    return ExitCode.DRIFT if arguments.exit_code and is_drift else ExitCode.OK


def shifted(arguments: argparse.Namespace) -> argparse.Namespace:
    """The arguments, where with --policy there is no NAME, so that the first word is an item."""
    if arguments.policy is not None and arguments.name is not None:
        arguments.items = [arguments.name, *arguments.items]
        arguments.name = None
    return arguments


def print_comparison(comparison: Comparison, *, full: bool = False) -> int:
    """The page up to its last item: where both sides come from, then each item.

    Returns how many texts were not shown whole.
    """
    shown = comparison.shown
    heading(f"{comparison.judged.policy.name}: {_summary(comparison)}")
    rows(list(_sources(comparison)))
    if comparison.look is not None and comparison.look.notes:
        folded("What the server did that it should not:")
        print_lines(comparison.look.notes)
    if comparison.proposal_differs:
        what = some(comparison.proposal_differs)
        folded(f"lock.file proposes other words than you approved: {what}")
    cuts = print_items(shown.drifts, full=full)
    print_cuts(cuts)
    if shown.kept:
        gone = some(tuple(each.key for each in shown.kept))
        folded(f"not listed any more, and still approved until you name it: {gone}")
        bullet(f"  mcp-jail approve {comparison.called}{_words(shown.kept)} --live")
    return cuts


def _summary(comparison: Comparison) -> str:
    count = len(comparison.shown.drifts)
    if comparison.seen is None and comparison.is_first:
        return "nothing was seen yet"
    if not count:
        is_left = comparison.look is None or comparison.is_rejected_said or comparison.left_out
        return "nothing waits for you" if is_left else "all is as it was approved"
    items = counted(count, "item", "items")
    more = f" (and {counted(comparison.others, 'other', 'others')})" if comparison.others else ""
    if comparison.is_first and not _is_against_proposal(comparison):
        return f"{items} to approve, for the first time{more}"
    return f"{items} {'is' if count == 1 else 'are'} not as approved{more}"


def _sources(comparison: Comparison) -> list[tuple[str, str]]:
    found = []
    if not comparison.is_first:
        found.append(("approved", comparison.files.lock))
    elif _is_against_proposal(comparison):
        found.append(("proposed", f"{comparison.proposal_path} (nothing was approved here)"))
    if comparison.look is not None:
        found.append(("seen", f"now, by a look without a client{_peers(comparison.seen)}"))
    elif os.path.exists(comparison.files.pending):
        seconds = os.stat(comparison.files.pending).st_mtime
        when = time_text(int(seconds * _MILLISECONDS))
        found.append(("seen", f"{when}, in a run{_peers(comparison.seen)}"))
    twice = () if comparison.seen is None else listed_twice(comparison.seen)
    if twice:
        found.append(("twice", f"{some(twice)}; listed in several forms, no client gets any"))
    if comparison.left_out:
        told = f"{some(comparison.left_out)}; its name hides characters, so no client gets it"
        found.append(("left out", told))
    if comparison.rejected:
        told = f"{some(comparison.rejected)}; blocked, and nobody is asked until it changes"
        found.append(("rejected", told))
    if comparison.not_looked:
        told = "that run saw only a part, and the server cannot be looked at: "
        found.append(("", told + comparison.not_looked))
    ignored = in_words(comparison.judged.policy.lock.ignore)
    found += [("ignored", f"{each}; {AS_APPROVED}") for each in ignored]
    return found


def _peers(seen: Lock | None) -> str:
    """The eras that were spoken, with their versions as they were declared."""
    peers = {} if seen is None else seen.peers
    told = [
        f"{era} {json.dumps(peer.get('version', ''))[1:-1][:32]}" for era, peer in peers.items()
    ]
    return f" ({', '.join(told)})" if told else ""


def _is_against_proposal(comparison: Comparison) -> bool:
    return comparison.is_first and comparison.proposal is not None


def _print_next(comparison: Comparison) -> None:
    """The digest of what was shown, and what to do now."""
    called = comparison.called
    if comparison.shown.drifts and _is_against_proposal(comparison):
        heading("What now")
        folded(f"if it is right, renew the file: mcp-jail approve {called} --write-file")
    elif comparison.shown.drifts:
        heading(f"What is shown: {short_digest(comparison.shown)}")
        if comparison.shown.is_named:
            called += _words(comparison.shown.drifts)
        if len(comparison.shown.kept) < len(comparison.shown.drifts):
            folded(f"mcp-jail approve {called}")
    elif comparison.look is None:
        folded(f"to see what the server says now: mcp-jail diff {called} --live")


def _words(drifts: Sequence[Drift]) -> str:
    """The items of drifts, as words of a command that a person may copy."""
    keys = dict.fromkeys(each.key for each in drifts)
    plain = all(_WORD.fullmatch(key) for key in keys)
    return "".join(f" {key}" for key in keys) if plain else " ITEM..."


def _as_json(comparison: Comparison) -> str:
    shown = {
        "name": comparison.judged.policy.name,
        "policy": comparison.judged.file.path,
        "against": _against(comparison),
        "live": comparison.look is not None,
        "digest": comparison.shown.digest,
        "drifts": [_drift(each) for each in comparison.shown.drifts],
        "others": comparison.others,
        "rejected": list(comparison.rejected),
        "left_out": list(comparison.left_out),
        "file_differs": list(comparison.proposal_differs),
        "ignored": comparison.judged.policy.lock.ignore,
    }
    return json_page(shown)


def _against(comparison: Comparison) -> str | None:
    if not comparison.is_first:
        return comparison.files.lock
    return comparison.proposal_path if comparison.proposal is not None else None


def _drift(drift: Drift) -> dict[str, Any]:
    return {
        "key": drift.key,
        "change": drift.change.value,
        "approved": _pin(drift.key, drift.approved),
        "seen": _pin(drift.key, drift.seen),
    }


def _pin(key: str, pin: Pin | None) -> dict[str, Any] | None:
    """A pin; programs keep what they are given, so no secret of a command line is in it."""
    if pin is None:
        return None
    value = launch_shown(pin.value, has_code) if key == LAUNCH_KEY else pin.value
    return {"digest": pin.digest, "era": pin.era, "value": value}
