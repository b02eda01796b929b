"""The arguments that name a policy or count entries, shared by the commands that look at one."""

from __future__ import annotations

import argparse

from mcp_jail.errors import JailError, UsageError
from mcp_jail.proxy.prepare import audit_path, judge
from mcp_jail.store.places import Places


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


def add_count(parser: argparse.ArgumentParser, default: int, what: str) -> None:
    """Add -n N."""
    parser.add_argument(
        "-n", type=_count, default=default, metavar="N", help=f"the last N {what} ({default})"
    )


def audit_of(places: Places, name: str) -> str:
    """Where a policy of this name puts its audit; the usual place if there is no good policy."""
    try:
        return audit_path(judge(name=name, policy_file=None))
    except JailError:
        return places.audit(name)


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"expected a number, at least 1, found '{text}'")
    return int(text)
