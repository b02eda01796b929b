"""How a step of npm's or uv's that failed is told."""

from __future__ import annotations

import re
from typing import Final

from mcp_jail.errors import PackageError
from mcp_jail.packages.installing import Ran
from mcp_jail.packages.registries import Source

# Lines of a program's error stream that an error repeats.
SAID: Final = 8

# What says nothing to who installs: where in npm it happened, and a log that is gone with the jail.
_NOISE: Final = re.compile(
    r"npm (?:error|ERR!)(?: +(?:at .*|Log files were not written.*|A complete log .*|\})"
    r"| {3,}\w+: .*| *(?:network|404)?)"
)


def failed(message: str, ran: Ran, source: Source, *, hint: str = "") -> PackageError:
    """The error of a step that did not do what it was to do, with what the program said."""
    if ran.refused:
        asked = ", ".join(ascii(host) for host in ran.refused)
        own = ", ".join(reach.host for reach in source.hosts)
        hint = hint or f"it asked for {asked}, and may only reach the user's registries: {own}"
    if ran.failed:
        hint = hint or "; ".join(ran.failed)
    error = PackageError(message, hint=hint or "what the program said:")
    said = [line for line in ran.errors.splitlines() if not _NOISE.fullmatch(line)]
    error.said = tuple(said[-SAID:])
    return error


def not_had(wanted: str, ran: Ran, source: Source, asked: str, *, is_missing: bool) -> PackageError:
    """The error of a version that those who were asked do not have, or gave no answer for."""
    if is_missing:
        return failed(f"{wanted} is not found in {asked}", ran, source)
    return failed(f"{wanted} could not be asked for: {asked} gave no answer to it", ran, source)
