"""`mcp-jail trust FILE`: let a policy file outside your own directory be used.

A repository may bring a policy; it counts only after you have read it. What is trusted is this
content at this place: any change asks again before the next start. A server that runs takes up
stricter verdicts and further denials at once, and no other change until it is trusted.
"""

from __future__ import annotations

import argparse
import os
import sys
import time

from mcp_jail.cli.agent import refuse_agent
from mcp_jail.config.strangers import load_strangers
from mcp_jail.errors import ExitCode, UsageError
from mcp_jail.proxy.stderr import clean
from mcp_jail.store.files import read_private
from mcp_jail.store.places import find_places
from mcp_jail.store.policies import MAX_POLICY_BYTES, PolicyKind, kind_of, no_such_file
from mcp_jail.store.trust import trust, withdraw_trust

EXAMPLE = "  mcp-jail trust ./mcp-jail.yaml"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the file and how to answer."""
    parser.add_argument("file", metavar="FILE", help="the policy file")
    parser.add_argument("--yes", action="store_true", help="do not ask; you have read it")
    parser.add_argument("--withdraw", action="store_true", help="take the trust back")


def run(arguments: argparse.Namespace) -> int:
    """Show the file, ask, and note the answer."""
    places = find_places()
    path = os.path.realpath(arguments.file)
    if arguments.withdraw:
        was = withdraw_trust(places, path)
        sys.stdout.write(f"{path} is {'no longer' if was else 'not'} trusted\n")
        return ExitCode.OK if was else ExitCode.NEGATIVE
    if kind_of(places, path) is not PolicyKind.TRUSTED:
        sys.stdout.write(f"not needed: {path} is in a directory of mcp-jail's own policies\n")
        return ExitCode.OK
    try:
        content = read_private(path, limit=MAX_POLICY_BYTES)
    except FileNotFoundError:
        raise no_such_file(places, path) from None
    refuse_agent(places, "trust")
    # What cannot be used need not be trusted.
    loaded = load_strangers(content, path)
    for name, source in loaded.policy.env.secret.items():
        sys.stdout.write(f"its server is handed a secret of yours: {name} from {clean(source)}\n")
    if not arguments.yes and not _agreed(path, content):
        sys.stdout.write("not trusted\n")
        return ExitCode.NEGATIVE
    trust(places, path, content, time.time_ns() // 1_000_000)
    sys.stdout.write(f"{path} is trusted as it is now\n")
    return ExitCode.OK


def _agreed(path: str, content: bytes) -> bool:
    if not sys.stdin.isatty():
        raise UsageError("trust asks a person, and this is no terminal", hint="read it, then --yes")
    lines = content.decode().splitlines()
    sys.stdout.write(
        "".join(f"  {number:>3}  {clean(line)}\n" for number, line in enumerate(lines, 1))
    )
    sys.stdout.write(f"Trust {path} as shown? [y/N] ")
    sys.stdout.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}
