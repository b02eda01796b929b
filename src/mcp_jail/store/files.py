"""Private files: made for us alone, replaced whole, and refused when somebody else could write.

Ours are 0600 in directories of 0700. A file we take orders from (policy, key, lock, audit) must be
a plain file of ours or root's that nobody else can write, and so must every directory above it:
who may write a directory may put another file in its place.
"""

from __future__ import annotations

import grp
import os
import pwd
import stat
from contextlib import suppress

from mcp_jail.errors import JailError

# A policy, key, lock or trust file beyond this is not one a person or we wrote.
MAX_FILE_BYTES = 16 * 1024 * 1024
FILE_MODE = 0o600
FOLDER_MODE = 0o700
_OPEN = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK  # a FIFO must not hold us


class FileError(JailError):
    """A file that is not as we need it: foreign, shared, a link, too large, unreadable."""


def make_private_folder(path: str) -> None:
    """Make a directory for us alone, with the missing ones above it; refuse a shared one."""
    try:
        os.makedirs(path, FOLDER_MODE, exist_ok=True)
    except OSError as error:
        raise unusable(path, "cannot be made", error) from None
    refuse_shared_folder(path)


def refuse_shared_folder(path: str, *, owners: tuple[int, ...] = ()) -> None:
    """Refuse a directory that others could put files into, itself or through one above it.

    Links on the way are followed as the system does; what counts is where they end.
    """
    folder = os.path.realpath(path)
    while True:
        try:
            status = os.stat(folder)
        except OSError as error:
            raise unusable(folder, "cannot be looked at", error) from None
        if not stat.S_ISDIR(status.st_mode):
            raise FileError(f"'{folder}' is not a directory")
        _refuse_foreign(folder, status, owners or _owners())
        if not status.st_mode & stat.S_ISVTX:  # in a sticky one, nobody replaces our entries
            _refuse_writable(folder, status, owners or _owners())
        parent = os.path.dirname(folder)
        if parent == folder:
            return
        folder = parent


def names_in(folder: str) -> list[str]:
    """The names in a directory of ours, none where there is no such; FileError if unreadable."""
    try:
        return sorted(os.listdir(folder))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise unusable(folder, "cannot be listed", error) from None


def read_private(path: str, *, limit: int = MAX_FILE_BYTES, only_root: bool = False) -> bytes:
    """The content of a file we trust; FileNotFoundError if there is none.

    Refused: links, anything but a plain file, another owner than us or root (or than root), a file
    or directory others can write, more than `limit` bytes.
    """
    descriptor = open_plain(path, os.O_RDONLY)
    try:
        owners = (0,) if only_root else _owners()
        refuse_shared_folder(os.path.dirname(os.path.abspath(path)), owners=owners)
        refuse_shared_file(path, os.fstat(descriptor), owners=owners)
        return read_all(path, descriptor, limit)
    finally:
        os.close(descriptor)


def read_hidden(path: str, *, limit: int = MAX_FILE_BYTES) -> bytes:
    """The content of a file that nobody but us can read; FileNotFoundError if there is none.

    Refused: what `read_private` refuses, and another owner than us, and any right of others.
    """
    descriptor = open_plain(path, os.O_RDONLY)
    try:
        owners = (os.geteuid(),)
        refuse_shared_folder(os.path.dirname(os.path.abspath(path)))
        status = os.fstat(descriptor)
        refuse_shared_file(path, status, owners=owners)
        if status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise FileError(
                f"'{path}' can be read by others (mode {stat.S_IMODE(status.st_mode):04o})",
                hint=f"chmod 600 {path}",
            )
        return read_all(path, descriptor, limit)
    finally:
        os.close(descriptor)


def read_plain(path: str, *, limit: int = MAX_FILE_BYTES) -> bytes:
    """The content of a file we do not trust yet: a plain file of at most `limit` bytes."""
    descriptor = open_plain(path, os.O_RDONLY, follow=True)
    try:
        return read_all(path, descriptor, limit)
    finally:
        os.close(descriptor)


def open_plain(path: str, flags: int, *, follow: bool = False) -> int:
    """A descriptor of a plain file; FileNotFoundError if there is none; links only if asked for."""
    flags |= _OPEN & ~os.O_NOFOLLOW if follow else _OPEN
    try:
        descriptor = os.open(path, flags, FILE_MODE)
    except FileNotFoundError:
        raise
    except OSError as error:
        if not follow and os.path.islink(path):
            raise FileError(f"'{path}' is a symbolic link, which is not followed here") from None
        raise unusable(path, "cannot be opened", error) from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise FileError(f"'{path}' is not a plain file")
    return descriptor


def refuse_shared_file(path: str, status: os.stat_result, *, owners: tuple[int, ...] = ()) -> None:
    """Refuse an open file that is another user's, that others can write, or with a second name."""
    _refuse_foreign(path, status, owners or _owners())
    _refuse_writable(path, status, owners or _owners())
    if status.st_nlink > 1:
        raise FileError(f"'{path}' has a second name (hard link), found {status.st_nlink} names")


def replace_private(path: str, content: bytes, *, mode: int = FILE_MODE) -> None:
    """Put new content in a file's place, whole or not at all, on disk when this returns."""
    draft = _write_draft(path, content, mode)
    try:
        os.rename(draft, path)
    except OSError as error:
        with suppress(OSError):
            os.unlink(draft)
        raise unusable(path, "cannot be replaced", error) from None
    sync_folder(os.path.dirname(draft))


def replace_unchanged(path: str, before: bytes, content: bytes) -> bool:
    """Put new content in the place of a file that still holds `before`; False if it does not.

    Its permissions stay. The draft is on disk before the file is looked at, so that only a writer
    who takes no lock and saves between that look and the next system call is not noticed.
    """
    draft = _write_draft(path, content, FILE_MODE)
    try:
        status = _status_of_same(path, before)
        if status is None:
            return False
        os.chmod(draft, stat.S_IMODE(status.st_mode) & ~_group_bits(draft, status.st_gid))
        os.rename(draft, path)
    except OSError as error:
        raise unusable(path, "cannot be replaced", error) from None
    finally:
        with suppress(FileNotFoundError):
            os.unlink(draft)
    sync_folder(os.path.dirname(draft))
    return True


def create_private(path: str, content: bytes, *, durable: bool = True) -> bool:
    """Make a file that is not there yet, with all its content at once; False if there is one.

    What means nothing after a power cut need not be durable; that saves two waits for the disk.
    """
    made = _link_nameless(path, content, durable=durable)
    if made is not None:
        return made
    draft = _write_draft(path, content, FILE_MODE, durable=durable)
    try:
        os.link(draft, path, follow_symlinks=False)
    except FileExistsError:
        return False
    except OSError as error:
        raise unusable(path, "cannot be made", error) from None
    finally:
        with suppress(OSError):
            os.unlink(draft)
    if durable:
        sync_folder(os.path.dirname(draft))
    return True


def sync_folder(folder: str) -> None:
    """Bring a rename to disk; some file systems cannot, and the rename holds all the same."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _link_nameless(path: str, content: bytes, *, durable: bool) -> bool | None:
    """Give a file that has no name yet its only one; None where the system has no such files.

    A draft that is linked has two names for a moment. Killed in it, we would leave a file that we
    refuse ourselves.
    """
    folder, name = os.path.split(os.path.abspath(path))
    try:
        descriptor = os.open(folder, os.O_WRONLY | os.O_TMPFILE | os.O_CLOEXEC, FILE_MODE)
    except (AttributeError, OSError):  # macOS, some file systems; the other way tells what is wrong
        return None
    try:
        write_all(descriptor, content)
        if durable:
            os.fsync(descriptor)
        _link(descriptor, folder, name)
    except FileExistsError:
        return False
    except OSError:
        return None
    finally:
        os.close(descriptor)
    if durable:
        sync_folder(folder)
    return True


def _link(descriptor: int, folder: str, name: str) -> None:
    """Name an open file. Python follows the link in /proc only where a directory is given."""
    place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.link(f"/proc/self/fd/{descriptor}", name, dst_dir_fd=place, follow_symlinks=True)
    finally:
        os.close(place)


def unusable(path: str, what: str, error: OSError) -> FileError:
    """The error that says what could not be done with a path, in the system's words."""
    return FileError(f"'{path}' {what}: {error.strerror or error}")


def _owners() -> tuple[int, ...]:
    """Whose files count: ours, and those of root, who can do anything anyway."""
    return (os.geteuid(), 0)


def _refuse_foreign(path: str, status: os.stat_result, owners: tuple[int, ...]) -> None:
    if status.st_uid not in owners:
        names = ("root" if uid == 0 else str(uid) for uid in owners)
        expected = " or ".join(dict.fromkeys(names))
        raise FileError(
            f"'{path}' belongs to another user, found uid {status.st_uid}, expected {expected}"
        )


def _refuse_writable(path: str, status: os.stat_result, owners: tuple[int, ...]) -> None:
    others = status.st_mode & stat.S_IWOTH
    ours = os.geteuid() in owners and _is_own_group(status.st_gid)  # root's is not ours to write
    if others or (status.st_mode & stat.S_IWGRP and not ours):
        raise FileError(
            f"'{path}' can be written by others (mode {stat.S_IMODE(status.st_mode):04o})",
            hint=f"chmod go-w {path}",
        )


def _is_own_group(gid: int) -> bool:
    """Whether a group is this user's alone, as Fedora, Debian and Ubuntu make them (umask 0002)."""
    try:
        user, group = pwd.getpwuid(os.geteuid()), grp.getgrgid(gid)
    except KeyError:
        return False
    alone = not set(group.gr_mem) - {user.pw_name}
    return alone and user.pw_gid == gid and group.gr_name == user.pw_name


def _status_of_same(path: str, content: bytes) -> os.stat_result | None:
    """The status of a trusted file with this very content."""
    try:
        descriptor = open_plain(path, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        status = os.fstat(descriptor)
        refuse_shared_folder(os.path.dirname(os.path.abspath(path)))
        refuse_shared_file(path, status)
        is_same = status.st_size == len(content) and os.read(descriptor, len(content)) == content
    finally:
        os.close(descriptor)
    return status if is_same else None


def _group_bits(path: str, gid: int) -> int:
    """Give a file to a group; what that group could do, where it cannot be given."""
    try:
        os.chown(path, -1, gid)
    except OSError:
        return stat.S_IRWXG
    return 0


def read_all(path: str, descriptor: int, limit: int) -> bytes:
    """The content of an open file of at most `limit` bytes; `path` is for the error."""
    parts: list[bytes] = []
    left = limit + 1
    try:
        while left and (part := os.read(descriptor, min(left, 1024 * 1024))):
            parts.append(part)
            left -= len(part)
    except OSError as error:
        raise unusable(path, "cannot be read", error) from None
    if not left:
        raise FileError(f"'{path}' is larger than {limit} bytes")
    return b"".join(parts)


def _write_draft(path: str, content: bytes, mode: int, *, durable: bool = True) -> str:
    """A new file beside `path` with the content, on disk if it is durable; its name."""
    folder, name = os.path.split(os.path.abspath(path))
    draft = os.path.join(folder, f".{name[:100]}.{os.urandom(8).hex()}.new")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _OPEN, mode)
    except OSError as error:
        raise unusable(path, "cannot be written", error) from None
    try:
        write_all(descriptor, content)
        if durable:
            os.fsync(descriptor)
    except OSError as error:
        with suppress(OSError):
            os.unlink(draft)
        raise unusable(path, "cannot be written", error) from None
    finally:
        os.close(descriptor)
    return draft


def write_all(descriptor: int, content: bytes) -> None:
    """Write all of it."""
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]
