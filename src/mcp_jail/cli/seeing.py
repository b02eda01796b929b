"""What is seen of a server: what the last run left to be looked at, or what a look of ours shows.

A look starts the server in its jail and has it list all there is, as the clients that are
remembered would. It is made where somebody asks for it, and where the last run saw too little.
"""

from __future__ import annotations

import os
from typing import Any, Final

import msgspec

from mcp_jail.core.approved import lock as locks
from mcp_jail.core.approved import review as reviews
from mcp_jail.core.approved.lock import ItemKind, Lock, Pin
from mcp_jail.core.text.command_shown import is_digested
from mcp_jail.errors import JailError, UsageError
from mcp_jail.proxy.identity import working_directory
from mcp_jail.proxy.lister import peers_of
from mcp_jail.proxy.live import Look, LookError, look
from mcp_jail.proxy.locking import called, launch_pin
from mcp_jail.proxy.prepare import Judged, Prepared, with_jail

LAUNCH_KEY: Final = locks.key_of(ItemKind.LAUNCH, locks.COMMAND)

# Lines of the server's error stream that explain why it cannot be looked at.
SAID: Final = 5


class Wanted(msgspec.Struct, frozen=True):
    """What a person asked for: the server's command, the command to give again, and a look."""

    command: tuple[str, ...]
    again: str
    is_live: bool


class Files(msgspec.Struct, frozen=True):
    """What lies on disk: the user's approval, what waits, and what a repository proposes."""

    approved: Lock | None
    pending: Lock | None
    proposal: Lock | None


class Side(msgspec.Struct, frozen=True):
    """What was seen (None: nothing yet), and by what look.

    `launch` is what would be started now, where that is known; `not_looked` says why a look that
    was needed came to nothing.
    """

    seen: Lock | None
    look: Look | None = None
    launch: Pin | None = None
    not_looked: str = ""


def see(judged: Judged, files: Files, wanted: Wanted) -> Side:
    """What there is to be looked at; LookError, and what `prepare` raises."""
    if wanted.is_live:
        return _look(judged, files, wanted)
    not_looked = ""
    if files.pending is not None and reviews.is_part(files.pending, files.approved):
        try:
            return _look(judged, files, wanted)
        except JailError as error:
            not_looked = error.message
    launch = None
    if wanted.command or _names_command(judged):
        launch = launch_pin(_as_run(judged, files, wanted.command))
    seen = left(files.pending, launch, files.approved)
    return Side(seen, launch=launch, not_looked=not_looked)


def left(pending: Lock | None, launch: Pin | None, approved: Lock | None) -> Lock | None:
    """What the last run left, and what would be started now where that is known."""
    if launch is None or (pending is None and approved is None):
        return pending
    return reviews.with_launch(pending or Lock(name=""), LAUNCH_KEY, launch)


def _look(judged: Judged, files: Files, wanted: Wanted) -> Side:
    words = wanted.command or _remembered(judged, files, wanted.again)
    prepared = _as_run(judged, files, words)
    found, launch = _looked(prepared, files), launch_pin(prepared)
    return Side(reviews.with_launch(found.seen, LAUNCH_KEY, launch), found, launch)


def _as_run(judged: Judged, files: Files, words: tuple[str, ...]) -> Prepared:
    """The jail as the client has it, whose directory a person's terminal need not stand in."""
    launches = (
        each.value
        for lock in (files.pending, files.approved)
        for each in (() if lock is None else lock.items.get(LAUNCH_KEY, ()))
    )
    cwd = next(filter(None, map(working_directory, launches)), None)
    return with_jail(judged, words, os.environ, client_cwd=cwd)


def _names_command(judged: Judged) -> bool:
    return judged.policy.server is not None and bool(judged.policy.server.command)


def _remembered(judged: Judged, files: Files, again: str) -> tuple[str, ...]:
    """The command that was started last, where neither the policy nor a person says it.

    What a repository proposes is not asked: it would choose what is started.
    """
    if _names_command(judged):
        return ()
    for lock in (files.pending, files.approved):
        for each in () if lock is None else lock.items.get(LAUNCH_KEY, ()):
            value = each.value if isinstance(each.value, dict) else {}
            words = value.get("for") or value.get("argv")  # a package's argv is of one version
            if isinstance(words, list) and words and all(isinstance(word, str) for word in words):
                if not any(map(is_digested, words)):
                    return tuple(words)
                raise UsageError(
                    f"the command of '{judged.policy.name}' holds a secret, which is not kept",
                    hint=f"put it behind: mcp-jail {again} {called(judged)} -- COMMAND...",
                )
    raise UsageError(
        f"nothing to start: policy '{judged.policy.name}' names no server.command",
        hint=f"put it behind: mcp-jail {again} {called(judged)} -- COMMAND...",
    )


def _looked(prepared: Prepared, files: Files) -> Look:
    """A look as the clients that are remembered would have it; LookError if it is not whole."""
    peers: dict[str, Any] = {}
    for lock in (files.approved or files.proposal, files.pending):
        peers |= {} if lock is None else lock.peers
    found = look(prepared, peers_of(peers))
    said = found.said[-SAID:]
    if not found.is_open:
        how = f" ({found.ended})" if found.ended else ""
        raise LookError(f"the server does not answer{how}", said=said)
    if found.broken:
        kinds = ", ".join(f"{kind.value}s" for kind in found.broken)
        raise LookError(f"the server does not list its {kinds} to the end", said=said)
    kinds_seen = {*found.seen.kinds, *found.absent}  # of a kind it has not, it lists nothing
    seen = msgspec.structs.replace(
        found.seen, kinds=tuple(kind for kind in ItemKind if kind in kinds_seen)
    )
    return msgspec.structs.replace(found, seen=seen)
