"""The launch identity: what a policy starts, as far as a person can approve it.

The command word by word, the names of the environment a policy gives, the digests of the scripts
that the command names, and where the interpreters lie that PATH chose for them. Not what these
hold: the system updates them, and an update of Node.js is no change of the server.

Where the words mean something else in another directory, that directory belongs to it too. A member
that says nothing of a command is left out, so that an approval made before it was known stands.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Final

from mcp_jail.core.command_shown import shown_command
from mcp_jail.core.policy import Policy
from mcp_jail.core.spec import Plan
from mcp_jail.proxy.launched_code import launched_code
from mcp_jail.proxy.packaged import Packaged

# The item's name in a lock.
COMMAND: Final = "command"

# How a change tells of the working directory.
IN_DIRECTORY: Final = " in the directory "


def launch_identity(plan: Plan, policy: Policy, package: Packaged | None = None) -> dict[str, Any]:
    """What is pinned of a launch; reads the scripts that the command names.

    Of a package the version, and the digest of its whole tree.
    """
    own = () if package is None else package.shares  # its digest is over all of them
    code = launched_code(
        plan.command,
        plan.cwd,
        tuple(share.path for share in own),
        is_shared=plan.cwd != plan.env.get("HOME"),
    )
    where = {"cwd": code.cwd, "places": code.places}
    return ({} if package is None else package.identity) | {
        "argv": list(plan.command),
        "env": sorted({*policy.env.pass_, *policy.env.set, *policy.env.secret}),
        "scripts": code.scripts,
        "interpreters": list(plan.interpreters),
        **{key: value for key, value in where.items() if value},
    }


def working_directory(launch: Any) -> str | None:
    """Where a launch that was seen stood, if it says so; values of a lock are anybody's."""
    cwd = launch.get("cwd") if isinstance(launch, dict) else None
    return cwd if isinstance(cwd, str) and os.path.isabs(cwd) else None


def changes(approved: Mapping[str, Any], now: Mapping[str, Any]) -> tuple[str, ...]:
    """What a launch has that the approved one had not, in lines; secrets are taken out."""
    lines: list[str] = []
    if approved.get("argv") != now.get("argv"):
        before, after = (shown_command(side.get("argv", ())) for side in (approved, now))
        lines += [f"- {before}", f"+ {after}" + (_OTHERWISE if before == after else "")]
    if approved.get("cwd") != now.get("cwd"):
        sides = (("-", approved.get("cwd")), ("+", now.get("cwd")))
        lines += [f"{sign}{IN_DIRECTORY}{cwd}" for sign, cwd in sides if cwd]
    for key, what in (("env", "variable"), ("interpreters", "interpreter")):
        before, after = approved.get(key, ()), now.get(key, ())
        lines += [f"- {what} {name}" for name in before if name not in after]
        lines += [f"+ {what} {name}" for name in after if name not in before]
    lines += _scripts(approved.get("scripts", {}), now.get("scripts", {}))
    for key in dict.fromkeys((*approved, *now)):
        if key not in _TOLD and approved.get(key) != now.get(key):
            sides = (("-", approved), ("+", now))
            lines += [f"{sign} {key} {side[key]}" for sign, side in sides if key in side]
    return tuple(lines)


_TOLD: Final = frozenset({"argv", "cwd", "env", "interpreters", "scripts"})
_OTHERWISE: Final = " (with another secret)"


def _scripts(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """Scripts with other bytes, and those that one side has alone."""
    return [
        f"! {name} has other content than the script you approved"
        if name in before and name in after
        else f"{'-' if name in before else '+'} script {name}"
        for name in dict.fromkeys((*before, *after))
        if before.get(name) != after.get(name)
    ]
