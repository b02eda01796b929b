"""What `unwrap` would do to one file: to the byte where it is as we left it, else by entries."""

from __future__ import annotations

import os

import msgspec

from mcp_jail.clients.document import Document, DocumentError, KeyPath
from mcp_jail.clients.launches import Launch
from mcp_jail.clients.matching import Match, matched
from mcp_jail.clients.planning import Circumstances, Opened, carried_out, open_target, opened
from mcp_jail.clients.plans import FilePlan, Group, Outcome, faulty, outcome_of, unreadable, whole
from mcp_jail.clients.replacing import is_kept, why_not_replaceable
from mcp_jail.clients.servers import Server, State
from mcp_jail.clients.splices import taken_back
from mcp_jail.clients.targets import Target
from mcp_jail.clients.wrapping import Change, unwrap_entry
from mcp_jail.errors import JailError
from mcp_jail.store.wrapped import Original, WrappedFile, digest_of, read_wrapped


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
        outcome, change = _one(server, still.get(server.place), match)
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
    if any(each != Match() for each in matched(servers, record.entries).values()):
        return msgspec.structs.replace(plan, known=on_disk, record=record)
    dropped, notes = _original(target.path, on_disk, after)
    return msgspec.structs.replace(
        plan, known=on_disk, record=WrappedFile(known.path), dropped=dropped, notes=notes
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
    before: Server, now: tuple[Document, Server] | None, match: Match
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
    if match.trouble:
        hint = f"the variables stand in its policy: mcp-jail show {now[1].ours.policy}"
        return msgspec.structs.replace(put(Group.REFUSED, match.trouble), hint=hint), None
    reason = "by what the entry says; its layout may differ from before"
    hint = ""
    if match.number is None:
        reason = "by what the entry says; mcp-jail has no record of it"
        hint = f"variables that had moved are in its policy: mcp-jail show {now[1].ours.policy}"
    try:
        change = unwrap_entry(document, server, match.remembered)
    except DocumentError as error:
        return put(Group.REFUSED, error.message), None
    back = server.ours.command if server.ours else ()
    moved = {*match.remembered.variables} - _names(server.launch)
    done = put(Group.DONE, reason, back)
    return msgspec.structs.replace(done, hint=hint, moved=tuple(sorted(moved))), change


def _names(launch: Launch | None) -> set[str]:
    return set() if launch is None else {*launch.set_names}


# Somebody else's program of our name is taken out as well: the server behind it is what was meant.
_TAKEN_OUT = frozenset({State.WRAPPED, State.FOREIGN})


def _forgotten(known: WrappedFile, gone: set[int | None], *, is_exact: bool) -> WrappedFile:
    """What is still known; steps end where the file came about in another way."""
    kept = tuple(entry for number, entry in enumerate(known.entries) if number not in gone)
    steps = known.steps if is_exact else ()
    return WrappedFile(known.path, steps, kept, known.left, known.original)
