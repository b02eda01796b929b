"""A person's answer to a review, carried out: in the audit, then in the lock, or not at all.

The answer is bound to what was shown. Under the lock of the directory, both files are read again
and the review is made anew; where its digest is another one, something changed between the showing
and the answer, and nothing is done. The entries are written before the lock is, so a lock never
holds what no entry tells; a kill in between leaves an entry and the old lock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any

from mcp_jail.core.approved.lock import Lock, is_blank
from mcp_jail.core.approved.review import Review, approved_after, rejected_after, waits
from mcp_jail.core.conversation.replies import item_entry
from mcp_jail.core.recorded.audit import Entry, Kind
from mcp_jail.errors import ExitCode, JailError
from mcp_jail.store.chains import begin_chain
from mcp_jail.store.locks import LockFiles


class Answer(Enum):
    """What a person says to what they were shown."""

    APPROVED = "approved"
    REJECTED = "rejected"


class ChangedMeanwhileError(JailError):
    """What would be approved is not what was shown; nothing was done."""

    exit_code = ExitCode.DRIFT


# Makes the review anew out of the lock and what waits, as they are now.
Again = Callable[[Lock | None, Lock | None], Review]


def carry_out(
    answer: Answer, shown: Review, again: Again, *, files: LockFiles, audit: str, name: str
) -> Lock:
    """Carry an answer out; the lock that holds now.

    ChangedMeanwhileError, AuditError, LockError: then the lock is as it was.
    """
    with files.alone():
        approved, pending = files.read(), files.read_pending()
        now = again(approved, pending)
        if now.digest != shown.digest:
            raise ChangedMeanwhileError(
                "what is waiting changed while it was shown; nothing was done",
                hint="look at it again",
            )
        with begin_chain(audit) as write:
            write([_start(name), *_entries(answer, now)])
            lock = approved_after(now) if answer is Answer.APPROVED else rejected_after(now)
            files.replace(lock)
            if pending is not None:
                files.replace_pending(pending if waits(lock, pending) else None)
            write([Entry(kind=Kind.END, name=name, reason="written")])
    return lock


def _start(name: str) -> Entry:
    return Entry(kind=Kind.START, name=name, reason="a person answers what waits for approval")


def _entries(answer: Answer, now: Review) -> Iterator[Entry]:
    """One entry for the first lock, and one for each item."""
    drifts = now.turned_down
    if answer is Answer.APPROVED:
        drifts = tuple(each for each in now.drifts if each in now.taken_up + now.taken_out)
        if is_blank(now.approved):
            detail: dict[str, Any] = {"items": len(drifts), "digest": now.digest}
            yield Entry(kind=Kind.LOCK, name=now.seen.name, verdict="created", detail=detail)
    for each in drifts:
        yield item_entry(each, answer.value)
