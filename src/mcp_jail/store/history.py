"""Reads audit files back: their lines one by one, their ends, and whether they are whole."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from mcp_jail.core.recorded.audit import MAX_LINE_BYTES, Anchor, Record, read_record
from mcp_jail.core.recorded.verify import Report, verify
from mcp_jail.errors import AuditError
from mcp_jail.store.files import FileError, open_plain
from mcp_jail.store.journal import anchor_of, rotated

_BLOCK_BYTES = 1024 * 1024


def files_of(path: str) -> list[str]:
    """The files one audit is spread over, oldest first; AuditError if there is none."""
    try:
        files = [*rotated(path), *([path] if os.path.lexists(path) else [])]
    except FileError as error:
        raise AuditError(error.message, hint=error.hint) from None
    if not files:
        raise AuditError(f"there is no audit file '{path}'", hint="it is made by the first `run`")
    return files


class Opened(NamedTuple):
    """An audit file that is held open; its lines are read to its end of now, and then it is not."""

    path: str
    descriptor: int


def open_all(path: str) -> tuple[list[Opened], list[AuditError]]:
    """All files of an audit, oldest first, and why others cannot be read.

    All at once: one that gets its number meanwhile is neither missed nor met twice.
    """
    opened: dict[tuple[int, int], Opened] = {}
    refused: dict[str, AuditError] = {}
    names: list[str] = []
    while names != (names := files_of(path)):
        for name in names:
            try:
                descriptor = open_audit(name)
            except AuditError as error:
                refused[name] = error
                continue
            status = os.fstat(descriptor)
            key = status.st_dev, status.st_ino
            if key in opened:
                os.close(descriptor)
            else:
                opened[key] = Opened(name, descriptor)
    return list(opened.values()), list(refused.values())


def read_lines(path: str) -> Iterator[bytes]:
    """The lines of a file without their newlines; one beyond any entry's size comes cut."""
    yield from lines_of(Opened(path, open_audit(path)))


def lines_of(file: Opened) -> Iterator[bytes]:
    """The same of a file that is open already."""
    path, descriptor = file
    try:
        rest = b""
        skipping = False  # inside a line too long to be an entry, whose first part was given
        while block := os.read(descriptor, _BLOCK_BYTES):
            *lines, rest = (rest + block).split(b"\n")
            yield from lines[1:] if skipping else lines
            skipping = skipping and not lines
            if skipping:
                rest = b""
            elif len(rest) > MAX_LINE_BYTES:
                yield rest[:MAX_LINE_BYTES]
                rest, skipping = b"", True
        if rest:
            yield rest
    except OSError as error:
        raise unreadable(path, error) from None
    finally:
        os.close(descriptor)


def read_records(path: str) -> Iterator[Record]:
    """The entries of a file; lines that are none are left out (`verify_file` tells them)."""
    for line in read_lines(path):
        try:
            yield read_record(line)
        except ValueError:
            continue


def has_audit(path: str) -> bool:
    """Whether anything was ever written to this audit; FileError where that cannot be seen."""
    return os.path.lexists(path) or bool(rotated(path))


class Last(NamedTuple):
    """The last entries of an audit, oldest first, the lines that are none, and what is not read."""

    records: list[Record]
    skipped: int
    troubles: list[AuditError]


def last_entries(path: str, count: int) -> Last:
    """The last entries over all files of an audit that can be read."""
    troubles: list[AuditError] = []
    try:
        files = files_of(path)
    except AuditError as error:
        return Last([], 0, [error])
    records, skipped = newest(_all_backwards(files, troubles), count)
    return Last(records, skipped, troubles)


def newest(backwards: Iterable[bytes], count: int) -> tuple[list[Record], int]:
    """The first entries of lines that come newest first; and as `last_entries`."""
    found: list[Record] = []
    skipped = 0
    for line in backwards:
        if len(found) >= count:
            break
        try:
            found.append(read_record(line))
        except ValueError:
            skipped += bool(line)  # a writer may end another's half line with an empty one
    return found[::-1], skipped


def verify_file(path: str) -> Report:
    """Check one file; its anchors are looked up in it and in the numbered files beside it."""
    return verify(read_lines(path), lambda anchor: anchor_holds(path, anchor))


def anchor_holds(path: str, anchor: Anchor) -> bool | None:
    """Whether a file still has the anchor's line ending at its offset; None without the file."""
    file = os.path.join(os.path.dirname(path), os.path.basename(anchor.file or path))
    if not os.path.lexists(file):
        return None
    descriptor = open_audit(file)
    try:
        if os.fstat(descriptor).st_size < anchor.offset:
            return False
        return anchor_of(descriptor, anchor.offset).sha256 == anchor.sha256
    except OSError as error:
        raise unreadable(file, error) from None
    finally:
        os.close(descriptor)


def current_anchor(path: str) -> Anchor:
    """The anchor of a file as it is now, with the file's name."""
    descriptor = open_audit(path)
    try:
        size = os.fstat(descriptor).st_size
        return anchor_of(descriptor, size, os.path.basename(path))
    except OSError as error:
        raise unreadable(path, error) from None
    finally:
        os.close(descriptor)


def open_audit(path: str) -> int:
    """A descriptor of an audit file; AuditError if there is none or it is not a plain file."""
    try:
        return open_plain(path, os.O_RDONLY)
    except FileNotFoundError:
        raise AuditError(f"there is no audit file '{path}'") from None
    except FileError as error:
        raise AuditError(f"audit: {error.message}", hint=error.hint) from None


def lines_before(descriptor: int, end: int) -> Iterator[bytes]:
    """The lines of a file's first bytes, the last one first."""
    rest = b""
    while end:
        begin = max(0, end - _BLOCK_BYTES)
        rest, *lines = (os.pread(descriptor, end - begin, begin) + rest).split(b"\n")
        yield from reversed(lines)
        rest = rest[-MAX_LINE_BYTES:]
        end = begin
    yield rest


def unreadable(path: str, error: OSError) -> AuditError:
    """The error of an audit file that the system does not let us read."""
    return AuditError(f"audit file '{path}' cannot be read: {error.strerror or error}")


def _all_backwards(files: list[str], troubles: list[AuditError]) -> Iterator[bytes]:
    """The lines of some files, the last one first; one that cannot be read hides no other."""
    for file in reversed(files):
        try:
            yield from _lines_backwards(file)
        except AuditError as error:
            troubles.append(error)


def _lines_backwards(path: str) -> Iterator[bytes]:
    descriptor = open_audit(path)
    try:
        yield from lines_before(descriptor, os.fstat(descriptor).st_size)
    except OSError as error:
        raise unreadable(path, error) from None
    finally:
        os.close(descriptor)
