"""Which policies the entries of clients go by, so that one that nothing starts any more is told."""

from __future__ import annotations

import os
from collections.abc import Iterator

from mcp_jail.clients.opening import open_target
from mcp_jail.clients.our_entries import same_program
from mcp_jail.clients.targets import ROWS, Ground, Target, existing, named
from mcp_jail.errors import JailError
from mcp_jail.store.places import Places
from mcp_jail.store.wrapped import WrappedFile, all_wrapped


def used_policies(places: Places, ground: Ground, program: str) -> frozenset[str] | None:
    """The policies of all entries that we know of; None where one of the files says nothing."""
    records, wrong = all_wrapped(places)
    if wrong:
        return None
    is_ours = same_program(program, ground.environ)
    used: set[str] = set()
    try:
        for target in watched(ground, {each.path: each for each in records}):
            opened = open_target(target, is_ours)
            used |= {each.ours.policy or "" for _, each in opened.servers if each.ours}
    except (JailError, OSError):
        return None
    return frozenset(used)


def watched(ground: Ground, known: dict[str, WrappedFile]) -> Iterator[Target]:
    """The files of clients that are here, and those that were wrapped wherever they lie."""
    seen: set[str] = set()
    for target in existing(ground, ROWS):
        seen.add(os.path.realpath(target.path))
        yield target
    for path in sorted(known.keys() - seen):
        if os.path.isfile(path):
            clients = {entry.client for entry in known[path].entries} - {"file"}
            yield named(ground, path, min(clients, default=None))
