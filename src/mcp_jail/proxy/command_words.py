"""The words of a server's command: as a client gives them or the policy has them, and what starts.

A package that is installed is started in place of what would look it up.
"""

from __future__ import annotations

import os
from typing import Final

from mcp_jail.config.command_line import at_home, in_words
from mcp_jail.core.policy import Policy
from mcp_jail.core.text.command_shown import shown_command
from mcp_jail.errors import LaunchMismatchError, UsageError
from mcp_jail.proxy.packaged import Packaged

# The command of a jail that is only looked at.
STAND_IN: Final = ("/usr/bin/env", "true")


def words_of(policy: Policy, given: tuple[str, ...], home: str) -> tuple[str, ...]:
    """The server's command; given by the client and named by the policy, they must be the same."""
    named = () if policy.server is None else policy.server.command
    given, named = _in_words(given, home), _in_words(named, home)
    if given and named and given != named:
        starts, meant = shown_command(given), shown_command(named)
        if starts == meant:
            starts += ", with another secret"
        raise LaunchMismatchError(
            f"the client starts {starts}; the policy '{policy.name}' is for {meant}",
            hint="if you changed it yourself, change server.command in the policy to match",
        )
    return given or named


def command_of(
    policy: Policy, words: tuple[str, ...], package: Packaged | None, *, stand_in: bool
) -> tuple[str, ...]:
    """What is started: an installed package in place of what would look it up."""
    if package is not None:
        return package.command() or STAND_IN
    if words:
        return words
    if stand_in:
        return STAND_IN
    raise UsageError(
        f"nothing to start: policy '{policy.name}' names no server.command",
        hint=f"mcp-jail run {policy.name} -- COMMAND...",
    )


def _in_words(command: tuple[str, ...], home: str) -> tuple[str, ...]:
    return at_home(in_words(command, os.path.exists), home)
