"""How a step of npm's or uv's that failed is told."""

from __future__ import annotations

from typing import Final

from mcp_jail.errors import PackageError
from mcp_jail.packages.installing import Ran
from mcp_jail.packages.registries import Source

# Lines of a program's error stream that an error repeats.
SAID: Final = 8


def failed(message: str, ran: Ran, source: Source, *, hint: str = "") -> PackageError:
    """The error of a step that did not do what it was to do, with what the program said."""
    if ran.refused:
        asked = ", ".join(ascii(host) for host in ran.refused)
        own = ", ".join(reach.host for reach in source.hosts)
        hint = hint or f"it asked for {asked}, and may only reach the user's registries: {own}"
    error = PackageError(message, hint=hint or "what the program said:")
    error.said = tuple(ran.errors.splitlines()[-SAID:])
    return error
