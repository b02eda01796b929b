"""A client's file with other content: whole or not at all, with its mode, owner and attributes.

A link is written through, so that a dotfile manager's link stays one. Refused: a file that changed
since it was read, that is another user's, read-only, or has a second name.
"""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress

from mcp_jail.store.files import (
    FileError,
    create_private,
    open_plain,
    read_plain,
    sync_folder,
    unusable,
)
from mcp_jail.store.places import Places
from mcp_jail.store.wrapped import Original, backup_in_state, digest_of, make_folder

# Bytes of a client's file. `.claude.json` grows with its history; 5 MB are common, 50 were seen.
MAX_CLIENT_FILE = 64 * 1024 * 1024

BACKUP = ".mcp-jail.bak"


def read_client_file(path: str, limit: int = MAX_CLIENT_FILE) -> bytes:
    """The bytes of a client's file; FileNotFoundError, FileError."""
    return read_plain(path, limit=limit)


def why_not_replaceable(path: str) -> str:
    """Why a file would not be written, in words; empty where it would."""
    target = os.path.realpath(path)
    if _HALF.search(target):
        return "its path is no UTF-8, which no record of ours can hold"
    try:
        status = os.stat(target)
    except OSError as error:
        return error.strerror or str(error)
    if status.st_uid != os.geteuid() and os.geteuid() != 0:
        return f"it belongs to another user (uid {status.st_uid})"
    if not status.st_mode & stat.S_IWUSR:
        return "it is read-only"
    if status.st_nlink > 1:
        return "it has a second name (hard link), which would keep the old content"
    if not os.access(os.path.dirname(target), os.W_OK):
        return f"its directory '{os.path.dirname(target)}' is read-only"
    if os.path.isdir(target + ".lock"):  # Cline's
        return "its client is writing it right now (its .lock directory is there)"
    return ""


# What stands in a path for a byte that is no UTF-8.
_HALF = re.compile("[\ud800-\udfff]")


def keep_first(places: Places, path: str, content: bytes) -> tuple[Original, bool]:
    """Keep the first original beside the file, or in our state where that is a git work tree.

    A file of that name that somebody else made is left, and the original kept in our state. Also
    whether it was made now.
    """
    target, digest = os.path.realpath(path), digest_of(content)
    beside = () if in_git(target) else (target + BACKUP,)
    make_folder(places)
    in_state = (backup_in_state(places, target, mark) for mark in ("", f"-{digest[:12]}"))
    for backup in (*beside, *in_state):
        is_new = create_private(backup, content)
        original = Original(backup, digest)
        if is_new or is_kept(original):
            return original, is_new
    raise FileError(f"the original of '{path}' can be kept nowhere: '{backup}' is taken")


def is_kept(original: Original) -> bool:
    """Whether a kept original is there and is still the one we kept."""
    try:
        return digest_of(read_plain(original.path, limit=MAX_CLIENT_FILE)) == original.digest
    except (FileNotFoundError, FileError):
        return False


def drop_kept(original: Original) -> None:
    """Remove a kept original, if it is still the one we kept."""
    if is_kept(original):
        with suppress(OSError):
            os.unlink(original.path)


def in_git(path: str) -> bool:
    """Whether a file lies in a git work tree, where a backup could be committed."""
    folder = os.path.dirname(os.path.realpath(path))
    while True:
        if os.path.lexists(os.path.join(folder, ".git")):
            return True
        parent = os.path.dirname(folder)
        if parent == folder:
            return False
        folder = parent


def replace_client_file(path: str, before: bytes, after: bytes) -> None:
    """Put new content in a file's place; FileError where it is not as it was read."""
    target = os.path.realpath(path)
    why = why_not_replaceable(path)
    if why:
        raise FileError(f"'{path}' is not written: {why}")
    folder, name = os.path.split(target)
    draft = os.path.join(folder, f".{name[:100]}.{os.urandom(8).hex()}.new")
    try:
        _write_draft(draft, after, target)
        if read_client_file(target) != before:
            raise changed_meanwhile(path)
        os.rename(draft, target)
    except OSError as error:
        raise unusable(path, "cannot be replaced", error) from None
    finally:
        with suppress(FileNotFoundError):
            os.unlink(draft)
    sync_folder(folder)


def changed_meanwhile(path: str) -> FileError:
    """The error for a file, or our record of it, that is not as it was read."""
    return FileError(
        f"'{path}' has changed meanwhile; it is left as it is now",
        hint="quit the client that writes it, and try again",
    )


def sweep_drafts(path: str) -> None:
    """Remove what killed commands of ours left beside a file; only while nobody else writes."""
    folder, name = os.path.split(os.path.realpath(path))
    draft = re.compile(re.escape(f".{name[:100]}.") + r"[0-9a-f]{16}\.new")
    with suppress(OSError):
        for found in filter(draft.fullmatch, os.listdir(folder)):
            os.unlink(os.path.join(folder, found))


def _write_draft(draft: str, content: bytes, target: str) -> None:
    descriptor = open_plain(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    try:
        view = memoryview(content)
        while view:
            view = view[os.write(descriptor, view) :]
        _dress(descriptor, target)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _dress(descriptor: int, target: str) -> None:
    """Give the new file owner, mode and attributes of the old one."""
    status = os.stat(target)
    if (status.st_uid, status.st_gid) != (os.geteuid(), os.getegid()):
        try:
            os.fchown(descriptor, status.st_uid, status.st_gid)
        except PermissionError:  # a group that is not ours any more; the mode must not widen
            os.fchmod(descriptor, status.st_mode & stat.S_IRWXU)
            return
    os.fchmod(descriptor, stat.S_IMODE(status.st_mode))
    for name in _attributes(target):
        with suppress(OSError):  # those of the system are set by the system
            os.setxattr(descriptor, name, os.getxattr(target, name))


def _attributes(path: str) -> list[str]:
    try:
        return os.listxattr(path)
    except OSError:  # a file system without them
        return []
