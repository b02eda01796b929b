"""What an assistant is: a program of ours outside the jail, its command and its environment.

The keeper's fork asks, just before it becomes the program. Neither comes from the guard, which
reads what a server says: an environment can make any program run other code.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Mapping
from typing import Final

PATH: Final = "/usr/local/bin:/usr/bin:/bin"
RUNTIME: Final = "/run/user"
BUS: Final = "DBUS_SESSION_BUS_ADDRESS"

# The user's place and language; how a client was started is nobody's business.
_KEPT: Final = ("HOME", "MCP_JAIL_HOME", "LANG")


def command(module: bytes) -> list[bytes]:
    """The program to execute, and its command line."""
    python = os.fsencode(sys.executable)
    return [python, python, b"-I", b"-m", module]


def environment(environ: Mapping[str, str], *, runtime: str = RUNTIME) -> dict[str, str]:
    """The environment of an assistant, out of the one we were started with.

    Clients hand on little more than HOME, so the session's runtime directory and bus are looked
    for where systemd has them.
    """
    built = {name: environ[name] for name in _KEPT if name in environ}
    built |= {name: value for name, value in environ.items() if name.startswith("LC_")}
    built["PATH"] = PATH
    folder = os.path.join(runtime, str(os.geteuid()))
    if _is_ours(folder, stat.S_ISDIR) and not os.stat(folder).st_mode & 0o077:
        built["XDG_RUNTIME_DIR"] = folder
        if _is_ours(os.path.join(folder, "bus"), stat.S_ISSOCK):
            built[BUS] = f"unix:path={folder}/bus"
    if environ.get(BUS, "").startswith("unix:"):  # other kinds of address start programs
        built[BUS] = environ[BUS]
    return built


def _is_ours(path: str, is_kind: Callable[[int], bool]) -> bool:
    try:
        status = os.lstat(path)
    except OSError:
        return False
    return is_kind(status.st_mode) and status.st_uid == os.geteuid()
