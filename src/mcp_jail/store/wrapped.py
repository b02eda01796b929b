"""What `wrap` did to each client's file: enough to take it back to the byte, and to notice a loss.

One private file for each client's file, under the digest of its path. No copy of the client's file
is in it: what was taken out, and where. It is sealed under the key of this installation, since what
it says is put into a client's file again: one that somebody edited is refused.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from hmac import compare_digest

import msgspec

from mcp_jail.core.sha256 import hmac_sha256
from mcp_jail.errors import JailError
from mcp_jail.store.files import (
    FileError,
    make_private_folder,
    names_in,
    read_private,
    replace_private,
    unusable,
)
from mcp_jail.store.places import Places
from mcp_jail.store.state_key import state_key

VERSION = 2

# Changes of one file that can be taken back one by one; beyond it, by what the entries say.
MAX_STEPS = 20


class Undo(msgspec.Struct, frozen=True, array_like=True):
    """What a change has done, seen from its result: `length` characters stand for `text`."""

    start: int
    length: int
    text: str


class Remembered(msgspec.Struct, frozen=True, omit_defaults=True):
    """What an entry was before, where the wrapped one does not say it."""

    without_args: bool = False
    line: str = ""  # the command line in one text, as it stood in the file
    meant: str = ""  # the text of that line
    words: tuple[str, ...] = ()  # the words of that line
    variables: dict[str, str] = {}  # those that were taken out


class WrappedEntry(msgspec.Struct, frozen=True):
    """An entry as `wrap` left it: where it stood, by its name, and a digest of what it says.

    `command` is the server's own, for people to read: without its secrets.
    """

    path: tuple[str | int, ...]
    client: str
    policy: str
    says: str
    remembered: Remembered = Remembered()
    command: tuple[str, ...] = ()


class Step(msgspec.Struct, frozen=True):
    """One change of the file, between the digests of its bytes."""

    before: str
    after: str
    undo: tuple[Undo, ...]
    entries: tuple[tuple[str | int, ...], ...]


class Original(msgspec.Struct, frozen=True):
    """Where the first original of a file is kept, and the digest of its bytes."""

    path: str
    digest: str


class WrappedFile(msgspec.Struct, frozen=True):
    """All that is known of one client's file. `left` are entries a person chose to leave bare.

    `told` are those that could not be wrapped when it was, so that doctor tells them from new ones.
    """

    path: str
    steps: tuple[Step, ...] = ()
    entries: tuple[WrappedEntry, ...] = ()
    left: tuple[str, ...] = ()
    original: Original | None = None
    told: tuple[str, ...] = ()

    @property
    def is_wrapped(self) -> bool:
        """Whether anything of ours stands in the file, as far as is known."""
        return bool(self.entries or self.steps)

    def chain_to(self, digest: str) -> tuple[Step, ...]:
        """The steps that lead to a content of the file, none if it came about in another way."""
        steps = self.steps
        if not steps or steps[-1].after != digest:
            return ()
        start = len(steps) - 1
        while start > 0 and steps[start - 1].after == steps[start].before:
            start -= 1
        return steps[start:]


def digest_of(content: bytes) -> str:
    """The digest that steps name a content by."""
    return sha256(content).hexdigest()


def read_wrapped(places: Places, path: str) -> WrappedFile:
    """What is known of a client's file; FileError where the record is not as we wrote it."""
    record = _record(places, path)
    try:
        return _opened(places, record, read_private(record))
    except FileNotFoundError:
        return WrappedFile(path)


@contextmanager
def alone(places: Places) -> Iterator[None]:
    """While nobody else wraps or unwraps; never while a person is waited for.

    It is the directory's lock, which the kernel takes back from whoever dies (flock(2)).
    """
    make_folder(places)
    descriptor = os.open(_folder(places), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def all_wrapped(places: Places) -> tuple[list[WrappedFile], list[JailError]]:
    """Every file of a client that is wrapped, and what is wrong with records that are none."""
    folder = _folder(places)
    found: list[WrappedFile] = []
    wrong: list[JailError] = []
    for path in (os.path.join(folder, each) for each in names_in(folder) if each.endswith(".json")):
        try:
            found.append(_opened(places, path, read_private(path)))
        except FileNotFoundError:
            continue  # unwrapped meanwhile
        except JailError as error:
            wrong.append(error)
    return found, wrong


def write_wrapped(places: Places, wrapped: WrappedFile) -> None:
    """Keep what is known of a file, if anything is."""
    record = _record(places, wrapped.path)
    if not wrapped.is_wrapped and not wrapped.left and not wrapped.told:
        _unlink(record)
        return
    make_private_folder(_folder(places))
    kept = msgspec.structs.replace(wrapped, steps=wrapped.steps[-MAX_STEPS:])
    body = msgspec.json.encode(kept)
    sealed = _Sealed(VERSION, _seal(places, body), msgspec.Raw(body))
    replace_private(record, msgspec.json.encode(sealed))


def backup_in_state(places: Places, path: str, mark: str = "") -> str:
    """Where the first original lies when it cannot lie beside its file."""
    return os.path.join(_folder(places), f"{_name(path)}{mark}.bak")


def make_folder(places: Places) -> None:
    """Make the directory of records and backups."""
    make_private_folder(_folder(places))


def is_all_wrapped(places: Places) -> bool:
    """Whether a person asked for every client to be wrapped, so that a bare entry is a finding."""
    return os.path.lexists(os.path.join(_folder(places), _EVERY))


def note_all_wrapped(places: Places) -> None:
    """Remember that every client was to be wrapped."""
    make_folder(places)
    replace_private(os.path.join(_folder(places), _EVERY), b"")


def forget_all_wrapped(places: Places) -> None:
    """From now on a client's bare entries are its own affair."""
    _unlink(os.path.join(_folder(places), _EVERY))
    for known in all_wrapped(places)[0]:
        if not known.is_wrapped:
            _unlink(_record(places, known.path))


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise unusable(path, "cannot be removed", error) from None


_EVERY = "every-client"


def _folder(places: Places) -> str:
    return os.path.join(places.state, "clients")


def _name(path: str) -> str:
    return sha256(os.fsencode(path)).hexdigest()[:24]


def _record(places: Places, path: str) -> str:
    return os.path.join(_folder(places), f"{_name(path)}.json")


class _Sealed(msgspec.Struct, frozen=True):
    v: int
    seal: str = ""
    wrapped: msgspec.Raw = msgspec.Raw(b"null")


def _opened(places: Places, record: str, content: bytes) -> WrappedFile:
    hint = (
        f"rm {record} lets unwrap go by the entries; before that, look at the file as it was: it "
        "lies beside it or beside this record (.bak), and holds the variables that had moved"
    )
    try:
        sealed = msgspec.json.decode(content, type=_Sealed)
        if sealed.v != VERSION:
            message = f"'{record}' is of version {sealed.v}, expected {VERSION}"
            raise FileError(message, hint=hint)
        body = bytes(sealed.wrapped)
        is_ours = compare_digest(sealed.seal.encode(), _seal(places, body).encode())
        found = msgspec.json.decode(body, type=WrappedFile) if is_ours else None
    except msgspec.DecodeError as error:
        raise FileError(f"'{record}' is damaged: {error}", hint=hint) from None
    if found is None or _record(places, found.path) != record:
        message = f"'{record}' is not as mcp-jail wrote it, so nothing it says is put back"
        raise FileError(message, hint=hint)
    return found


def _seal(places: Places, body: bytes) -> str:
    return hmac_sha256(state_key(places), b"wrapped file\n" + body).hex()
