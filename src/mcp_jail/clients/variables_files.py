"""Files of variables that an entry names: its client puts all of them into mcp-jail itself first.

`MCP_JAIL_HOME` or `LD_PRELOAD` in there decides by which policy a server runs, or whether by any.
So no such file may lie in a project, where a clone brings it. Pure: what is in the file is not
read, as it may say something else at the next start.
"""

from __future__ import annotations

import re
from typing import Final

HINT: Final = (
    "name its variables under env instead, or secrets under env.secret of the policy, and take "
    "envFile out; or name a file that only you can write, from / or ~/"
)

# What clients write for the home of a person.
_HOME: Final = re.compile(r"(?:~|\$\{userHome\}|\$\{env:HOME\}|\$\{HOME\}|\$HOME)(?=/)")
_FILLED: Final = re.compile(r"[$%{]")


def why_steering(path: str) -> str:
    """Why a file's variables may be a stranger's; empty where it is a fixed one, or none."""
    rest = _HOME.sub("", path, count=1)
    if not path or (rest.startswith("/") and not _FILLED.search(rest)):
        return ""
    return (
        f"its envFile '{path}' leads into a project, and what stands there gets into mcp-jail "
        "itself first: by MCP_JAIL_HOME it would look for its policy elsewhere"
    )
