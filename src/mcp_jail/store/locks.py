"""Lock files: what was approved of each server, and what was seen and waits for approval.

`locks/NAME.json` is written by whoever approves, and by a first contact that a policy trusts; each
time whole, under one advisory lock for the directory, so that several processes never lose each
other's words and a kill leaves the old file or the new one. `pending/NAME.json` is what the last
run saw that was not approved. Two directories, since a policy may be called `x.pending`.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import msgspec

from mcp_jail.core.approved.lock import (
    LOCK_LIMIT,
    Lock,
    kind_of,
    read_lock,
    without_rejections,
    write_lock,
)
from mcp_jail.errors import JailError
from mcp_jail.store.files import (
    FileError,
    make_private_folder,
    read_private,
    replace_private,
)
from mcp_jail.store.places import Places
from mcp_jail.store.straight_files import read_straight, replace_straight

# What tells one version of a file from the next: replaced files have another inode.
Version = tuple[int, int, int]


class LockError(JailError):
    """A lock file that cannot be used as it is; nothing is approved by it."""


class LockFiles(msgspec.Struct, frozen=True):
    """The two files of one policy."""

    lock: str
    pending: str

    def read(self) -> Lock | None:
        """What was approved, None before anything was; LockError for a damaged or foreign file."""
        return _read(self.lock, "what you approved", private=True)

    def read_pending(self) -> Lock | None:
        """What waits for approval; LockError for a damaged or foreign file."""
        return _read(self.pending, "what waits for your approval", private=True)

    def write_pending(self, seen: Lock) -> None:
        """Leave what was seen for a person to look at; the last run's word counts."""
        make_private_folder(os.path.dirname(self.pending))
        with self.alone():
            replace_private(self.pending, write_lock(seen))

    def replace_pending(self, seen: Lock | None) -> None:
        """What still waits after an answer, None: nothing; only within `alone`."""
        if seen is not None:
            replace_private(self.pending, write_lock(seen))
            return
        with suppress(FileNotFoundError):
            os.unlink(self.pending)

    def replace(self, lock: Lock) -> None:
        """Put another lock in its place; only within `alone`."""
        replace_private(self.lock, write_lock(lock))

    def change(self, update: Callable[[Lock | None], Lock]) -> Lock:
        """Replace the lock by what `update` makes of it, while nobody else changes it."""
        with self.alone():
            lock = update(self.read())
            self.replace(lock)
        return lock

    def trust_first(self, first: Lock) -> Lock:
        """Add the kinds that no lock knows yet; the lock that holds now.

        Another run may have been first: then its pins stay, and ours are held against them.
        """

        def merged(lock: Lock | None) -> Lock:
            old = lock or Lock(name=first.name)
            known = {*old.kinds, *old.reviewed}
            new = [kind for kind in first.kinds if kind not in known]
            items = {
                key: pins
                for key, pins in first.items.items()
                if key not in old.items and kind_of(key) not in known
            }
            return msgspec.structs.replace(
                old,
                kinds=(*old.kinds, *new),
                items=old.items | items,
                peers=first.peers | old.peers,
            )

        return self.change(merged)

    def version(self) -> Version | None:
        """What tells this lock file from another one in its place; None without one."""
        try:
            status = os.stat(self.lock, follow_symlinks=False)
        except OSError:
            return None
        return (status.st_ino, status.st_mtime_ns, status.st_size)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep everybody else from writing either file; never while a person is waited for.

        It is the directory's lock, which the kernel takes back from whoever dies (flock(2)).
        """
        folder = os.path.dirname(self.lock)
        make_private_folder(folder)
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


def lock_files(places: Places, name: str) -> LockFiles:
    """The lock files of a policy's name."""
    return LockFiles(places.lock(name), places.pending(name))


def read_proposal(path: str) -> Lock | None:
    """A lock file that a repository proposes: anyone may have written it; None without one.

    What it rejects is not heard: whoever wrote it does not say what this user is asked.
    """
    lock = _read(path, _PROPOSED, private=False)
    return None if lock is None else without_rejections(lock)


def write_proposal(path: str, lock: Lock) -> None:
    """Write what was approved as a proposal for others; readable by all, as a repository's is.

    LockError where something else than a lock stands there, or no directory does.
    """
    _read(path, _PROPOSED, private=False)
    try:
        replace_straight(path, write_lock(lock), mode=0o644)
    except FileNotFoundError:
        folder = os.path.dirname(path)
        message = f"the directory '{folder}' of lock.file is not there"
        raise LockError(message, hint=f"mkdir -p {folder}") from None


_PROPOSED = "what lock.file proposes"


def _read(path: str, what: str, *, private: bool) -> Lock | None:
    read = read_private if private else read_straight
    try:
        return read_lock(read(path, limit=LOCK_LIMIT))
    except FileNotFoundError:
        return None
    except FileError as error:
        raise LockError(f"{what}: {error.message}", hint=error.hint) from None
    except ValueError as error:
        raise LockError(
            f"{what} cannot be read from '{path}': {error}",
            hint=_CURE if private else _CURE_OF_PROPOSAL,
        ) from None


_CURE = "nothing is approved by it; move it away to approve anew"
_CURE_OF_PROPOSAL = "it is written over by a lock only if it is one: move it away, or name another"
