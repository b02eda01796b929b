"""Says, before anything is started, that no jail can be built here, and the command to mend it."""

from __future__ import annotations

import shutil
from typing import Final

from mcp_jail.errors import JailBuildError
from mcp_jail.sandbox.probe import INSTALL, Host

# The first of these that is here installs; the same as scripts/install-package.
MANAGERS: Final = (
    ("apt-get", "apt-get install -y --no-install-recommends bubblewrap"),
    ("dnf", "dnf install -y bubblewrap"),
    ("pacman", "pacman -S --noconfirm bubblewrap"),
    ("zypper", "zypper --non-interactive install bubblewrap"),
    ("apk", "apk add bubblewrap"),
)


def refuse_without(host: Host, *, path: str | None = None) -> None:
    """JailBuildError for a machine that cannot build a jail; `path` is PATH, given by tests."""
    if not host.gaps:
        return
    gap = host.gaps[0]
    command = install_command(path) if gap.cure == INSTALL else None
    if command is None:
        raise JailBuildError(gap.cause, hint=gap.cure)
    as_root = command if host.uid == 0 else f"sudo {command}"
    raise JailBuildError(gap.cause, hint=f"run: {as_root}")


def install_command(path: str | None = None) -> str | None:
    """What installs bubblewrap on this system, as root; None where no manager is known."""
    for program, command in MANAGERS:
        if shutil.which(program, path=path) is not None:
            return command
    return None
