"""The arguments that name a policy, shared by the commands that look at one."""

from __future__ import annotations

import argparse

from mcp_jail.errors import UsageError


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
