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

import msgspec

from mcp_jail.core.audit import Entry, Kind
from mcp_jail.core.lock import Drift, Lock, Pin
from mcp_jail.core.review import Review, approved_after, rejected_after, waits
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
) -> Lock | None:
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
            lock = approved
            if answer is Answer.APPROVED:
                lock = approved_after(now)
                files.replace(lock)
            _settle_pending(answer, now, lock, pending, files)
            write([Entry(kind=Kind.END, name=name, reason="written")])
    return lock


def _settle_pending(
    answer: Answer, now: Review, lock: Lock | None, pending: Lock | None, files: LockFiles
) -> None:
    """Leave what waits still, if anything does."""
    if pending is None:
        return
    rest = pending
    if answer is Answer.REJECTED:
        rest = rejected_after(msgspec.structs.replace(now, seen=pending))
    files.replace_pending(rest if waits(lock, rest) else None)


def _start(name: str) -> Entry:
    return Entry(kind=Kind.START, name=name, reason="a person answers what waits for approval")


def _entries(answer: Answer, now: Review) -> Iterator[Entry]:
    """One entry for the first lock, and one for each item."""
    drifts = now.drifts
    if answer is Answer.APPROVED:
        drifts = tuple(each for each in now.drifts if each in now.taken_up + now.taken_out)
        if now.approved is None:
            detail: dict[str, Any] = {"items": len(drifts), "digest": now.digest}
            yield Entry(kind=Kind.LOCK, name=now.seen.name, verdict="created", detail=detail)
    for each in drifts:
        yield _entry(answer, each)


def _entry(answer: Answer, drift: Drift) -> Entry:
    digests = {"approved": _digest(drift.approved), "seen": _digest(drift.seen)}
    return Entry(
        kind=Kind.LOCK,
        name=drift.key,
        verdict=answer.value,
        reason=drift.change.value,
        detail=digests,
    )


def _digest(pin: Pin | None) -> str:
    return "" if pin is None else pin.digest
