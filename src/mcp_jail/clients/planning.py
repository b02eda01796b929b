"""What `wrap` and `unwrap` would do to one file: decided in full before anything is written."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import suppress

import msgspec

from mcp_jail.clients.catalogue import Row, Scope
from mcp_jail.clients.denied import CommandLists, command_lists
from mcp_jail.clients.document import Document, DocumentError, KeyPath
from mcp_jail.clients.entry_notes import notes_of, opened_by, policy_text, shortfall
from mcp_jail.clients.known_launch import marked
from mcp_jail.clients.managed import is_managed_file, why_managed
from mcp_jail.clients.marks import mark_of, noted
from mcp_jail.clients.matching import digest_of_words
from mcp_jail.clients.opening import Opened, open_target
from mcp_jail.clients.our_entries import IsOurs, same_program, wrapped_words
from mcp_jail.clients.plans import (
    FilePlan,
    Group,
    NewPolicy,
    Outcome,
    faulty,
    outcome_of,
    unreadable,
    whole,
)
from mcp_jail.clients.policy_names import Names, Wanted
from mcp_jail.clients.reading import decoded, read, verify
from mcp_jail.clients.replacing import (
    why_not_replaceable,
)
from mcp_jail.clients.servers import Server, State, servers_in
from mcp_jail.clients.splices import spliced
from mcp_jail.clients.started_in import leans_on, started_in
from mcp_jail.clients.targets import Ground, Target, file_notes, rows_at, why_never
from mcp_jail.clients.wrapping import Change, command_words, loaders_of, wrap_entry
from mcp_jail.config import load
from mcp_jail.core.text.command_shown import without_secrets
from mcp_jail.errors import JailError
from mcp_jail.store.places import Places
from mcp_jail.store.wrapped import (
    Step,
    WrappedEntry,
    WrappedFile,
    digest_of,
    read_wrapped,
)


class Circumstances(msgspec.Struct, frozen=True):
    """What a plan depends on beside the file."""

    places: Places
    ground: Ground
    program: str
    only: frozenset[str] = frozenset()  # names of servers; empty: all
    root: str = "/"  # where an administrator's files are looked for
    key: bytes = b""  # of this installation, under which a policy says what it may not spell

    @property
    def is_ours(self) -> IsOurs:
        """Whether a word in an entry starts this program."""
        return same_program(self.program, self.ground.environ)

    def is_meant(self, server: Server) -> bool:
        """Whether a person asked for this entry."""
        return not self.only or server.name in self.only


def plan_wrap(given: Circumstances, target: Target, names: Names) -> FilePlan:
    """What wrapping a file comes to."""
    try:
        refusal = _why_not(given, target)
        if refusal:
            return _left_whole(given, target, refusal)
        return _wrapped(given, target, open_target(target, given.is_ours), names)
    except JailError as error:
        return unreadable(target, error)
    except Exception as fault:  # noqa: BLE001 - the other files are to be wrapped all the same
        return faulty(target, fault)


def _left_whole(given: Circumstances, target: Target, refusal: str) -> FilePlan:
    """The plan of a file that stays as it is, with its entries noted as far as it can be read."""
    plan = whole(target, Group.REFUSED, refusal)
    with suppress(JailError, UnicodeEncodeError):  # no record can have a path that is no text
        target.path.encode()
        found = open_target(target, given.is_ours)
        known = read_wrapped(given.places, os.path.realpath(target.path))
        record = noted(known, [server for _, server in found.servers], (), set())
        return msgspec.structs.replace(plan, known=known, record=record)
    return plan


def _why_not(given: Circumstances, target: Target) -> str:
    if is_managed_file(target.path, given.root):
        return "it is your administrator's"
    never = why_never(given.ground, target.path)
    rows = dict.fromkeys((*target.rows, *rows_at(given.ground, target.path)))
    managed = (why_managed(row, given.root) for row in rows)
    return never or next(filter(None, managed), "") or why_not_replaceable(target.path)


def _wrapped(given: Circumstances, target: Target, found: Opened, names: Names) -> FilePlan:
    if not found.servers:
        return whole(target, Group.SKIPPED, "there are no servers in it", _if_flat(target, found))
    meant = [each for each in found.servers if given.is_meant(each[1])]
    lists = command_lists(given.ground, target, (document for document, _ in found.servers[:1]))
    made = [
        (document, server, _one(given, target.path, document, server, names, lists))
        for document, server in meant
    ]
    outcomes = tuple(each.outcome for _, _, each in made)
    changes = [(document, each.change, s.row) for document, s, each in made if each.change]
    servers = [server for _, server in found.servers]
    unasked = (each for each in servers if each.state is State.BARE and not given.is_meant(each))
    known = read_wrapped(given.places, os.path.realpath(target.path))
    seen = noted(
        known, servers, [s for _, s, each in made if each.change], {*map(mark_of, unasked)}
    )
    plan = FilePlan(target.path, target.rows, outcomes, found.content, found.content, known=known)
    if not changes:
        return msgspec.structs.replace(plan, record=seen)
    entries = tuple(
        WrappedEntry(
            s.place,
            s.row.client,
            each.outcome.policy,
            digest_of_words(each.outcome.policy, each.outcome.before),
            each.change.remembered,
            tuple(without_secrets(each.outcome.before)),
        )
        for _, s, each in made
        if each.change
    )
    after, step = carried_out(found, changes, tuple(entry.path for entry in entries))
    notes = [
        note
        for _, s, each in made
        if each.change
        for note in notes_of(s, each.outcome, names.text(each.outcome.policy))
    ]
    notes += [each.note for _, _, each in made if each.note]
    notes += [*lists.notes(), *file_notes(target, given.program)]
    return msgspec.structs.replace(
        plan,
        after=after,
        policies=tuple(each.policy for _, _, each in made if each.policy),
        record=_recorded(seen, step, entries),
        notes=tuple(notes),
    )


def _if_flat(target: Target, found: Opened) -> str:
    """What to do where the servers may stand in the file itself, as in a plugin's."""
    document = read(decoded(found.content, target.path), target.path, target.rows[0].syntax)
    flat = msgspec.structs.replace(target.rows[0], flat=True)
    servers = servers_in(document, flat, lambda _word: False)
    is_plugin = any(server.state is State.BARE for server in servers)
    return "a plugin's, whose servers stand in no list: --client claude-plugin" if is_plugin else ""


class _Made(msgspec.Struct, frozen=True):
    """What becomes of one entry, with what there is to write for it."""

    outcome: Outcome
    change: Change | None = None
    policy: NewPolicy | None = None
    note: str = ""


def _one(
    given: Circumstances,
    path: str,
    document: Document,
    server: Server,
    names: Names,
    lists: CommandLists,
) -> _Made:
    if server.state is not State.BARE:
        group = _GROUPS.get(server.state, Group.SKIPPED)
        return _Made(outcome_of(server, group, server.reason or _of_ours(server), _cure_of(server)))
    words = () if server.launch is None else server.launch.words
    if why := lists.why_denied(server, words)[0]:
        hint = "take the entry out; or, if it is to start, the line of that list"
        return _Made(outcome_of(server, Group.REFUSED, why, hint))
    try:
        made = _made(given, path, document, server, names)
    except JailError as error:
        return _Made(outcome_of(server, Group.REFUSED, error.message, error.hint))
    told = (made.note, lists.elsewhere(server, words))
    return msgspec.structs.replace(made, note="; ".join(filter(None, told)))


_GROUPS = {
    State.WRAPPED: Group.ALREADY,
    State.FOREIGN: Group.REFUSED,
    State.REFUSED: Group.REFUSED,
}


def _made(
    given: Circumstances, path: str, document: Document, server: Server, names: Names
) -> _Made:
    """An entry that can be wrapped, wrapped; JailError where it cannot be after all."""
    words, loaders = _launch_as_started(given, server)
    cwd = started_in(path, server.row, server.launch)
    chosen = names.choose(
        server.name,
        server.row.client,
        Wanted(words, loaders, cwd if leans_on(words, cwd) else ""),
        is_strangers=server.row.scope is Scope.PROJECT,
    )
    change = wrap_entry(
        document, server, program=given.program, policy=chosen.name, is_file=os.path.isfile
    )
    if chosen.is_new:
        names.texts[chosen.name] = marked(
            policy_text(given.ground, server, chosen.name, words),
            words,
            cwd,
            key=given.key,
        )
    _refuse_lost(loaders, names.text(chosen.name))
    note = "" if chosen.is_new else shortfall(given.ground, server, chosen.name, words, names.text)
    text = names.texts.get(chosen.name)
    outcome = msgspec.structs.replace(
        outcome_of(server, Group.DONE),
        before=words,
        after=(given.program, *wrapped_words(chosen.name), *words),
        policy=chosen.name,
        policy_is_new=chosen.is_new,
        policy_is_unclaimed=chosen.is_unclaimed,
        opens=opened_by(names.text(chosen.name)),
        moved=tuple(change.remembered.variables),
    )
    made = None if text is None else NewPolicy(chosen.name, text)
    return _Made(outcome, change, made, note)


def _launch_as_started(
    given: Circumstances, server: Server
) -> tuple[tuple[str, ...], dict[str, str]]:
    """The words and the variables that a policy has to know, as the client starts them."""
    row, fills = server.row, re.compile(server.row.fills.value)
    if fills.search(given.program):
        raise DocumentError(f"{row.name} would change the path '{given.program}'")
    loaders = loaders_of(server)
    for name, value in loaders.items():
        if fills.search(value):
            raise DocumentError(
                f"{row.name} fills in a part of {name}, which moves into the policy",
                hint=f"write the value of {name} out",
            )
    return command_words(server, is_file=os.path.isfile), loaders


def _refuse_lost(variables: dict[str, str], text: str) -> None:
    """DocumentError where a variable that leaves the entry would be in no policy."""
    lost = variables.keys() - load(text, "").policy.env.set.keys()
    if lost:
        raise DocumentError(
            f"its variable '{min(lost)}' loads code, and no policy can have one of that name",
            hint="take it out of the entry",
        )


def _of_ours(server: Server) -> str:
    """What there is to say of an entry that starts mcp-jail already."""
    if server.ours is None or server.ours.command:
        return ""
    return "somebody wrote it by hand"


def _cure_of(server: Server) -> str:
    """What to do about an entry that is not wrapped, where there is something to do."""
    if server.hint or server.state is not State.FOREIGN or server.ours is None:
        return server.hint
    if server.ours.command:
        return "mcp-jail unwrap takes it out, whoever wrote it; then wrap the server again"
    return "name the installed program, or take the entry out, unless it is yours"


def carried_out(
    found: Opened, changes: Sequence[tuple[Document, Change, Row]], entries: tuple[KeyPath, ...]
) -> tuple[bytes, Step]:
    """The changed bytes, verified, and the step that takes them back."""
    document, _, row = changes[0]
    splices = [splice for _, change, _ in changes for splice in change.splices]
    text, undo = spliced(document.text, splices)
    verify(document, text, [change for _, change, _ in changes], row, row.name)
    after = text.encode()
    return after, Step(digest_of(found.content), digest_of(after), undo, entries)


def _recorded(known: WrappedFile, step: Step, entries: Sequence[WrappedEntry]) -> WrappedFile:
    new = {entry.path for entry in entries}
    return msgspec.structs.replace(
        known,
        steps=(*known.chain_to(step.before), step),
        entries=(*(entry for entry in known.entries if entry.path not in new), *entries),
    )
