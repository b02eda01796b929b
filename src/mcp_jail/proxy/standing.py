"""Where a client stands when it starts a server, also where that directory is gone."""

from __future__ import annotations

import os

from mcp_jail.core.policy import Policy
from mcp_jail.errors import UsageError
from mcp_jail.store.places import NOWHERE, working_folder


def standing_for(policy: Policy, words: tuple[str, ...]) -> str:
    """The directory that relative words of a command begin in; UsageError where it is gone.

    A jail shows it only where the policy shares it, so a command that names nothing in it starts
    without: then it is a place in which nothing can be.
    """
    folder = working_folder()
    if folder:
        return folder
    leans = [word for number, word in enumerate(words) if _leans(word, is_program=number == 0)]
    if leans and (policy.server is None or policy.server.cwd is None):
        raise UsageError(
            f"the working directory was removed, so '{leans[0]}' names nothing",
            hint="start the client again, in a directory that is there",
        )
    return NOWHERE


def _leans(word: str, *, is_program: bool) -> bool:
    """Whether a word names something by its way from here; `..` would lead out of nowhere."""
    if os.path.isabs(word) or word.startswith("~"):
        return False
    parts = word.split(os.sep)
    return (is_program and len(parts) > 1) or "." in parts[:1] or ".." in parts
