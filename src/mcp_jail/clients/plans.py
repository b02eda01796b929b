"""What would be done to one file, and what becomes of each of its entries; values."""

from __future__ import annotations

import traceback
from enum import Enum

import msgspec

from mcp_jail.clients.catalogue import Row
from mcp_jail.clients.servers import Server
from mcp_jail.clients.targets import Target
from mcp_jail.errors import JailError
from mcp_jail.store.wrapped import Original, WrappedFile


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
    policy_is_unclaimed: bool = False  # it names no command, and none was approved or seen
    opens: str = ""  # what that policy gives
    moved: tuple[str, ...] = ()  # variables that go into the policy


class NewPolicy(msgspec.Struct, frozen=True):
    """A policy file that is to be made."""

    name: str
    text: str


class FilePlan(msgspec.Struct, frozen=True):
    """All that would be done to one file. `known` is our record of it now, `record` afterwards.

    With `is_gone` there is no file any more, and what we kept of it goes.
    """

    path: str
    rows: tuple[Row, ...]
    outcomes: tuple[Outcome, ...]
    before: bytes = b""
    after: bytes = b""
    policies: tuple[NewPolicy, ...] = ()
    known: WrappedFile | None = None
    record: WrappedFile | None = None
    dropped: Original | None = None  # a kept original that goes with this change
    notes: tuple[str, ...] = ()
    is_gone: bool = False

    @property
    def changes(self) -> bool:
        """Whether anything is to be written."""
        return self.before != self.after or self.is_gone


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


def faulty(target: Target, fault: Exception) -> FilePlan:
    """The plan of a file at which this program fails: a mistake of ours, which ends no other's."""
    last = traceback.extract_tb(fault.__traceback__)[-1]
    where = f"{last.filename.rpartition('/')[2]}, line {last.lineno}"
    reason = f"a fault of mcp-jail ({type(fault).__name__} in {where}); it is left as it is"
    return whole(target, Group.REFUSED, reason, "please report it, with what is odd about the file")


def outcome_of(server: Server, group: Group, reason: str = "", hint: str = "") -> Outcome:
    """What there is to tell of an entry."""
    return Outcome(group, server.name, server.row.name, reason, hint, server.within)
