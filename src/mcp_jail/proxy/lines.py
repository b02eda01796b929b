"""Lines in and lines out of non-blocking descriptors, both bounded."""

from __future__ import annotations

import fcntl
import os
from collections import deque
from typing import cast

import msgspec

from mcp_jail.core.protocol.wire import MESSAGE_LIMIT

# Bytes of one read. Twice this makes malloc map and unmap memory for each read (28 us).
CHUNK = 64 * 1024

# Bytes of a pipe, and of one read from it, while a line longer than a chunk passes. A pipe has
# 64 KiB at first, and each time it runs full or empty costs a wake-up on both sides. 1 MiB is what
# fs.pipe-max-size allows everybody; 64 such pipes are what one user may have (pipe(7)).
LARGE = 1024 * 1024

# Bytes of a dropped line that are kept from each end, to find the id it answered.
EDGE = 4 * 1024

# Bytes waiting for a slow reader at which we stop reading from the other side.
HIGH_WATER = 1024 * 1024


class TooLong(msgspec.Struct, frozen=True):
    """A line that was dropped, with its two ends."""

    size: int
    edges: bytes


class LineReader:
    """Cuts what a descriptor gives at newlines, and at nothing else."""

    def __init__(self, fd: int, *, limit: int = MESSAGE_LIMIT) -> None:
        self.fd = fd
        self.at_end = False
        self.is_dry = False
        self._limit = limit
        self._kept = bytearray()
        self._size = 0
        self._is_wide: bool | None = None  # None: never tried

    def read(self) -> list[bytes | TooLong]:
        """The lines one read completes; sets `at_end` when the other side has closed.

        `is_dry` is set when there was nothing to read now.

        A last line without newline is given at the end. Empty lines are left out: JSON-RPC knows
        none, and one SDK logs an exception for each.
        """
        try:
            data = os.read(self.fd, CHUNK if self._size < CHUNK else self._large())
        except BlockingIOError:
            self.is_dry = True
            return []
        except OSError:  # EIO and ECONNRESET: the other side is gone
            data = b""
        if not data:
            self.at_end = True
            return self._complete() if self._size else []
        end = data.find(b"\n")
        if end < 0:
            self._keep(data)
            return []
        if end == len(data) - 1 and not self._size:  # one line and all of it, as calls come
            line = data[:-1]
            return [line] if line and line != b"\r" else []
        first, *middle, rest = data.split(b"\n")
        lines: list[bytes | TooLong] = []
        if self._size:
            self._keep(first)
            lines += self._complete()
        else:
            middle.insert(0, first)
        if b"" in middle or b"\r" in middle:
            middle = [line for line in middle if line and line != b"\r"]
        lines += middle
        if rest:
            self._keep(rest)
        return lines

    def _large(self) -> int:
        """The size of a read in the midst of a large line, for which the pipe is made wide."""
        if self._is_wide is None:
            self._is_wide = widen(self.fd)
        return LARGE if self._is_wide else CHUNK

    def _keep(self, data: bytes) -> None:
        self._size += len(data)
        self._kept += data
        if self._size > self._limit and len(self._kept) > 2 * EDGE:
            del self._kept[EDGE:-EDGE]

    def _complete(self) -> list[bytes | TooLong]:
        kept, size = self._kept, self._size
        self._kept, self._size = bytearray(), 0
        # A large line is given away as it was gathered: to copy it costs more than to decode it.
        line = bytes(kept) if size <= CHUNK else cast("bytes", kept)
        if size > self._limit:
            return [TooLong(size, bytes(kept))]
        return [line] if line and line != b"\r" else []


class LineWriter:
    """A queue before a descriptor whose reader may be slow; never blocks."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.is_broken = False
        self.pending = 0
        self._queue: deque[bytes | memoryview] = deque()
        self._is_wide: bool | None = None

    @property
    def is_full(self) -> bool:
        """Whether what feeds this writer should stop for a while."""
        return self.pending > HIGH_WATER

    def put(self, data: bytes) -> None:
        """Queue some bytes; dropped when the reader is gone."""
        if not self.is_broken:
            self._queue.append(data)
            self.pending += len(data)

    def flush(self) -> None:
        """Write as much as the reader takes now; sets `is_broken` when it is gone."""
        while self._queue:
            data = self._next()
            try:
                written = os.write(self.fd, data)
            except BlockingIOError:
                self._queue.appendleft(data)
                return
            except OSError:  # EPIPE, ECONNRESET
                self.is_broken = True
                self._queue.clear()
                self.pending = 0
                return
            self.pending -= written
            if written < len(data):
                self._queue.appendleft(memoryview(data)[written:])
                if self._is_wide is not None or self.pending < CHUNK:
                    return
                self._is_wide = widen(self.fd)  # and write on

    def _next(self) -> bytes | memoryview:
        """What one write takes: small pieces joined, at most a pipe's worth of a large one."""
        if len(self._queue) == 1:
            return self._queue.popleft()
        pieces = [self._queue.popleft()]
        size = len(pieces[0])
        while self._queue and size + len(self._queue[0]) <= HIGH_WATER:
            pieces.append(self._queue.popleft())
            size += len(pieces[-1])
        return b"".join(pieces)


def widen(fd: int) -> bool:
    """Make a pipe take a large message in few pieces; false where that is not possible.

    Another kind of file has no such size, and a user with many wide pipes gets no more of them.
    """
    try:
        fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, LARGE)
    except OSError:
        return False
    return True
