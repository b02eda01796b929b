"""Which files we write for nobody, whatever a policy names: what no jail may write either.

A lock file is written outside of any jail, by us, at a place that a policy names. So it is held to
what a server's `read_write` is held to, and to the directories of credentials beside.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Final

from mcp_jail.sandbox.protected import (
    CLIENT_CONFIGS,
    CREDENTIAL_DIRECTORIES,
    CREDENTIAL_FILES,
    LOGIN_FILES,
    SOCKET_DIRECTORIES,
    Ours,
    below_home,
    clients_directory,
    lies_in,
    package_tree,
    read_only_for_all,
    too_much,
)

_OF_A_HOME: Final = (
    (CLIENT_CONFIGS, "the settings of an MCP client, which the host acts on"),
    (LOGIN_FILES, "run or read by the user's own programs"),
    (CREDENTIAL_DIRECTORIES, "where credentials are kept"),
    (CREDENTIAL_FILES, "where credentials are kept"),
    (SOCKET_DIRECTORIES, "where what commands the host listens"),
)


def why_never_written(real: str, ours: Iterable[Ours], homes: Iterable[str]) -> str | None:
    """Why a file is never written by us, None where it may be; `real` has no link in it."""
    if (why := too_much(real)) is not None:
        return f"it lies in {why}"
    if read_only_for_all(real):
        return "it belongs to what this machine runs"
    for path, what in _kept(ours, homes):
        if any(lies_in(real, place) for place in (path, os.path.realpath(path))):
            return f"'{path}' is {what}"
    if (settings := clients_directory(real)) is not None:
        return f"'{settings}' has settings of an MCP client, which the host acts on"
    if (packages := package_tree(real)) is not None:
        return f"'{packages}' has packages, which the host runs"
    if "/.git/" in real:
        return "a '.git' is git's own"
    return None


def _kept(ours: Iterable[Ours], homes: Iterable[str]) -> Iterator[tuple[str, str]]:
    for each in ours:
        yield each.path, each.what
    for home in homes:
        for names, what in _OF_A_HOME:
            for path in below_home(home, names):
                yield path, what
