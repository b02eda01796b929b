"""`mcp-jail why NAME`: the last denials of a server, each with the policy line that made it.

Shows what was asked for, what did not hold, and the line of the policy, unless that was changed
since. It needs
no more than the audit: the server may have been started with --policy FILE, and the file be gone.
Whether the same call would be allowed after a change, `mcp-jail check` tells.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from hashlib import sha256

import msgspec

from mcp_jail.cli.chosen import add_count, add_policy_arguments, audit_of, policy_of
from mcp_jail.cli.entries import tell_unreadable
from mcp_jail.cli.entry_lines import plain_text, time_text
from mcp_jail.cli.for_programs import json_line
from mcp_jail.cli.out import bullet, heading
from mcp_jail.core.conversation.replies import HELD_RULE, LOCK_RULE
from mcp_jail.core.policy import Verdict
from mcp_jail.core.recorded.audit import Kind, Record
from mcp_jail.core.rules.decide import to_allow
from mcp_jail.core.rules.paths import expand_home
from mcp_jail.errors import AuditError, ExitCode, JailError
from mcp_jail.proxy.prepare import audit_path, judge
from mcp_jail.store.files import read_plain
from mcp_jail.store.history import has_audit, last_entries
from mcp_jail.store.places import find_places, home_folder
from mcp_jail.store.policies import MAX_POLICY_BYTES, find_policy

EXAMPLE = "  mcp-jail why filesystem -n 3"

# Entries that are looked through for denials: the last few days of a busy server.
LOOKED_THROUGH = 20_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what names a policy and how many."""
    add_policy_arguments(parser)
    add_count(parser, 5, "denials")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")


def run(arguments: argparse.Namespace) -> int:
    """Print the denials, the newest last; 1 when there are none."""
    records, troubles = _records(*policy_of(arguments))
    code = tell_unreadable(troubles)
    shown = [each for each in _under_policies(records) if _is_denial(each[0])][-arguments.n :]
    for record, policy in shown:
        if arguments.json:
            sys.stdout.write(json_line(record))
        else:
            _for_people(record, policy)
    if not (shown or troubles or arguments.json):
        bullet("nothing was denied in what the audit holds" if records else "no entries yet")
    return code or (ExitCode.OK if shown else ExitCode.NEGATIVE)


def _records(name: str | None, file: str | None) -> tuple[list[Record], list[AuditError]]:
    """The last entries, and why some cannot be read.

    UsageError for a name that has neither an audit nor a policy.
    """
    places = find_places()
    if name is None:
        audit = audit_path(judge(name=None, policy_file=file))
    else:
        audit = audit_of(places, name)
    if has_audit(audit):
        last = last_entries(audit, LOOKED_THROUGH)
        return last.records, last.troubles
    if name is not None:
        find_policy(places, name)
    return [], []


def _under_policies(records: list[Record]) -> Iterator[tuple[Record, str]]:
    """Each entry with the digest of the policy that held; "" where the run's start is not there."""
    holding: dict[str, str] = {}
    for record in records:
        key = {Kind.START: "policy_sha256", Kind.POLICY: "sha256"}.get(record.kind)
        digest = record.detail.get(key) if key else None
        if isinstance(digest, str):
            holding[record.run] = digest
        yield record, holding.get(record.run, "")


def _is_denial(record: Record) -> bool:
    if record.kind is Kind.NET:
        return record.verdict == Verdict.DENY.value
    return record.kind is Kind.CALL and record.verdict != Verdict.ALLOW.value


def _for_people(record: Record, policy: str) -> None:
    what = f"network {record.method}" if record.kind is Kind.NET else record.method
    heading(f"{time_text(record.t)}  {plain_text(what)} {plain_text(record.name)}")
    if record.arguments:
        bullet(f"with {plain_text(msgspec.json.encode(record.arguments).decode())}")
    bullet(plain_text(record.reason))
    if change := _change(record):
        bullet(change)
    bullet(f"by {plain_text(record.rule)}", note=_source(record, policy))
    kind = record.rule.removesuffix(".default")
    if kind != record.rule and kind in _KINDS and record.verdict == Verdict.DENY.value:
        bullet(plain_text(to_allow(kind, record.name)))


# The sections of a policy that name what may be called; what none of them names gets a default.
_KINDS = frozenset({"tools", "resources", "prompts"})


def _change(record: Record) -> str:
    """What of an item was not as it was approved, in a denial by the lock."""
    key, change, members = (record.detail.get(name) for name in ("item", "change", "members"))
    if record.rule != LOCK_RULE or not (isinstance(key, str) and isinstance(change, str)):
        return ""
    if not isinstance(members, list):
        return plain_text(f"{key} was {change} since you approved")
    named = ", ".join(str(each) for each in members)
    return plain_text(f"{key} has other words than you approved in: {named}")


def _source(record: Record, policy: str) -> str:
    """The policy line that the entry names; `policy` is the digest of the text it stood in."""
    if record.rule == LOCK_RULE:
        return "what you approved, which mcp-jail diff shows beside what the server says now"
    if record.rule == HELD_RULE:
        return "it waited for the server's list or for a person, and was never decided"
    if not record.where:
        return "the default of mcp-jail; the policy does not say otherwise"
    where = plain_text(record.where)
    file, number, _ = (*record.where.rsplit(":", 2), "", "")[:3]
    text = _text_of(file)
    if text is None or not number.isdecimal():
        return where
    lines = text.decode(errors="replace").splitlines()
    is_same = sha256(text).hexdigest() == policy
    if not (is_same and 0 < int(number) <= len(lines)):
        return f"{where} (the file has changed since)"
    return f"{where}: {plain_text(lines[int(number) - 1].strip())}"


def _text_of(file: str) -> bytes | None:
    """A policy as an entry names it; None where it cannot be read from here."""
    path = expand_home(file, home_folder(os.environ))
    if path is None:
        return None
    try:
        return read_plain(path, limit=MAX_POLICY_BYTES)
    except (OSError, JailError):
        return None
