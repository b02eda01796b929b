"""The lock of one run: read at the start, taken up when a person approves, written on first trust.

A policy's lock is read before the server is let go; a damaged one refuses the start. Another launch
than the approved one is refused too: what was approved of a server says nothing about another.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import msgspec

from mcp_jail.core.approved.catalogue import Catalogue
from mcp_jail.core.approved.listed import Item, Page, Standing
from mcp_jail.core.approved.lock import (
    COMMAND,
    NO_ERA,
    ItemKind,
    Lock,
    Pin,
    key_of,
    pin,
    without_approvals,
)
from mcp_jail.core.conversation.events import AwaitReview, LockChanged, TrustFirst
from mcp_jail.core.policy import LockFirst
from mcp_jail.core.text.command_shown import shown_command
from mcp_jail.errors import JailError, LaunchMismatchError
from mcp_jail.proxy.identity import advice, changes, launch_identity
from mcp_jail.proxy.lock_place import proposal_path
from mcp_jail.proxy.prepare import Judged, Prepared
from mcp_jail.store.locks import LockFiles, Version, lock_files, read_proposal
from mcp_jail.store.state_key import state_key

# Seconds between two looks at the lock file while messages pass; one look is a stat(2).
LOOK_SECONDS: Final = 0.25

# Seconds between two looks while something waits for a person: then an idle run looks too.
WAITING_SECONDS: Final = 1.0


class Locked(msgspec.Struct, frozen=True):
    """What a run knows of its lock at the start."""

    files: LockFiles
    lock: Lock | None
    proposal: Lock | None
    version: Version | None


def read_locked(prepared: Prepared) -> Locked:
    """The lock of a policy; LockError for a damaged one, PolicyError for a lock.file."""
    files = lock_files(prepared.judged.on_disk, prepared.judged.state_name)
    if not prepared.policy.lock.enabled:
        return Locked(files, None, None, None)
    version = files.version()  # before it is read: a later change is then seen
    path = proposal_path(prepared.judged)
    proposal = None if path is None else read_proposal(path)
    return Locked(files, files.read(), proposal, version)


def new_catalogue(prepared: Prepared, locked: Locked) -> Catalogue:
    """The catalogue of a run; LaunchMismatchError when another server is started than approved.

    What is started instead is then left for a person to look at.
    """
    policy = prepared.policy.lock
    name = prepared.judged.state_name
    catalogue = Catalogue(
        name, policy, locked.lock, locked.proposal, called=called(prepared.judged)
    )
    if not policy.enabled:
        return catalogue
    identity = _identity(prepared)
    launch = Item(COMMAND, identity)
    page = Page(ItemKind.LAUNCH, NO_ERA, (launch,), is_first=True, is_last=True)
    catalogue.compare(page)
    if locked.lock is None:
        return catalogue
    if ItemKind.LAUNCH not in locked.lock.kinds and policy.first is LockFirst.REVIEW:
        # What was approved of some server says nothing of this one.
        catalogue.replace(without_approvals(locked.lock))
        return catalogue
    if catalogue.standing(ItemKind.LAUNCH, COMMAND) is not Standing.APPROVED:
        with suppress(JailError):  # the mismatch is the error to tell
            locked.files.write_pending(catalogue.seen)
        raise _mismatch(prepared, locked.lock, identity)
    return catalogue


def _mismatch(prepared: Prepared, lock: Lock, now: dict[str, Any]) -> LaunchMismatchError:
    """The error that tells how the launch differs from the approved one, where one is known."""
    pins = lock.items.get(key_of(ItemKind.LAUNCH, COMMAND), ())
    approved = pins[-1].value if pins else now
    look = f"look at it with: mcp-jail diff {called(prepared.judged)}"
    return LaunchMismatchError(
        "another server is started than the one you approved",
        hint="; ".join(filter(None, (look, advice(approved, now)))),
        said=changes(approved, now),
    )


def unclaimed(prepared: Prepared, lock: Lock | None) -> str:
    """What to say of a policy that is for no command yet, so that whoever starts gets its jail."""
    server = prepared.policy.server
    is_named = prepared.package is not None or (server is not None and bool(server.command))
    if is_named or (lock is not None and key_of(ItemKind.LAUNCH, COMMAND) in lock.items):
        return ""
    return (
        f"warning: the policy names no command and none was approved, so any that an entry starts "
        f"by its name gets what it shares; now that is: {shown_command(prepared.plan.command)}"
    )


def launch_pin(prepared: Prepared) -> Pin:
    """What would be started now, as a lock pins it."""
    return pin(ItemKind.LAUNCH, _identity(prepared), NO_ERA)


def _identity(prepared: Prepared) -> dict[str, Any]:
    key = state_key(prepared.judged.on_disk)
    return launch_identity(prepared.plan, prepared.policy, prepared.package, key=key)


def called(judged: Judged) -> str:
    """How a command names this policy."""
    if judged.state_name == judged.policy.name:
        return judged.policy.name
    return f"--policy {judged.file.path}"


class LockKeeping:
    """The lock file while the server runs; `clock` is monotonic, in seconds.

    What cannot be read or written is told to the person, and approves nothing.
    """

    def __init__(
        self, locked: Locked, clock: Callable[[], float], tell: Callable[[str], None]
    ) -> None:
        self._tell = tell
        self._files = locked.files
        self._version = locked.version
        self._clock = clock
        self._next_look = clock() + LOOK_SECONDS
        self.is_waiting = False

    def seconds_left(self, now: float) -> float | None:
        """When an idle run has to look at the file, None where nobody is waited for."""
        return max(0.0, self._next_look - now) if self.is_waiting else None

    def keep(self, effect: AwaitReview | TrustFirst) -> LockChanged | None:
        """Write down what was seen; the lock that holds now, if another run was first."""
        self.is_waiting |= isinstance(effect, AwaitReview)
        try:
            return self._kept(effect)
        except JailError as error:
            self._tell(f"error: {error.message}")
            return LockChanged(None) if isinstance(effect, TrustFirst) else None

    def _kept(self, effect: AwaitReview | TrustFirst) -> LockChanged | None:
        if isinstance(effect, AwaitReview):
            self._files.write_pending(effect.seen)
            return None
        first = effect.lock
        holds = self._files.trust_first(first)
        self._version = self._files.version()
        is_ours = all(holds.items.get(key) == pins for key, pins in first.items.items())
        return None if is_ours else LockChanged(holds)

    def look(self) -> LockChanged | None:
        """The lock, if its file was written since; a damaged one approves nothing."""
        now = self._clock()
        if now < self._next_look:
            return None
        self._next_look = now + (WAITING_SECONDS if self.is_waiting else LOOK_SECONDS)
        version = self._files.version()
        if version == self._version:
            return None
        self._version = version
        try:
            return LockChanged(self._files.read())
        except JailError as error:
            self._tell(f"error: {error.message}; nothing is approved until it is mended")
            return LockChanged(None)
