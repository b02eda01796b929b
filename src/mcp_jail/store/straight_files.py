"""Files in directories that somebody else writes too: reached without following a single link.

A clone brings links of its choice, and its server may swap a directory for one between our look and
our write. So every directory from the root on is opened as itself, and the file by a name in it.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from mcp_jail.store.files import FileError, read_all, unusable, write_all

_FOLDER: Final = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_MAKE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def read_straight(path: str, *, limit: int) -> bytes:
    """The content of a plain file at an absolute path; FileNotFoundError if there is none."""
    with _folder_of(path) as (folder, name):
        try:
            descriptor = os.open(name, _READ, dir_fd=folder)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise _no_way(path, error) from None
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise FileError(f"'{path}' is not a plain file")
            return read_all(path, descriptor, limit)
        finally:
            os.close(descriptor)


def replace_straight(path: str, content: bytes, *, mode: int) -> None:
    """Put new content in a file's place, whole or not at all; FileNotFoundError: no directory."""
    with _folder_of(path) as (folder, name):
        draft = f".{name[:100]}.{os.urandom(8).hex()}.new"
        try:
            descriptor = os.open(draft, _MAKE, mode, dir_fd=folder)
        except OSError as error:
            raise unusable(path, "cannot be written", error) from None
        try:
            write_all(descriptor, content)
            os.fsync(descriptor)
            os.rename(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError as error:
            with suppress(OSError):
                os.unlink(draft, dir_fd=folder)
            raise unusable(path, "cannot be replaced", error) from None
        finally:
            os.close(descriptor)
        with suppress(OSError):  # some file systems cannot, and the rename holds all the same
            os.fsync(folder)


@contextmanager
def _folder_of(path: str) -> Iterator[tuple[int, str]]:
    """The directory of an absolute path, opened from the root on, and the name in it."""
    head, _, name = path.rpartition("/")
    folder = os.open("/", os.O_RDONLY | _FOLDER)
    try:
        parts = [part for part in head.split("/") if part]
        for at, part in enumerate(parts):
            # Only the last has to be readable, to be brought to disk.
            how = os.O_RDONLY if at == len(parts) - 1 else os.O_PATH
            try:
                inner = os.open(part, how | _FOLDER, dir_fd=folder)
            except FileNotFoundError:
                raise
            except OSError as error:
                raise _no_way(path, error) from None
            os.close(folder)
            folder = inner
        yield folder, name
    finally:
        os.close(folder)


def _no_way(path: str, error: OSError) -> FileError:
    # Of a link, O_DIRECTORY says that it is no directory.
    if error.errno in {errno.ELOOP, errno.ENOTDIR}:
        return FileError(f"'{path}' is or goes through a symbolic link, which is not followed here")
    return unusable(path, "cannot be opened", error)
