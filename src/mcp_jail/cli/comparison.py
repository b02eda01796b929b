"""What was seen of a server held against what was approved: the ground of `diff` and `approve`.

What was seen (`cli/seeing.py`) is held against the approval of this user; where there is none,
against the lock file that the policy names, which is how a machine that approves nothing checks a
repository.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from mcp_jail.cli.inert_text import named
from mcp_jail.cli.seeing import LAUNCH_KEY, Files, Wanted, left, see
from mcp_jail.core.approved import lock as locks
from mcp_jail.core.approved import review as reviews
from mcp_jail.core.approved.ignored import restored_lock
from mcp_jail.core.approved.lock import ItemKind, Lock, Pin
from mcp_jail.core.approved.review import Review
from mcp_jail.errors import UsageError
from mcp_jail.proxy.live import Look
from mcp_jail.proxy.lock_place import proposal_path
from mcp_jail.proxy.locking import called
from mcp_jail.proxy.prepare import Judged, audit_path, judge
from mcp_jail.store.locks import LockFiles, lock_files, read_proposal

# Items that one line names; there may be thousands.
NAMED: Final = 5


class Purpose(msgspec.Struct, frozen=True, kw_only=True):
    """What a comparison is for.

    `again` is the command that a person may give with the server's command behind it. With
    `takes_proposal` the lock file stands in where nothing was approved; with `rejects` it is asked
    for to say no, also to what was approved.
    """

    again: str
    takes_proposal: bool = False
    rejects: bool = False


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """What differs, and where both sides come from."""

    judged: Judged
    files: LockFiles
    audit: str
    approved: Lock | None  # by this user
    proposal: Lock | None
    proposal_path: str | None
    seen: Lock | None  # None: nothing was seen yet
    look: Look | None  # where a look of our own shows it
    not_looked: str  # why a look that was needed came to nothing
    launch: Pin | None  # what would be started now, where that is known
    shown: Review
    others: int  # items that differ too and were not asked for
    purpose: Purpose

    @property
    def called(self) -> str:
        """How a command names the policy."""
        return called(self.judged)

    @property
    def is_first(self) -> bool:
        """Whether this user has approved nothing yet."""
        return locks.is_blank(self.approved)

    @property
    def rejected(self) -> tuple[str, ...]:
        """The items that were rejected and are still said, or were when somebody looked."""
        return () if self.approved is None else tuple(self.approved.rejected)

    @property
    def is_rejected_said(self) -> bool:
        """Whether a server still says what was rejected."""
        return self.seen is not None and bool(reviews.rejected_of(self.approved, self.seen))

    @property
    def left_out(self) -> tuple[str, ...]:
        """The items that no client gets, whatever is approved, as their names hide characters."""
        return () if self.seen is None else self.seen.left_out

    @property
    def proposal_differs(self) -> tuple[str, ...]:
        """The items for which the lock file proposes other words than were approved."""
        if self.approved is None or self.is_first or self.proposal is None:
            return ()
        ours, theirs = map(reviews.without_launch, (self.approved, self.proposal))
        theirs = restored_lock(theirs, ours, self.judged.policy.lock.ignore)
        return tuple(dict.fromkeys(each.key for each in locks.drift(ours, theirs)))

    @property
    def as_proposed(self) -> tuple[int, tuple[str, ...]]:
        """How many of the items shown are as the lock file proposes, and those that are not."""
        proposal = self.proposal or Lock(name="")
        others = tuple(
            each.key
            for each in self.shown.taken_up
            if each.seen is not None
            and each.key != LAUNCH_KEY
            and not proposal.approves(each.key, each.seen.digest)
        )
        return len(self.shown.taken_up) - len(others), tuple(dict.fromkeys(others))

    def again(self, approved: Lock | None, pending: Lock | None) -> Review:
        """The review out of the two files as they are now."""
        seen = self.seen if self.look is not None else left(pending, self.launch, approved)
        seen = seen or Lock(name=self.judged.state_name)
        seen = restored_lock(seen, approved, self.judged.policy.lock.ignore)
        names = tuple(each.key for each in self.shown.drifts) if self.shown.is_named else ()
        find = reviews.review_to_reject if self.purpose.rejects else reviews.review
        try:
            return find(approved, seen, names)
        except reviews.UnknownItemError:
            return find(approved, seen)


def compare(
    *,
    name: str | None,
    policy_file: str | None,
    command: tuple[str, ...],
    items: tuple[str, ...],
    is_live: Callable[[Lock | None, Lock | None], bool],
    purpose: Purpose,
) -> Comparison:
    """Hold what was seen against what was approved; `is_live` decides by lock and what waits.

    Where the last run saw only a part, the server is looked at anyway, if it can be.
    UsageError for a policy without a lock or an item that does not differ; LookError, LockError,
    and what `prepare` raises.
    """
    judged = judge(name=name, policy_file=policy_file)
    return compare_judged(judged, command=command, items=items, is_live=is_live, purpose=purpose)


def compare_judged(
    judged: Judged,
    *,
    command: tuple[str, ...],
    items: tuple[str, ...],
    is_live: Callable[[Lock | None, Lock | None], bool],
    purpose: Purpose,
) -> Comparison:
    """The same for a policy that was read, or for what it is about to become."""
    if not judged.policy.lock.enabled:
        message = f"policy '{judged.policy.name}' keeps no lock: lock.enabled is false"
        raise UsageError(message, hint="take the key out, and the server's words must be approved")
    files = lock_files(judged.on_disk, judged.state_name)
    approved, pending = files.read(), files.read_pending()
    path = proposal_path(judged)
    proposal = None if path is None else read_proposal(path)
    wanted = Wanted(command, purpose.again, is_live=is_live(approved, pending))
    side = see(judged, Files(approved, pending, proposal), wanted)
    stands_in = proposal if purpose.takes_proposal and locks.is_blank(approved) else None
    seen = side.seen
    if seen is not None:
        seen = restored_lock(seen, stands_in or approved, judged.policy.lock.ignore)
    shown, others = _review(approved, stands_in, seen, items, rejects=purpose.rejects)
    return Comparison(
        judged=judged,
        files=files,
        audit=audit_path(judged),
        approved=approved,
        proposal=proposal,
        proposal_path=path,
        seen=seen,
        look=side.look,
        not_looked=side.not_looked,
        launch=side.launch,
        shown=shown,
        others=others,
        purpose=purpose,
    )


def some(keys: tuple[str, ...]) -> str:
    """A few items by name."""
    more = f" and {len(keys) - NAMED:,} more" if len(keys) > NAMED else ""
    return ", ".join(named(key) for key in keys[:NAMED]) + more


def _review(
    approved: Lock | None,
    proposal: Lock | None,
    seen: Lock | None,
    items: tuple[str, ...],
    *,
    rejects: bool,
) -> tuple[Review, int]:
    """The review of the items that were asked for, and how many differ beside them."""
    seen = seen or Lock(name="")
    if proposal is not None and ItemKind.LAUNCH not in proposal.kinds:
        seen = reviews.without_launch(seen)  # a lock file leaves out what differs by machine
    find = reviews.review_to_reject if rejects else reviews.review
    every = find(proposal or approved, seen)
    try:
        shown = find(proposal or approved, seen, items)
    except reviews.UnknownItemError as error:
        if not every.drifts and not rejects:
            return every, 0
        hint = f"these do: {some(tuple(dict.fromkeys(each.key for each in every.drifts)))}"
        what = "differs or was approved" if rejects else "differs"
        message = f"no item '{named(error.args[0])}' {what}"
        raise UsageError(message, hint=hint if every.drifts else "") from None
    return shown, len([each for each in every.drifts if each not in shown.drifts])
