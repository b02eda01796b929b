"""What `unwrap` would do to one file: to the byte where it is as we left it, else by entries."""

from __future__ import annotations

import os
import shlex
from contextlib import suppress
from enum import Enum
from typing import Final, NamedTuple

import msgspec

from mcp_jail.clients.document import Document, DocumentError, KeyPath
from mcp_jail.clients.known_launch import is_for
from mcp_jail.clients.launches import Launch
from mcp_jail.clients.marks import mark_of
from mcp_jail.clients.matching import Match, matched
from mcp_jail.clients.opening import Opened, open_target, opened
from mcp_jail.clients.planning import Circumstances, carried_out
from mcp_jail.clients.plans import FilePlan, Group, Outcome, faulty, outcome_of, unreadable, whole
from mcp_jail.clients.replacing import is_kept, why_not_replaceable
from mcp_jail.clients.servers import Server, State
from mcp_jail.clients.splices import taken_back
from mcp_jail.clients.targets import Target
from mcp_jail.clients.wrapping import Change, unwrap_entry
from mcp_jail.config import load
from mcp_jail.errors import JailError, UsageError
from mcp_jail.store.places import HOME_VARIABLE
from mcp_jail.store.policies import find_policy
from mcp_jail.store.wrapped import Original, WrappedFile, digest_of, is_all_wrapped, read_wrapped


def plan_unwrap(given: Circumstances, target: Target) -> FilePlan:
    """What unwrapping a file comes to."""
    try:
        refusal = why_not_replaceable(target.path)
        if refusal:
            return whole(target, Group.REFUSED, refusal)
        return _unwrapped(given, target, open_target(target, given.is_ours))
    except JailError as error:
        return unreadable(target, error)
    except Exception as fault:  # noqa: BLE001 - the other files are to be unwrapped all the same
        return faulty(target, fault)


def _unwrapped(given: Circumstances, target: Target, found: Opened) -> FilePlan:
    if not found.servers:
        return whole(target, Group.SKIPPED, "there are no servers in it")
    on_disk = read_wrapped(given.places, os.path.realpath(target.path))
    meant = [(document, server) for document, server in found.servers if given.is_meant(server)]
    exact, known = _exact(found, on_disk, {server.place for _, server in meant})
    between = opened(target, exact, given.is_ours)
    still = {server.place: (document, server) for document, server in between.servers}
    matches = matched([server for _, server in between.servers], known.entries)
    outcomes, changes, gone = [], [], set()
    for _, server in meant:
        match = matches.get(server.place, Match())
        if server.is_unknown and on_disk.is_wrapped:
            outcomes.append(outcome_of(server, Group.REFUSED, server.reason, server.hint))
            continue
        outcome, change = _one(given, server, still.get(server.place), match)
        outcomes.append(outcome)
        if change is not None:
            changes.append((still[server.place][0], change, server.row))
            gone.add(match.number)
    after = carried_out(between, changes, ())[0] if changes else exact
    plan = FilePlan(target.path, target.rows, tuple(outcomes), found.content, after)
    if not plan.changes:
        return plan
    record = _forgotten(known, gone, is_exact=not changes)
    servers = [server for _, server in opened(target, after, given.is_ours).servers]
    back = {outcome.server for outcome in outcomes if outcome.group is Group.DONE}
    bare = (mark_of(each) for each in servers if each.ours is None and each.name in back)
    left = tuple(dict.fromkeys((*record.left, *bare)))
    if any(each != Match() for each in matched(servers, record.entries).values()):
        record = msgspec.structs.replace(record, left=left)
        return msgspec.structs.replace(plan, known=on_disk, record=record)
    dropped, notes = _original(target.path, on_disk, after)
    nothing = WrappedFile(known.path)
    if given.only and is_all_wrapped(given.places):  # looked at still, and these a person chose
        nothing = msgspec.structs.replace(nothing, left=left, told=record.told)
    return msgspec.structs.replace(
        plan, known=on_disk, record=nothing, dropped=dropped, notes=notes
    )


def plan_gone(known: WrappedFile) -> FilePlan:
    """What unwrapping a file comes to that somebody removed: what we kept of it goes.

    It is not given back: who removed it may have meant it, and its servers would start bare.
    """
    kept = known.original
    reason = "the file is not there any more, and mcp-jail forgets it"
    if kept is not None and is_kept(kept):
        reason += f"; its first original is removed with that: '{kept.path}'"
    else:
        kept = None
    outcome = Outcome(
        Group.DONE,
        "",
        ", ".join(sorted({each.client for each in known.entries})) or "a client",
        reason,
    )
    return FilePlan(
        known.path,
        (),
        (outcome,),
        known=known,
        record=WrappedFile(known.path),
        dropped=kept,
        is_gone=True,
    )


def _original(
    path: str, known: WrappedFile, after: bytes
) -> tuple[Original | None, tuple[str, ...]]:
    """The kept original that goes once nothing of ours is in the file, and what there is to say."""
    original = known.original
    if original is None:
        return None, ()
    if not is_kept(original):
        if not os.path.lexists(original.path):
            return None, ()
        return None, (f"'{original.path}' is not what mcp-jail kept there, so it is left to you",)
    if original.digest == digest_of(after):
        return original, ()
    note = (
        f"'{path}' was edited since it was wrapped, and that stays; its first original, "
        f"'{original.path}', is removed with the last wrapped server"
    )
    return original, (note,)


def _exact(found: Opened, known: WrappedFile, meant: set[KeyPath]) -> tuple[bytes, WrappedFile]:
    """The bytes before our last changes, as far as those are all to be taken back."""
    content, steps = found.content, list(known.chain_to(digest_of(found.content)))
    entries = known.entries
    while steps and {*steps[-1].entries} <= meant:
        step = steps.pop()
        gone = {*step.entries}
        entries = tuple(entry for entry in entries if entry.path not in gone)
        content = taken_back(content.decode(), step.undo).encode()
        if digest_of(content) != step.before:
            return found.content, known
    return content, msgspec.structs.replace(known, steps=tuple(steps), entries=entries)


def _one(
    given: Circumstances, before: Server, now: tuple[Document, Server] | None, match: Match
) -> tuple[Outcome, Change | None]:
    words = () if before.launch is None else before.launch.words

    def put(group: Group, reason: str, back: tuple[str, ...] = ()) -> Outcome:
        told = outcome_of(before, group, reason)
        return msgspec.structs.replace(told, before=words if back else (), after=back)

    if before.state not in _TAKEN_OUT:
        return put(Group.ALREADY, ""), None
    if now is not None and now[1].state not in _TAKEN_OUT:
        after = now[1].launch
        back = () if after is None else after.words
        moved = _names(after) - _names(before.launch)
        exact = put(Group.DONE, "to the byte", back)
        return msgspec.structs.replace(exact, moved=tuple(sorted(moved))), None
    if now is None or now[1].ours is None or not now[1].ours.command:
        reason = "somebody wrote it by hand: it does not say what it was before"
        return put(Group.SKIPPED, reason), None
    document, server = now
    told = _told(given, now[1], match)
    if told.is_refused:
        return msgspec.structs.replace(put(Group.REFUSED, told.reason), hint=told.hint), None
    try:
        change = unwrap_entry(document, server, match.remembered)
    except DocumentError as error:
        return put(Group.REFUSED, error.message), None
    back = server.ours.command if server.ours else ()
    moved = {*match.remembered.variables} - _names(server.launch)
    done = put(Group.DONE, told.reason, back)
    return msgspec.structs.replace(done, hint=told.hint, moved=tuple(sorted(moved))), change


class _Told(NamedTuple):
    """What there is to say of an entry that goes back by what it says, or why it does not."""

    reason: str
    hint: str = ""
    is_refused: bool = False


def _told(given: Circumstances, server: Server, match: Match) -> _Told:
    policy = (server.ours and server.ours.policy) or ""
    is_named = server.name in given.only
    by_name = f"if it is as you want it: --server {shlex.quote(server.name)}"
    if match.trouble:
        hint = f"the variables stand in its policy: mcp-jail show {policy}"
        return _Told(match.trouble, hint, is_refused=True)
    if match.altered:
        reason = (
            f"it starts another command than the one that was wrapped, which is {match.altered}"
        )
        return _Told(reason, "" if is_named else by_name, is_refused=not is_named)
    if match.number is not None:
        return _Told("by what the entry says; its layout may differ from before")
    fits = _fits(given, server, policy)
    if fits is _Fits.NO_POLICY and server.state is State.WRAPPED:
        return _Told(_LOST.format(policy), _WHERE_ELSE, is_refused=True)
    if fits is not _Fits.YES and not is_named:
        reason = f"mcp-jail has no record of it, and no policy '{policy}' that is for its command"
        return _Told(reason, by_name, is_refused=True)
    hint = f"variables that had moved are in its policy: mcp-jail show {policy}"
    if fits is _Fits.NO_POLICY:
        hint = f"variables that another mcp-jail moved would be in its policy '{policy}'"
    return _Told("by what the entry says; mcp-jail has no record of it", hint)


_LOST: Final = (
    "neither a record of it nor its policy '{}' is here, so variables that had moved there would "
    "be lost"
)
_WHERE_ELSE: Final = (
    f"if {HOME_VARIABLE} was set when it was wrapped, set it for unwrap too; else write the "
    "server's own command into the entry"
)


class _Fits(Enum):
    NO_POLICY = "its policy is not here"
    NOT_KNOWN = "its policy does not say that it is for this command"
    YES = "its policy is for this command"


def _fits(given: Circumstances, server: Server, name: str) -> _Fits:
    """Whether a policy says what no record does."""
    try:
        file = find_policy(given.places, name)
    except UsageError:
        return _Fits.NO_POLICY
    with suppress(JailError):  # one that is broken says nothing
        policy, command = (
            load(file.text, file.path).policy,
            server.ours.command if server.ours else (),
        )
        if is_for(given.places, given.ground.home, file.text, policy, command):
            return _Fits.YES
    return _Fits.NOT_KNOWN


def _names(launch: Launch | None) -> set[str]:
    return set() if launch is None else {*launch.set_names}


# Somebody else's program of our name is taken out as well: the server behind it is what was meant.
_TAKEN_OUT = frozenset({State.WRAPPED, State.FOREIGN})


def _forgotten(known: WrappedFile, gone: set[int | None], *, is_exact: bool) -> WrappedFile:
    """What is still known; steps end where the file came about in another way."""
    kept = tuple(entry for number, entry in enumerate(known.entries) if number not in gone)
    steps = known.steps if is_exact else ()
    return msgspec.structs.replace(known, steps=steps, entries=kept)
