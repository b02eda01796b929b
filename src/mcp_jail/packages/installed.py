"""An installed package as `run` needs it: its record, whether its tree is untouched, its programs.

All that a start loads of this room, with `tree` and `commands`.

    packages/npm/NAME@VERSION/record.json   what it is, the digest of the tree, its programs
    packages/npm/NAME@VERSION/files         the lines that the digest is made of
    packages/npm/NAME@VERSION/tree/         what the jail sees, and no more
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

import msgspec

from mcp_jail.core.packages import PackageKind, Pinned, canonical_name
from mcp_jail.errors import LaunchMismatchError, PackageError
from mcp_jail.packages import tree
from mcp_jail.packages.commands import Asked, read_command
from mcp_jail.store.files import FileError, read_private
from mcp_jail.store.places import Places

RECORD: Final = "record.json"
FILES: Final = "files"
TREE: Final = "tree"

RECORD_LIMIT: Final = 1 << 20  # bytes; a package has a hundred programs at most
FILES_LIMIT: Final = 128 << 20
HEAD: Final = 512  # bytes of a program that tell what runs it

# Changed files that a refusal names.
NAMED: Final = 5


class NotWholeError(PackageError):
    """A package that is not as it was installed."""

    def __init__(self, package: Pinned, why: str, policy: str = "NAME") -> None:
        super().__init__(
            f"{package} is not as it was installed: {why}",
            hint=f"mcp-jail install {policy} puts it back as the registry has it",
        )
        self.package = package
        self.why = why


@contextmanager
def cured_by_install(policy: str) -> Iterator[None]:
    """What is found not whole in here is told with the command that mends it."""
    try:
        yield
    except NotWholeError as error:
        raise NotWholeError(error.package, error.why, policy) from None


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """What was installed, as it was then."""

    v: int = 1
    package: Pinned
    digest: str  # of the tree
    stamp: str
    programs: dict[str, str]  # name to path in the tree
    interpreter: str = ""  # path in the tree of what runs the programs; empty: what PATH has
    integrity: str = ""  # what the registry says of the package itself
    spec: str = ""  # the range or tag of the command that it was installed for
    python: str = ""  # and the Python it asked for
    registries: dict[str, tuple[str, ...]] = {}  # by URL, the packages that came from it
    files: int
    size: int  # bytes
    t: int  # milliseconds since 1970, UTC


class Installed(msgspec.Struct, frozen=True):
    """A record and the directory it was read from."""

    folder: str
    record: Record

    @property
    def tree(self) -> str:
        """What a jail sees of it."""
        return os.path.join(self.folder, TREE)


def folder_of(places: Places, package: Pinned) -> str:
    """Where a package lies, or would."""
    return os.path.join(places.packages, package.kind.value, package.folder)


def find(places: Places, package: Pinned) -> Installed | None:
    """What is installed of a package; None where nothing is. PackageError for a damaged record."""
    folder = folder_of(places, package)
    path = os.path.join(folder, RECORD)
    try:
        record = msgspec.json.decode(read_private(path, limit=RECORD_LIMIT), type=Record)
    except FileNotFoundError:
        return None
    except (FileError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise NotWholeError(package, f"its record cannot be read: {error}") from None
    is_same = folder == folder_of(places, record.package)
    if record.v != 1 or not is_same:
        raise NotWholeError(package, f"its record is of another package: {record.package}")
    return Installed(folder, record)


def check(installed: Installed) -> bool:
    """Whether the stamp alone says that a tree is as it was installed, or its digest had to.

    PackageError, with the files, for a tree that was changed.
    """
    package = installed.record.package
    _refuse_without_python(installed)
    try:
        if tree.stamp_of(installed.tree) == installed.record.stamp:
            return True
        digest, now = tree.digest_of(installed.tree)
    except OSError as error:
        raise NotWholeError(package, f"its files cannot be read: {error}") from None
    if digest != installed.record.digest:
        raise NotWholeError(package, f"its files were changed since{_named(installed, now)}")
    return False


class Checking:
    """A check in a process of its own, while the guard gets on with the start."""

    def __init__(self, installed: Installed) -> None:
        self._installed = installed
        self._pid = os.fork()
        if not self._pid:
            is_same = False
            with suppress(OSError, PackageError):
                is_same = tree.stamp_of(installed.tree) == installed.record.stamp
            os._exit(not is_same)

    def wait(self) -> None:
        """Wait for it; where the stamp differs, or it died, check here. PackageError."""
        if self._pid and os.waitpid(self._pid, 0)[1]:
            check(self._installed)
        self._pid = 0


def hold(installed: Installed) -> int:
    """Keep a package from being removed for as long as this descriptor is open.

    PackageError for one that is gone, or another by now.
    """
    try:
        descriptor = os.open(installed.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        fcntl.flock(descriptor, fcntl.LOCK_SH)  # who holds it alone only renames it
        held, named = os.fstat(descriptor), os.stat(installed.folder)
    except OSError as error:
        raise NotWholeError(installed.record.package, f"it cannot be held: {error}") from None
    if held.st_ino != named.st_ino:
        raise NotWholeError(installed.record.package, "it was removed just now")
    return descriptor


def command_in(installed: Installed, words: tuple[str, ...]) -> tuple[str, ...]:
    """The words that start the installed program, for a command as a client has it.

    That is an `npx` or `uvx` command, or a program of the package with its arguments; no words at
    all are the package's own program. The version that the words ask for does not count: the
    policy has said which. LaunchMismatchError for another package, PackageError for no program.
    """
    record = installed.record
    _refuse_without_python(installed)
    asked = read_command(words)
    if asked is not None:
        _refuse_another(asked, record.package)
        program, arguments = asked.program, asked.arguments
    else:
        program, arguments = (words[0], words[1:]) if words else ("", ())
    path = record.programs[_program(record, program)]
    place = os.path.join(installed.tree, path)
    if not os.path.lexists(place):
        raise NotWholeError(record.package, f"'{path}' is not there")
    if record.interpreter:
        interpreter = os.path.join(installed.tree, record.interpreter)
        return (
            (interpreter, place, *arguments) if _is_for(place, b"python") else (place, *arguments)
        )
    return ("node", place, *arguments) if _is_for(place, b"node") else (place, *arguments)


def is_of(asked: Asked, package: Pinned) -> bool:
    """Whether a command asks for this package, whatever its version."""

    def called(kind: PackageKind, name: str) -> tuple[PackageKind, str]:
        return kind, canonical_name(kind, name)

    return called(asked.kind, asked.name) == called(package.kind, package.name)


def _refuse_without_python(installed: Installed) -> None:
    """A tree may be whole while the Python it was made from was removed."""
    interpreter = os.path.join(installed.tree, installed.record.interpreter)
    if os.path.islink(interpreter) and not os.path.exists(interpreter):
        why = f"'{os.readlink(interpreter)}', which runs it, is not there"
        raise NotWholeError(installed.record.package, why)


def _refuse_another(asked: Asked, package: Pinned) -> None:
    if not is_of(asked, package):
        raise LaunchMismatchError(
            f"the command starts {asked.kind.value} '{asked.name}', the policy pins {package}",
            hint="if you changed it yourself, change the policy's package to match",
        )


def _program(record: Record, asked: str) -> str:
    """The program that is meant: by its name, or the one that npx and uvx would take."""
    programs = record.programs
    plain = canonical_name(record.package.kind, record.package.name).partition("[")[0]
    own = plain.rpartition("/")[2]
    if asked in programs:
        return asked
    if not asked and own in programs:
        return own
    if not asked and len(set(programs.values())) == 1:
        return next(iter(programs))
    names = ", ".join(sorted(programs)) or "none"
    message = f"no program '{asked}' in" if asked else "it is not clear which program to start of"
    raise PackageError(f"{message} {record.package}", hint=f"its programs: {names}")


def _is_for(place: str, interpreter: bytes) -> bool:
    """Whether a script is one that this interpreter runs, without options of its own."""
    try:
        with open(place, "rb") as file:
            first = file.read(HEAD).partition(b"\n")[0].strip()
    except OSError:
        return False
    if not first.startswith(b"#!"):
        return interpreter == b"node" and place.endswith((".js", ".mjs", ".cjs"))
    words = first[2:].split()
    if words[:1] and words[0].endswith(b"/env"):
        words = words[1:]
    return len(words) == 1 and words[0].rpartition(b"/")[2].startswith(interpreter)


def _named(installed: Installed, now: bytes) -> str:
    try:
        before = read_private(os.path.join(installed.folder, FILES), limit=FILES_LIMIT)
    except (OSError, FileError):
        return ""
    paths = tree.changes(before, now)
    more = f" and {len(paths) - NAMED} more" if len(paths) > NAMED else ""
    return f": {', '.join(ascii(path) for path in paths[:NAMED])}{more}" if paths else ""


def not_installed(package: Pinned, policy: str) -> PackageError:
    """The error of a policy whose package is not there: a start never fetches anything."""
    return PackageError(f"{package} is not installed", hint=f"mcp-jail install {policy}")
