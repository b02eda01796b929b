"""What `wrap` and `unwrap` would do to one file: decided in full before anything is written."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from enum import Enum

import msgspec

from mcp_jail.clients.catalogue import Row
from mcp_jail.clients.document import Document, DocumentError, KeyPath
from mcp_jail.clients.managed import is_managed_file, why_managed
from mcp_jail.clients.our_entries import wrapped_words
from mcp_jail.clients.policy_names import Names, Wanted
from mcp_jail.clients.reading import decoded, read, verify
from mcp_jail.clients.replacing import read_client_file, why_not_replaceable
from mcp_jail.clients.servers import Server, State, servers_in
from mcp_jail.clients.splices import spliced
from mcp_jail.clients.targets import Ground, Target, why_never
from mcp_jail.clients.wrapping import Change, command_words, loaders_of, wrap_entry
from mcp_jail.config.starter_policy import ServerEntry, starter_policy
from mcp_jail.errors import JailError
from mcp_jail.sandbox.offers import offers
from mcp_jail.store.files import FileError
from mcp_jail.store.places import Places
from mcp_jail.store.wrapped import (
    Step,
    WrappedEntry,
    WrappedFile,
    digest_of,
    read_wrapped,
)


class Group(Enum):
    """The four groups of a report."""

    DONE = "done"
    ALREADY = "already"
    SKIPPED = "skipped"
    REFUSED = "refused"


class Outcome(msgspec.Struct, frozen=True):
    """What becomes of one entry, or of a file as a whole where `server` is empty."""

    group: Group
    server: str
    client: str
    reason: str = ""
    hint: str = ""
    within: str = ""  # the project it is for
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    policy: str = ""
    policy_is_new: bool = False
    moved: tuple[str, ...] = ()  # variables that go into the policy


class NewPolicy(msgspec.Struct, frozen=True):
    """A policy file that is to be made."""

    name: str
    text: str


class FilePlan(msgspec.Struct, frozen=True):
    """All that would be done to one file. `record` is what is known of it afterwards."""

    path: str
    rows: tuple[Row, ...]
    outcomes: tuple[Outcome, ...]
    before: bytes = b""
    after: bytes = b""
    policies: tuple[NewPolicy, ...] = ()
    record: WrappedFile | None = None

    @property
    def changes(self) -> bool:
        """Whether anything is to be written."""
        return self.before != self.after


class Circumstances(msgspec.Struct, frozen=True):
    """What a plan depends on beside the file."""

    places: Places
    ground: Ground
    program: str
    only: frozenset[str] = frozenset()  # names of servers; empty: all
    root: str = "/"  # where an administrator's files are looked for

    def is_meant(self, server: Server) -> bool:
        """Whether a person asked for this entry."""
        return not self.only or server.name in self.only


def plan_wrap(given: Circumstances, target: Target, names: Names) -> FilePlan:
    """What wrapping a file comes to."""
    refusal = _why_not(given, target)
    if refusal:
        return whole(target, Group.REFUSED, refusal)
    try:
        return _wrapped(given, target, open_target(target), names)
    except (DocumentError, FileError) as error:
        return unreadable(target, error)


class Opened(msgspec.Struct, frozen=True):
    """A file as it was read, with all its entries and the tree each stands in."""

    content: bytes
    servers: tuple[tuple[Document, Server], ...]


def open_target(target: Target) -> Opened:
    """Read a file; DocumentError, FileError."""
    return opened(target, read_client_file(target.path))


def opened(target: Target, content: bytes) -> Opened:
    """The entries in a file's bytes, once for each row that knows it; each entry once."""
    text = decoded(content, target.path)
    found: dict[KeyPath, tuple[Document, Server]] = {}
    for row in target.rows:
        document = read(text, target.path, row.syntax)
        for server in servers_in(document, row):
            found.setdefault(server.path, (document, server))
    return Opened(content, tuple(found.values()))


def whole(target: Target, group: Group, reason: str, hint: str = "") -> FilePlan:
    """The plan of a file of which nothing can be done."""
    outcome = Outcome(group, "", target.rows[0].name, reason, hint)
    return FilePlan(target.path, target.rows, (outcome,))


def unreadable(target: Target, error: JailError) -> FilePlan:
    """The plan of a file that cannot be read; an empty one is only left."""
    if error.message == "the file is empty":
        return whole(target, Group.SKIPPED, "the file is empty")
    where = f", line {error.where.line}, column {error.where.column}" if error.where else ""
    return whole(target, Group.REFUSED, error.message + where, error.hint)


def _why_not(given: Circumstances, target: Target) -> str:
    if is_managed_file(target.path, given.root):
        return "it is your administrator's"
    never = why_never(given.ground, target.path)
    managed = (why_managed(row, given.root) for row in target.rows)
    busy = _lock_of(target.path)
    return never or next(filter(None, managed), "") or why_not_replaceable(target.path) or busy


def _lock_of(path: str) -> str:
    """Whether Cline holds its lock, a directory beside the file."""
    is_locked = os.path.isdir(os.path.realpath(path) + ".lock")
    return "its client is writing it right now (its .lock directory is there)" if is_locked else ""


def _wrapped(given: Circumstances, target: Target, found: Opened, names: Names) -> FilePlan:
    outcomes: list[Outcome] = []
    policies: list[NewPolicy] = []
    entries: list[WrappedEntry] = []
    changes: list[tuple[Document, Change, Row]] = []
    left: list[str] = []
    if not found.servers:
        return whole(target, Group.SKIPPED, "there are no servers in it")
    for document, server in found.servers:
        if not given.is_meant(server):
            if server.state is State.BARE:
                left.append(mark_of(server))
            continue
        outcome, change, policy = _one(given, document, server, names)
        outcomes.append(outcome)
        if change is not None:
            changes.append((document, change, server.row))
            entry = WrappedEntry(server.path, server.row.client, outcome.policy, change.remembered)
            entries.append(entry)
        if policy is not None:
            policies.append(policy)
    if not changes:
        return FilePlan(target.path, target.rows, tuple(outcomes), found.content, found.content)
    after, step = carried_out(found, changes, tuple(entry.path for entry in entries))
    record = _recorded(given.places, target.path, step, entries, left)
    return FilePlan(
        target.path, target.rows, tuple(outcomes), found.content, after, tuple(policies), record
    )


def _one(
    given: Circumstances, document: Document, server: Server, names: Names
) -> tuple[Outcome, Change | None, NewPolicy | None]:
    row = server.row
    if server.state is not State.BARE:
        group = {State.WRAPPED: Group.ALREADY, State.REFUSED: Group.REFUSED}.get(
            server.state, Group.SKIPPED
        )
        reason = server.reason or _of_ours(server)
        return Outcome(group, server.name, row.name, reason, within=server.within), None, None
    try:
        if re.search(row.fills.value, given.program):
            raise DocumentError(f"{row.name} would change the path '{given.program}'")
        words = command_words(server, is_file=os.path.isfile)
        loaders = loaders_of(server)
        chosen = names.choose(server.name, row.client, Wanted(words, loaders))
        change = wrap_entry(
            document, server, program=given.program, policy=chosen.name, is_file=os.path.isfile
        )
        if chosen.is_new:
            names.texts[chosen.name] = _policy_text(given, server, chosen.name, words)
        text = names.texts.get(chosen.name)
        policy = None if text is None else NewPolicy(chosen.name, text)
    except JailError as error:
        refused = Outcome(
            Group.REFUSED, server.name, row.name, error.message, error.hint, server.within
        )
        return refused, None, None
    after = (given.program, *wrapped_words(chosen.name), *words)
    outcome = Outcome(
        Group.DONE,
        server.name,
        row.name,
        within=server.within,
        before=words,
        after=after,
        policy=chosen.name,
        policy_is_new=chosen.is_new,
        moved=tuple(change.remembered.variables),
    )
    return outcome, change, policy


def _of_ours(server: Server) -> str:
    """What there is to say of an entry that starts mcp-jail already."""
    if server.ours is None or server.ours.command:
        return ""
    return "somebody wrote it by hand"


def _policy_text(given: Circumstances, server: Server, name: str, words: tuple[str, ...]) -> str:
    launch = server.launch
    entry = ServerEntry(
        name, words, {} if launch is None else launch.variables, launch.cwd if launch else None
    )
    environ, home = given.ground.environ, given.ground.home
    offered = offers(words, environ=environ, cwd=launch.cwd if launch and launch.cwd else home)
    try:
        return starter_policy(entry, home=home, offers=offered)
    except JailError:  # words that no policy can hold: then it names no command
        nameless = msgspec.structs.replace(entry, command=())
        return starter_policy(nameless, home=home, offers=offered)


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


def mark_of(server: Server) -> str:
    """An entry with what it starts: another command under its name is another entry."""
    words = () if server.launch is None else server.launch.words
    return digest_of("\0".join([*map(str, server.path), "", *words]).encode())


def _recorded(
    places: Places, path: str, step: Step, entries: Sequence[WrappedEntry], left: Sequence[str]
) -> WrappedFile:
    known = read_wrapped(places, os.path.realpath(path))
    new = {entry.path for entry in entries}
    return WrappedFile(
        known.path,
        (*known.chain_to(step.before), step),
        (*(entry for entry in known.entries if entry.path not in new), *entries),
        tuple(left),
    )
