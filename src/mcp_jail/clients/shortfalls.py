"""What an entry names that the policy it goes by does not have: pure.

A policy is for a command; another entry with the same one may name other variables and directories,
which do not reach its server then.
"""

from __future__ import annotations

from mcp_jail.config import load
from mcp_jail.core.policy import Policy
from mcp_jail.core.rules.paths import expand_home


def shortfalls(meant: str, text: str, names: set[str], home: str) -> tuple[str, ...]:
    """Variables of `names`, and paths, that a first policy (`meant`) would have and `text` not."""
    first, held = load(meant, "").policy, load(text, "").policy
    known = {*held.env.pass_, *held.env.set, *held.env.secret}
    variables = [name for name in first.env.pass_ if name in names - known]
    there = _shares(held, home)
    paths = [
        path
        for path, where in _shares(first, home).items()
        if not any(where == other or where.startswith(f"{other}/") for other in there.values())
    ]
    return (*variables, *paths)


def _shares(policy: Policy, home: str) -> dict[str, str]:
    """The paths of a policy as they are written, each with where it lies."""
    paths = (*policy.filesystem.read_only, *policy.filesystem.read_write)
    return {path: (expand_home(path, home) or path).rstrip("/") for path in paths}
