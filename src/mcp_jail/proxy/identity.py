"""The launch identity: what a policy starts, as far as a person can approve it.

The command word by word, the names of the environment a policy gives, the digests of the scripts
that the command names, and where the interpreters lie that PATH chose for them. Not what these
hold: the system updates them, and an update of Node.js is no change of the server.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from mcp_jail.core.policy import Policy
from mcp_jail.core.sha256 import sha256
from mcp_jail.core.spec import Plan
from mcp_jail.core.telling import is_telling_flag, shape_spans
from mcp_jail.proxy.packaged import Packaged

# The item's name in a lock.
COMMAND: Final = "command"

# Bytes of a script that is hashed at each start; bundled servers have a few MiB.
SCRIPT_LIMIT: Final = 16 * 1024 * 1024

_SCRIPTS: Final = (".js", ".mjs", ".cjs", ".ts", ".py", ".pyz", ".sh", ".rb", ".pl", ".jar", ".php")


def launch_identity(plan: Plan, policy: Policy, package: Packaged | None = None) -> dict[str, Any]:
    """What is pinned of a launch; reads the scripts that the command names.

    Of a package the version, and the digest of its whole tree.
    """
    own = () if package is None else package.shares  # its digest is over all of them
    return ({} if package is None else package.identity) | {
        "argv": list(plan.command),
        "env": sorted({*policy.env.pass_, *policy.env.set, *policy.env.secret}),
        "scripts": dict(_digests(plan, tuple(share.path for share in own))),
        "interpreters": list(plan.interpreters),
    }


def changes(approved: Mapping[str, Any], now: Mapping[str, Any]) -> tuple[str, ...]:
    """What a launch has that the approved one had not, in lines; secrets are taken out."""
    lines: list[str] = []
    if approved.get("argv") != now.get("argv"):
        lines += [f"- {_shown(approved.get('argv', ()))}", f"+ {_shown(now.get('argv', ()))}"]
    for key, what in (("env", "variable"), ("interpreters", "interpreter")):
        before, after = approved.get(key, ()), now.get(key, ())
        lines += [f"- {what} {name}" for name in before if name not in after]
        lines += [f"+ {what} {name}" for name in after if name not in before]
    before, after = approved.get("scripts", {}), now.get("scripts", {})
    for name in dict.fromkeys((*before, *after)):
        if before.get(name) != after.get(name):
            lines.append(f"! {name} has other content than the script you approved")
    for key in dict.fromkeys((*approved, *now)):
        if key not in _TOLD and approved.get(key) != now.get(key):
            sides = (("-", approved), ("+", now))
            lines += [f"{sign} {key} {side[key]}" for sign, side in sides if key in side]
    return tuple(lines)


_TOLD: Final = frozenset({"argv", "env", "interpreters", "scripts"})


def _shown(words: Sequence[str]) -> str:
    """A command on one line, without what looks like a secret."""
    shown: list[str] = []
    for word in words:
        is_value = bool(shown) and is_telling_flag(words[len(shown) - 1])
        option, given, _ = word.partition("=")
        if given and is_telling_flag(option):
            shown.append(f"{option}={_SECRET}")
        elif (is_value and not word.startswith("-")) or shape_spans(word):
            shown.append(_SECRET)
        else:
            shown.append(word if word.split() == [word] else repr(word))
    return " ".join(shown)


_SECRET: Final = "[secret]"  # noqa: S105  # what stands in its place


def _digests(plan: Plan, known: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """The scripts among the words of a command, with the program itself if it is one.

    Not those that lie in a directory whose digest is known.
    """
    for number, word in enumerate(plan.command):
        path = os.path.join(plan.cwd, word)
        if number and not word.endswith(_SCRIPTS):
            continue
        if any(path.startswith(f"{folder}/") for folder in known):
            continue
        with suppress(OSError):
            content = _script(path, needs_shebang=number == 0)
            if content is not None:
                yield word, sha256(content).hexdigest()


def _script(path: str, *, needs_shebang: bool) -> bytes | None:
    """The text of a script, None for what is none or too large."""
    if not os.path.isfile(path) or os.path.getsize(path) > SCRIPT_LIMIT:
        return None
    with open(path, "rb") as file:
        head = file.read(2)
        if needs_shebang and head != b"#!":
            return None
        return head + file.read()
