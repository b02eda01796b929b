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

from mcp_jail.config.carried_code import has_code
from mcp_jail.core.policy import Policy
from mcp_jail.core.spec import Plan
from mcp_jail.core.text.command_shown import digested, shown_command
from mcp_jail.proxy.launched_code import launched_code
from mcp_jail.proxy.packaged import Packaged


def launch_identity(
    plan: Plan, policy: Policy, package: Packaged | None = None, *, key: bytes
) -> dict[str, Any]:
    """What is pinned of a launch; reads the scripts that the command names.

    Of a package the version, and the digest of its whole tree. Of a secret among the words, its
    HMAC under `key`: what is pinned lies on disk.
    """
    own = () if package is None else package.shares  # its digest is over all of them
    code = launched_code(
        plan.command,
        plan.cwd,
        tuple(share.path for share in own),
        is_shared=plan.cwd != plan.env.get("HOME"),
    )
    where = {"cwd": code.cwd, "places": code.places}
    of_package = {} if package is None else package.identity
    if "for" in of_package:
        words = of_package["for"]
        of_package["for"] = digested(words, key, has_code=has_code(tuple(words)))
    return of_package | {
        "argv": digested(plan.command, key, has_code=has_code(plan.command)),
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
    for member, told in (("argv", ""), ("for", "for ")):
        if approved.get(member, ()) != now.get(member, ()):
            old, new = (told + shown_command(side.get(member, ())) for side in (approved, now))
            lines += [f"- {old}", f"+ {new}" + (_OTHERWISE if old == new else "")]
    if approved.get("cwd") != now.get("cwd"):
        sides = (("-", approved.get("cwd")), ("+", now.get("cwd")))
        lines += [f"{sign} in the directory {cwd}" for sign, cwd in sides if cwd]
    for key, what in (("env", "variable"), ("interpreters", "interpreter")):
        before, after = approved.get(key, ()), now.get(key, ())
        lines += [f"- {what} {name}" for name in before if name not in after]
        lines += [f"+ {what} {name}" for name in after if name not in before]
    lines += _scripts(approved.get("scripts", {}), now.get("scripts", {}))
    lines += _links(approved.get("places", {}), now.get("places", {}))
    for key in dict.fromkeys((*approved, *now)):
        if key not in _TOLD and approved.get(key) != now.get(key):
            sides = (("-", approved), ("+", now))
            lines += [f"{sign} {key} {side[key]}" for sign, side in sides if key in side]
    return tuple(lines)


def advice(approved: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """What makes launches the same that differ in nothing but where their client stands."""
    if approved.get("cwd") != now.get("cwd"):
        return "server.cwd in the policy names one directory for all starts"
    places = _places(approved), _places(now)
    is_same = [os.path.basename(place) for place in places[0]] == [
        os.path.basename(place) for place in places[1]
    ]
    if places[0] != places[1] and is_same:
        return "where clients have another PATH each, name the program's whole path in the policy"
    return ""


def _places(launch: Mapping[str, Any]) -> list[str]:
    """Where the program lies, and the interpreters of PATH."""
    return [*launch.get("argv", ())[:1], *launch.get("interpreters", ())]


_TOLD: Final = frozenset({"argv", "cwd", "env", "for", "interpreters", "places", "scripts"})
_OTHERWISE: Final = " (with another secret, or one that was kept as it is)"


def _scripts(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """Scripts with other bytes, and those that one side has alone."""
    return [
        f"! {name} has other content than the script you approved"
        if name in before and name in after
        else f"{'-' if name in before else '+'} script {name}"
        for name in dict.fromkeys((*before, *after))
        if before.get(name) != after.get(name)
    ]


def _links(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """Where links on the way to a script led, and lead."""
    return [
        f"{sign} {name} leads to {side[name]}"
        for name in dict.fromkeys((*before, *after))
        if before.get(name) != after.get(name)
        for sign, side in (("-", before), ("+", after))
        if name in side
    ]
