"""An audit as it grows: the lines that come, in whichever of its files.

A file that was turned keeps its place: runs that began before still write to it under its number.
Files are held open, so that what was written before one was taken away is still read, and a new
file in its place is known for another. A line counts once it is whole.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final

from mcp_jail.core.recorded.audit import MAX_LINE_BYTES, Record
from mcp_jail.errors import AuditError
from mcp_jail.store.history import files_of, has_audit, lines_before, newest, open_audit, unreadable

_BLOCK_BYTES: Final = 1024 * 1024
# Blocks of one file that are read at a time, so that a long one does not fill the memory.
_BLOCKS_AT_A_TIME: Final = 8


class Following:
    """One audit from its end on, or from its beginning; it need not be there yet. To be closed."""

    def __init__(self, path: str, *, at_end: bool = True) -> None:
        self._path = path
        self._files: dict[tuple[int, int], _File] = {}  # by device and inode, oldest first
        self._refused: set[str] = set()
        self.troubles: list[str] = []  # what a person should know; whoever tells it empties it
        self._look(at_end=at_end)

    def last(self, count: int) -> tuple[list[Record], int]:
        """The last entries of what stands there now, and the lines among them that are none."""
        return newest(self._backwards(), count)

    def added(self) -> list[bytes]:
        """Lines that became whole since, without newlines; one beyond any entry comes cut.

        Of much there may be more at once: whoever wants all goes on until nothing comes.
        """
        self._look(at_end=False)
        lines: list[bytes] = []
        for key, file in list(self._files.items()):
            status = os.fstat(file.descriptor)
            if status.st_size < file.offset:
                self.troubles.append(
                    f"audit file '{file.path}' was cut; its lines are not shown again"
                )
                file.go_to_end(status.st_size)
            try:
                new = list(file.added())
            except OSError as error:
                raise unreadable(file.path, error) from None
            lines += new
            if not (status.st_nlink or new):
                self.troubles.append(f"audit file '{file.path}' was taken away")
                os.close(self._files.pop(key).descriptor)
        return lines

    def close(self) -> None:
        """Let go of all files."""
        for file in self._files.values():
            os.close(file.descriptor)
        self._files.clear()

    def _look(self, *, at_end: bool) -> None:
        """Open the files that were not known yet."""
        for path in files_of(self._path) if has_audit(self._path) else ():
            try:
                descriptor = open_audit(path)
            except AuditError as error:
                if path not in self._refused and os.path.lexists(path):
                    self.troubles.append(error.message)
                    self._refused.add(path)
                continue
            status = os.fstat(descriptor)
            key = status.st_dev, status.st_ino
            if key in self._files:
                os.close(descriptor)
                self._files[key].path = path
                continue
            self._files[key] = file = _File(path, descriptor)
            if at_end:
                file.go_to_end(status.st_size)

    def _backwards(self) -> Iterator[bytes]:
        for file in reversed(self._files.values()):
            yield from lines_before(file.descriptor, file.offset)


class _File:
    """An open file and how far its whole lines were read."""

    __slots__ = ("_skipping", "descriptor", "offset", "path")

    def __init__(self, path: str, descriptor: int) -> None:
        self.path = path
        self.descriptor = descriptor
        self.offset = 0
        self._skipping = False  # inside a line too long to be an entry, whose first part was given

    def go_to_end(self, size: int) -> None:
        """Leave out what stands there, but for a line that is just being written."""
        half = next(lines_before(self.descriptor, size), b"")
        self._skipping = len(half) >= MAX_LINE_BYTES
        self.offset = size if self._skipping else size - len(half)

    def added(self) -> Iterator[bytes]:
        """The lines that are whole now, or the first of them."""
        rest = b""
        for _ in range(_BLOCKS_AT_A_TIME):
            block = os.pread(self.descriptor, _BLOCK_BYTES, self.offset + len(rest))
            if not block:
                return
            *lines, rest = (rest + block).split(b"\n")
            self.offset += sum(map(len, lines)) + len(lines)
            yield from lines[1:] if self._skipping else lines
            self._skipping = self._skipping and not lines
            if self._skipping:
                self.offset += len(rest)
                rest = b""
            elif len(rest) > MAX_LINE_BYTES:
                yield rest[:MAX_LINE_BYTES]
                self.offset += len(rest)
                rest, self._skipping = b"", True
