"""The arguments that name a policy or count entries, and the audits that are meant by them."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from mcp_jail.errors import JailError, UsageError
from mcp_jail.proxy.prepare import audit_path, judge
from mcp_jail.store.files import names_in
from mcp_jail.store.history import has_audit
from mcp_jail.store.places import Places
from mcp_jail.store.policies import find_policy, policy_names


class Audit(NamedTuple):
    """An audit, by the name that people know it by."""

    name: str
    path: str


def add_policy_arguments(parser: argparse.ArgumentParser) -> None:
    """Add NAME and --policy FILE, of which one is given."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="the policy's name")
    parser.add_argument("--policy", metavar="FILE", help="a policy file elsewhere, trusted before")


def policy_of(arguments: argparse.Namespace) -> tuple[str | None, str | None]:
    """The name or the file that was given; UsageError for both or neither."""
    name: str | None = arguments.name
    file: str | None = arguments.policy
    if (name is None) == (file is None):
        raise UsageError("give a policy's NAME or --policy FILE", hint="one of them, not both")
    return name, file


def add_count(parser: argparse.ArgumentParser, default: int, what: str, *, least: int = 1) -> None:
    """Add -n N."""
    parser.add_argument(
        "-n",
        type=partial(_count, least=least),
        default=default,
        metavar="N",
        help=f"the last N {what} ({default})",
    )


def audit_of(places: Places, name: str) -> str:
    """Where a policy of this name puts its audit; the usual place if there is no good policy."""
    try:
        return audit_path(judge(name=name, policy_file=None))
    except JailError:
        return places.audit(name)


def audits_of(places: Places, names: Sequence[str] = ()) -> list[Audit]:
    """The audits of these names, or every one of this user: where they usually lie, and moved ones.

    The file need not be there.
    """
    if names:
        return [Audit(name, audit_of(places, name)) for name in dict.fromkeys(names)]
    files = names_in(places.state)
    found = {match[1] for match in map(_AUDIT.fullmatch, files) if match is not None}
    usual = {Audit(name, os.path.join(places.state, name + SUFFIX)) for name in found}
    moved = {Audit(name, audit_of(places, name)) for name in _moving(places)}
    return sorted(usual | {each for each in moved if has_audit(each.path)})


SUFFIX = ".jsonl"
# An audit, or what is left of one: a file that got a number as it was full.
_AUDIT = re.compile(rf"(.+){re.escape(SUFFIX)}(?:\.[0-9]+)?")


def _moving(places: Places) -> list[str]:
    """The policies that may say where their audit lies; reading them all would take long."""
    found = []
    for name in policy_names(places):
        try:
            text = find_policy(places, name).text
        except JailError:
            continue
        if "audit" in text:
            found.append(name)
    return found


def _count(text: str, *, least: int) -> int:
    if not text.isdecimal() or int(text) < least:
        raise argparse.ArgumentTypeError(f"expected a number, at least {least}, found '{text}'")
    return int(text)
