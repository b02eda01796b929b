"""From a package's name to a tree in its place: resolve, fetch in a jail, settle, record, place.

What runs in a jail is handed in (`Jails`), since jails are built elsewhere. Nothing is ever half
there: a draft becomes the package by one rename, and a draft whose maker is gone is removed by
whoever comes next.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from enum import Enum
from typing import Final, Protocol

import msgspec

from mcp_jail.core.packages import PackageKind, Pinned
from mcp_jail.errors import PackageError
from mcp_jail.packages import tree
from mcp_jail.packages.commands import Asked
from mcp_jail.packages.installed import (
    FILES,
    RECORD,
    TREE,
    Installed,
    Record,
    check,
    find,
    folder_of,
)
from mcp_jail.packages.registries import Proxy, Reach
from mcp_jail.store.files import make_private_folder, replace_private
from mcp_jail.store.places import Places

# What begins the names of directories that are no packages: drafts, and what is being removed.
DRAFT: Final = ".draft-"
GONE: Final = ".gone-"


class Phase(Enum):
    """What an install is at."""

    RESOLVING = "asking the registry"
    FETCHING = "fetching, in a jail"
    SCRIPTS = "running install scripts, in a jail without a network"
    READING = "reading every file"


Tell = Callable[[Phase], None]


INSIDE_HOME: Final = "{home}"


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """A command that is run once in a jail of its own, to its end.

    It sees no directory of the user's, may write `folder`, which it sees as `place`, and reach
    `hosts`, by `proxy` where there is one. `files` are put below its HOME, which words and values
    of the environment call `INSIDE_HOME`. `programs` are others that it needs. One that `is_alone`
    may start no process: no program but its own ever runs there, whatever a package says.
    """

    command: tuple[str, ...]
    env: dict[str, str] = {}
    files: dict[str, bytes] = {}
    folder: str | None = None
    place: str | None = None
    hosts: tuple[Reach, ...] = ()
    proxy: Proxy | None = None
    programs: tuple[str, ...] = ()
    is_alone: bool = False


class Ran(msgspec.Struct, frozen=True, kw_only=True):
    """How a step went: its exit code, what it wrote, the hosts it was refused.

    `failed` says why hosts that it may reach could not be.
    """

    code: int
    out: bytes
    errors: str
    refused: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()


class Jails(Protocol):
    """Finds programs of the user's, and runs steps."""

    def find(self, program: str) -> str | None:
        """Where a program lies that a command names; None where there is none."""

    def shown(self, program: str) -> str | None:
        """How a jail shows this program: not by links that lie where it shows nothing."""

    def run(self, step: Step) -> Ran:
        """Run a step; JailBuildError where no jail can be built."""


class Fetched(msgspec.Struct, frozen=True, kw_only=True):
    """What a kind of package knows of a tree that it has made."""

    programs: dict[str, str]
    interpreter: str = ""
    integrity: str = ""
    registries: dict[str, tuple[str, ...]] = {}  # what came from where, by URL
    links_out: frozenset[str] = frozenset()


class Maker(Protocol):
    """One kind of package: how its registry is asked and its trees are made."""

    def newest(self, name: str, spec: str) -> str:
        """The version that a spec means now; PackageError."""

    def make(self, package: Pinned, folder: str, place: str, tell: Tell) -> Fetched:
        """Fill an empty directory, which will lie at `place`; PackageError."""


def install(
    places: Places, package: Pinned, maker: Maker, tell: Tell, asked: Asked | None = None
) -> Installed:
    """The package in its place, as it is there already or newly made; PackageError.

    What a command asked for is kept with it, for whoever looks for a newer version.
    """
    known = whole(places, package)
    if known is not None:
        return known if asked is None else _noted(known, asked)
    with _draft(places) as draft:
        final = folder_of(places, package)
        folder = os.path.join(draft, TREE)
        os.mkdir(folder, 0o700)
        fetched = maker.make(package, folder, os.path.join(final, TREE), tell)
        tell(Phase.READING)
        tree.settle(folder, fetched.links_out)
        measured = tree.measure(folder)
        record = Record(
            package=package,
            digest=measured.digest,
            stamp=measured.stamp,
            programs=fetched.programs,
            interpreter=fetched.interpreter,
            integrity=fetched.integrity,
            registries=fetched.registries,
            spec="" if asked is None else asked.wanted,
            python="" if asked is None else asked.python,
            files=measured.files,
            size=measured.size,
            t=time.time_ns() // 1_000_000,
        )
        replace_private(os.path.join(draft, FILES), measured.lines)
        replace_private(os.path.join(draft, RECORD), msgspec.json.encode(record))
        made = _put(places, draft, Installed(final, record))
    sweep(places)
    return made


def whole(places: Places, package: Pinned) -> Installed | None:
    """What is installed and as it was installed; a stamp that lies behind is renewed."""
    try:
        known = find(places, package)
        if known is None or check(known):
            return known
    except PackageError:
        return None
    measured = tree.measure(known.tree)
    if measured.digest != known.record.digest:
        return None
    record = msgspec.structs.replace(known.record, stamp=measured.stamp)
    replace_private(os.path.join(known.folder, RECORD), msgspec.json.encode(record))
    return Installed(known.folder, record)


def _noted(known: Installed, asked: Asked) -> Installed:
    """A package that is there already, for another command now."""
    record = msgspec.structs.replace(known.record, spec=asked.wanted)
    if record != known.record:
        replace_private(os.path.join(known.folder, RECORD), msgspec.json.encode(record))
    return Installed(known.folder, record)


def installed(places: Places) -> Iterator[tuple[PackageKind, str]]:
    """The kind and the directory of each package that lies there, whole or not."""
    for kind in PackageKind:
        folder = os.path.join(places.packages, kind.value)
        with suppress(FileNotFoundError), os.scandir(folder) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                if entry.is_dir(follow_symlinks=False):
                    yield kind, entry.path


def remove(places: Places, folder: str) -> bool:
    """Remove a package; False for one that a running jail uses."""
    gone = os.path.join(places.packages, GONE + os.urandom(8).hex())
    with _alone(places), _held(folder) as is_held:
        if not is_held:
            return False
        os.rename(folder, gone)
    _delete(gone)
    return True


def sweep(places: Places) -> None:
    """Remove drafts whose makers are gone, and what was being removed when somebody was killed."""
    if not os.path.isdir(places.packages):
        return
    with _alone(places):
        for name in os.listdir(places.packages):
            path = os.path.join(places.packages, name)
            if name.startswith((DRAFT, GONE)):
                with _held(path) as is_held:
                    if is_held:
                        _delete(path)


@contextmanager
def _draft(places: Places) -> Iterator[str]:
    """A directory of ours beside the packages, held while we live and gone afterwards."""
    make_private_folder(places.packages)
    sweep(places)
    path = os.path.join(places.packages, DRAFT + os.urandom(8).hex())
    with ExitStack() as stack:
        with _alone(places):  # a sweep must not come between making and holding it
            os.mkdir(path, 0o700)
            stack.enter_context(_held(path))
        try:
            yield path
        finally:
            _delete(path)


def _put(places: Places, draft: str, made: Installed) -> Installed:
    """Give a draft its name. Another's who was first stays, if it is whole."""
    make_private_folder(os.path.dirname(made.folder))
    with _alone(places):
        first = whole(places, made.record.package)
        if first is not None:
            return first
        if os.path.lexists(made.folder):
            _put_away(places, made)
        os.rename(draft, made.folder)
    return made


def _put_away(places: Places, made: Installed) -> None:
    """Take a package that is not whole out of the way; it is swept later."""
    with _held(made.folder) as is_held:
        if not is_held:
            raise PackageError(
                f"{made.record.package} was changed, and a running server uses it",
                hint="end that server, then install again",
            )
        os.rename(made.folder, os.path.join(places.packages, GONE + os.urandom(8).hex()))


@contextmanager
def _alone(places: Places) -> Iterator[None]:
    """While nobody else names or removes packages; flock(2) ends with whoever holds it."""
    descriptor = os.open(places.packages, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def _held(path: str) -> Iterator[bool]:
    """Hold a directory; False where somebody else does."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        yield _is_locked(descriptor)
    finally:
        os.close(descriptor)


def _is_locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _delete(path: str) -> None:
    """Remove a directory with all in it, also what takes its owner's right to change it."""
    with suppress(FileNotFoundError):
        for folder, folders, _ in os.walk(path):
            for name in folders:
                inner = os.path.join(folder, name)
                if stat.S_ISDIR(os.lstat(inner).st_mode):
                    os.chmod(inner, 0o700)
        shutil.rmtree(path)
