"""The launch identity: what a policy starts, as far as a person can approve it.

The command word by word, the names of the environment a policy gives, and the digests of the
scripts that the command names. Not the interpreters: the system updates those, and an update of
Node.js is no change of the server.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

from mcp_jail.core.policy import Policy
from mcp_jail.core.sha256 import sha256
from mcp_jail.core.spec import Plan

# The item's name in a lock.
COMMAND: Final = "command"

# Bytes of a script that is hashed at each start; bundled servers have a few MiB.
SCRIPT_LIMIT: Final = 16 * 1024 * 1024

_SCRIPTS: Final = (".js", ".mjs", ".cjs", ".ts", ".py", ".pyz", ".sh", ".rb", ".pl", ".jar", ".php")


def launch_identity(plan: Plan, policy: Policy) -> dict[str, Any]:
    """What is pinned of a launch; reads the scripts that the command names."""
    return {
        "argv": list(plan.command),
        "env": sorted({*policy.env.pass_, *policy.env.set, *policy.env.secret}),
        "scripts": dict(_digests(plan)),
    }


def _digests(plan: Plan) -> Iterator[tuple[str, str]]:
    """The scripts among the words of a command, with the program itself if it is one."""
    for number, word in enumerate(plan.command):
        path = os.path.join(plan.cwd, word)
        if number and not word.endswith(_SCRIPTS):
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
