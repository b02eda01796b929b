"""After `wrap`: what `npx` or `uvx` would fetch at each start is pinned, if a person agrees.

Their jails have no registry, so unpinned they do not start. A package that cannot be had leaves its
server wrapped; the same command tries again.
"""

from __future__ import annotations

import sys

from mcp_jail.cli.install import pin
from mcp_jail.cli.out import folded
from mcp_jail.core.policy import Policy
from mcp_jail.errors import JailError
from mcp_jail.packages.commands import read_command
from mcp_jail.proxy.prepare import judge


def unpinned_of(policies: list[str]) -> list[str]:
    """The policies whose server is fetched at each start."""
    return [name for name in policies if _names_unpinned(name)]


def offer(policies: list[str], *, may_ask: bool) -> None:
    """Pin their packages, if a person is asked and says so; else say how."""
    if not policies:
        return
    commands = "; ".join(f"mcp-jail install {name}" for name in policies)
    if not (may_ask and sys.stdin.isatty() and sys.stdout.isatty()):
        folded("these are fetched from a registry at each start, which their jails do not reach;")
        folded(f"  pin them, once: {commands}")
        return
    names = ", ".join(policies)
    sys.stdout.write(f"Fetch and pin the packages of {names} now? [Y/n] ")
    sys.stdout.flush()
    if sys.stdin.readline().strip().lower() not in {"", "y", "yes"}:
        folded(f"later: {commands}")
        return
    for name in policies:
        try:
            pin(judge(name=name, policy_file=None))
        except JailError as error:
            folded(f"{name} is not pinned: {error.message}", note=error.hint)


def is_unpinned(policy: Policy) -> bool:
    """Whether a policy's server is an npx or uvx command without a package."""
    words = () if policy.server is None else policy.server.command
    try:
        return policy.package is None and bool(words) and read_command(words) is not None
    except JailError:
        return False  # one that cannot be pinned


def _names_unpinned(name: str) -> bool:
    try:
        return is_unpinned(judge(name=name, policy_file=None).policy)
    except JailError:
        return False
