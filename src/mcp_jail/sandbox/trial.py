"""A small real jail, built and looked at: the only sure answer to whether jails work here."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable

from mcp_jail.core.spec import JailSpec, Value
from mcp_jail.errors import JailBuildError
from mcp_jail.sandbox.build import build
from mcp_jail.sandbox.launch import Jail, launch
from mcp_jail.sandbox.probe import Host

# Seconds for a command that does nothing.
TRIAL_SECONDS = 5.0


class Trial(Value, frozen=True):
    """Whether a jail could be built, in words, and what would mend it."""

    works: bool
    found: str
    cure: str = ""


def try_a_jail(
    host: Host,
    before: Callable[[Jail], None] | None = None,
    *,
    door: int | None = None,
    open_door: Callable[[socket.socket], None] | None = None,
) -> Trial:
    """Build a jail around a command that does nothing, and let it end.

    `before` is done with the jail that waits, and `open_door` with its door where it has one; a
    JailBuildError of either counts as the jail's own.
    """
    nothing = ("/usr/bin/env", "true")
    spec = JailSpec(name="doctor", command=nothing, cwd="/", shares=(), env={}, door=door)
    try:
        jail = launch(build(spec, host=host))
        try:
            if before is not None:
                before(jail)
            jail.go(open_door)
            status = jail.wait(TRIAL_SECONDS)
        finally:
            jail.close()
    except JailBuildError as error:
        return Trial(works=False, found=error.message, cure=error.hint)
    if status is None or os.waitstatus_to_exitcode(status) != 0:
        return Trial(works=False, found=f"a command inside ended with {status}")
    return Trial(
        works=True,
        found="built, its namespaces and mounts looked at from outside, a command run, ended",
    )
