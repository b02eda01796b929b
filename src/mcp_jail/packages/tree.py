"""A tree of files as one digest, and the quick sign that nobody has touched it since.

The digest is SHA-256 over a line for each entry: what it is, the SHA-256 of its content, its path.
It says what the tree is, on any machine. The stamp is made of what stat(2) says of each file; a
write, a replacement or a change of rights changes its inode or ctime, which no ordinary user can
set. Equal stamps are taken for equal content; where they differ the digest decides.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from typing import Final

import msgspec

from mcp_jail.core.sha256 import quick_sha256, sha256
from mcp_jail.errors import PackageError

# Entries of one tree. The largest servers known have 60,000 files.
ENTRIES_LIMIT: Final = 500_000

PIECE: Final = 1 << 20  # bytes of a file that are read at once; some have a gigabyte of zeros

# Seconds between the last change of a file and its stamp: the kernel's clock for files goes on
# every 10 ms at least (CONFIG_HZ=100), and a write within the same tick would not be seen.
TICK: Final = 0.03

_WRITABLE: Final = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH
_SPECIAL: Final = stat.S_ISUID | stat.S_ISGID | stat.S_ISVTX
_FOLDER_MODE: Final = 0o700


class Measured(msgspec.Struct, frozen=True):
    """What a tree is: its digest, the stamp of its files, its lines, and how large it is."""

    digest: str
    stamp: str
    lines: bytes
    files: int
    size: int  # bytes


def stamp_of(top: str) -> str:
    """The stamp of a tree; some 5 us a file. OSError where it cannot be looked at."""
    cut = len(top)
    rows = [
        f"{entry.path[cut:]}\0{status.st_mode:o}\0{_own(status)}" for entry, status in _entries(top)
    ]
    rows.sort()
    return sha256("\n".join(rows).encode("utf-8", "surrogateescape")).hexdigest()


def measure(top: str) -> Measured:
    """Read every file of a tree. PackageError where it is changed meanwhile."""
    _wait_for_a_tick(top)
    before = stamp_of(top)
    lines, files, size = _lines(top)
    if stamp_of(top) != before:
        raise PackageError(f"'{top}' was changed while it was being read")
    text = b"".join(lines)
    return Measured(quick_sha256()(text).digest().hex(), before, text, files, size)


def digest_of(top: str) -> tuple[str, bytes]:
    """The digest of a tree as it is now, and the lines it is made of."""
    text = b"".join(_lines(top)[0])
    return quick_sha256()(text).digest().hex(), text


def changes(before: bytes, now: bytes) -> list[str]:
    """The paths of entries that two trees do not have alike, in order."""
    differing = set(before.splitlines()) ^ set(now.splitlines())
    paths = {line.split(b" ", 2)[2] for line in differing if line.count(b" ") >= _SPACES}
    return sorted(path.decode("utf-8", "replace") for path in paths)


def settle(top: str, links_out: frozenset[str] = frozenset()) -> None:
    """Make a tree that was just installed one to be kept; PackageError for what no package needs.

    Files lose every right to be written, and those that give more rights. Links must stay inside,
    but for those that lead to exactly one of `links_out`.
    """
    cut = len(top) + 1
    for entry, status in _entries(top):
        path = entry.path[cut:]
        if not path.isprintable():
            raise PackageError(f"the package has a file whose name cannot be shown: {path!r}")
        if stat.S_ISLNK(status.st_mode):
            target = os.readlink(entry.path)
            if target not in links_out and not _stays_inside(path, target):
                raise PackageError(f"the package has a link that leads out: '{path}' -> {target!r}")
        elif stat.S_ISDIR(status.st_mode):
            os.chmod(entry.path, _FOLDER_MODE)
        elif stat.S_ISREG(status.st_mode):
            mode = stat.S_IMODE(status.st_mode)
            os.chmod(entry.path, mode & ~(_WRITABLE | _SPECIAL) | stat.S_IRUSR)
        else:
            raise PackageError(f"the package has what is no file, directory or link: '{path}'")


# Between what an entry is, its content's hash and its path.
_SPACES: Final = 2


def _entries(top: str) -> Iterator[tuple[os.DirEntry[str], os.stat_result]]:
    """Every entry of a tree with its status, links themselves; a directory before what is in it."""
    if not stat.S_ISDIR(os.lstat(top).st_mode):
        raise NotADirectoryError(f"'{top}' is no directory of its own")
    waiting = [top]
    left = ENTRIES_LIMIT
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                left -= 1
                if left < 0:
                    raise PackageError(f"'{top}' has more than {ENTRIES_LIMIT} entries")
                status = entry.stat(follow_symlinks=False)
                yield entry, status
                if stat.S_ISDIR(status.st_mode):
                    waiting.append(entry.path)


def _own(status: os.stat_result) -> str:
    """What tells a file's content from any other's; a directory's is told by its entries.

    No device number: some file systems have another after each boot.
    """
    if stat.S_ISDIR(status.st_mode):
        return ""
    return f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino}"


def _lines(top: str) -> tuple[list[bytes], int, int]:
    """The lines of a tree by path, how many files it has and how many bytes these have."""
    cut = len(top) + 1
    found: list[tuple[bytes, bytes]] = []
    files = size = 0
    for entry, status in _entries(top):
        path = os.fsencode(entry.path[cut:])
        if stat.S_ISREG(status.st_mode):
            files, size = files + 1, size + status.st_size
        found.append((path, b"%b %b\n" % (_content(entry.path, status), path)))
    return [line for _, line in sorted(found)], files, size


def _content(path: str, status: os.stat_result) -> bytes:
    """What an entry is, and a hash of what it holds."""
    if stat.S_ISDIR(status.st_mode):
        return b"d -"
    digest = quick_sha256()
    if stat.S_ISLNK(status.st_mode):
        return b"l " + digest(os.fsencode(os.readlink(path))).digest().hex().encode()
    if not stat.S_ISREG(status.st_mode):
        return b"? -"
    kind = b"x " if status.st_mode & stat.S_IXUSR else b"f "
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    hashed = digest(b"")
    with open(descriptor, "rb", buffering=0) as file:
        while piece := file.read(PIECE):
            hashed.update(piece)
    return kind + hashed.digest().hex().encode()


def _stays_inside(path: str, target: str) -> bool:
    """Whether a link leads to a place in its tree, whatever other links stand on the way.

    `..` may only stand first, where it goes up real directories from where the link itself lies.
    """
    if target.startswith("/"):
        return False
    parts = [part for part in target.split("/") if part not in {"", "."}]
    ups = 0
    while ups < len(parts) and parts[ups] == "..":
        ups += 1
    return ".." not in parts[ups:] and ups <= path.count("/")


def _wait_for_a_tick(top: str) -> None:
    newest = max((status.st_ctime for _, status in _entries(top)), default=0.0)
    while 0 <= time.time() - newest < TICK:
        time.sleep(TICK / 3)
