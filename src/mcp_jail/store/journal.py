"""The audit file: appended to by every running jail of one name, never changed, turned by size.

Each batch is one write(2) with O_APPEND, so whole lines of several writers stand side by side. The
first thing that goes wrong ends the journal for good: who cannot record may not act. A full disk
or a kill can leave half a line; the next writer ends it with a newline before its own.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from contextlib import suppress

from mcp_jail.core.recorded.audit import MAX_LINE_BYTES, Anchor
from mcp_jail.core.sha256 import sha256
from mcp_jail.errors import AuditError
from mcp_jail.store.files import (
    FileError,
    make_private_folder,
    names_in,
    open_plain,
    refuse_shared_file,
)

# A file of this size gets a number at the next start (NAME.jsonl.1, .2, ...): some 200,000 calls,
# which an editor still opens. Nothing is deleted.
ROTATE_BYTES = 128 * 1024 * 1024


class Journal:
    """An open audit file: `anchor` is what the chain of this run begins with."""

    def __init__(self, path: str, descriptor: int, anchor: Anchor, size: int) -> None:
        self.path = path
        self.anchor = anchor
        self._descriptor = descriptor
        self._end = size  # where our last batch ended; bytes beyond it are another writer's
        self._failure: AuditError | None = None

    def write(self, lines: bytes) -> None:
        """Append whole lines in one write; AuditError now and ever after if that fails."""
        if self._failure is not None:
            raise self._failure
        try:
            # Where the file ends now; a third of the time of fstat(2), and writes append anyway.
            grown = os.lseek(self._descriptor, 0, os.SEEK_END)
            if self._unfinished(grown):
                lines = b"\n" + lines
            written = os.write(self._descriptor, lines)
            self._end = grown + written
        except OSError as error:
            raise self._fail(error.strerror or str(error)) from None
        if written < len(lines):
            with suppress(OSError):  # the half line ends here if one more byte fits
                os.write(self._descriptor, b"\n")
            raise self._fail(os.strerror(errno.ENOSPC))

    def close(self) -> None:
        """Bring the entries to disk and close the file; AuditError if they did not get there."""
        try:
            os.fdatasync(self._descriptor)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.EROFS):
                raise self._fail(error.strerror or str(error)) from None
        finally:
            os.close(self._descriptor)

    def _unfinished(self, grown: int) -> bool:
        """Whether the file now ends in another writer's half line (seen only if it grew).

        That line may just be on its way; then an empty line comes behind it, which breaks nothing.
        """
        return grown > self._end and os.pread(self._descriptor, 1, grown - 1) != b"\n"

    def _fail(self, reason: str) -> AuditError:
        self._failure = AuditError(
            f"audit file '{self.path}' cannot be written: {reason}",
            hint="nothing is forwarded without a record; make room or repair it, then restart",
        )
        return self._failure


def open_journal(path: str, *, rotate_bytes: int = ROTATE_BYTES) -> Journal:
    """Open an audit file for appending, made if need be; AuditError if it is not safe to use.

    Refused: a link, a second name, another owner, a file or directory others can write.
    """
    try:
        make_private_folder(os.path.dirname(path))
        descriptor, turned = _open_turned(path, rotate_bytes)
    except FileError as error:
        raise AuditError(f"audit: {error.message}", hint=error.hint) from None
    except OSError as error:
        raise AuditError(f"audit file '{path}' cannot be opened: {error.strerror}") from None
    try:
        size = os.fstat(descriptor).st_size
        anchor = turned or anchor_of(descriptor, size)
        if size and os.pread(descriptor, 1, size - 1) != b"\n":
            size -= 1  # so that the first write ends the half line
    except OSError as error:
        os.close(descriptor)
        raise AuditError(f"audit file '{path}' cannot be read: {error.strerror}") from None
    return Journal(path, descriptor, anchor, size)


def anchor_of(descriptor: int, size: int, file: str = "") -> Anchor:
    """The anchor of a file's first `size` bytes; they may end in half a line."""
    if not size:
        return Anchor(file=file)
    tail = b""
    for window in (4096, MAX_LINE_BYTES + 2):  # most lines are short
        begin = max(0, size - window)
        tail = os.pread(descriptor, size - begin, begin).removesuffix(b"\n")
        if b"\n" in tail:
            break
    return Anchor(size, sha256(tail[tail.rfind(b"\n") + 1 :]).hexdigest(), file)


def rotated(path: str) -> list[str]:
    """The numbered files that were once this audit file, oldest first; FileError."""
    folder, name = os.path.split(path)
    numbers = [
        int(each[len(name) + 1 :])
        for each in names_in(folder or ".")
        if each.startswith(name + ".") and each[len(name) + 1 :].isdecimal()
    ]
    return [f"{path}.{number}" for number in sorted(numbers)]


def _open_turned(path: str, rotate_bytes: int) -> tuple[int, Anchor | None]:
    """The open file, and the anchor in the numbered file if this start turned it."""
    descriptor = _open_append(path)
    size = os.fstat(descriptor).st_size
    if size < rotate_bytes or not _claim(path, descriptor):
        return descriptor, None
    numbers = rotated(path)
    last = int(numbers[-1].rpartition(".")[2]) if numbers else 0
    target = f"{path}.{last + 1}"
    os.rename(path, target)
    # Other runs still write to the file under its new name; the anchor holds for what was there.
    anchor = anchor_of(descriptor, size, os.path.basename(target))
    fresh = _open_append(path)
    os.close(descriptor)
    return fresh, anchor if os.fstat(fresh).st_size == 0 else None


def _open_append(path: str) -> int:
    descriptor = open_plain(path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
    try:
        refuse_shared_file(path, os.fstat(descriptor))
    except FileError:
        os.close(descriptor)
        raise
    return descriptor


def _claim(path: str, descriptor: int) -> bool:
    """Whether turning the file is ours to do: we hold its lock and it still has its name."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    named, held = os.stat(path, follow_symlinks=False), os.fstat(descriptor)
    return stat.S_ISREG(named.st_mode) and os.path.samestat(named, held)
