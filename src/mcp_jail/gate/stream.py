"""Bytes between two sockets, through the kernel: splice(2) moves them without our reading them.

Each direction ends by itself: an end of file on one side is passed on as such while the other
direction goes on. A pipe is held only while something lies in it, so only a connection that stands
still for want of a reader costs one.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import struct
from enum import Enum
from typing import Final, NamedTuple

# Bytes moved in one turn of one direction, so that a fast connection does not starve the others.
TURN: Final = 4 << 20
# Bytes of the pipes that are used again and again; others have the kernel's 64 KiB. All pipes of a
# user count against /proc/sys/fs/pipe-user-pages-soft, 64 MiB.
WIDE: Final = 1 << 20
WIDE_PIPES: Final = 8

_NO_LINGER: Final = struct.pack("ii", 1, 0)


class Progress(Enum):
    """How a turn ended."""

    WAITING = "waiting"  # until a socket can be read or written again
    MORE = "more"  # the turn was over first
    DONE = "done"  # both directions have ended
    BROKEN = "broken"  # a side is gone; the other is to be told by a reset


class Pipe(NamedTuple):
    """A pipe: the end to read, the end to write, whether it is one of the wide ones."""

    out: int
    into: int
    is_wide: bool


class Pipes:
    """Empty pipes, kept for the next who needs one."""

    def __init__(self) -> None:
        self._free: list[Pipe] = []
        self._wide = 0  # that there are, free or not

    def take(self) -> Pipe:
        """An empty pipe. OSError when there is none."""
        if self._free:
            return self._free.pop()
        out, into = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        is_wide = self._wide < WIDE_PIPES
        if is_wide:
            self._wide += 1
            with contextlib.suppress(OSError):  # above the user's share: slower, not less safe
                fcntl.fcntl(into, fcntl.F_SETPIPE_SZ, WIDE)
        return Pipe(out, into, is_wide)

    def give(self, pipe: Pipe, *, is_empty: bool) -> None:
        """Give one back; one that holds something is closed, with what it holds."""
        if is_empty and pipe.is_wide:
            self._free.append(pipe)
            return
        self._wide -= pipe.is_wide
        os.close(pipe.out)
        os.close(pipe.into)

    def close(self) -> None:
        """Close those that are free."""
        for pipe in self._free:
            os.close(pipe.out)
            os.close(pipe.into)
        self._free.clear()


class Stream:
    """Two connected sockets, led into each other. Both belong to it; `close` closes them."""

    def __init__(
        self, inner: socket.socket, outer: socket.socket, pipes: Pipes, first: bytes
    ) -> None:
        """`first` is what the inner side sent already, and is not to be lost."""
        self.inner = inner
        self.outer = outer
        self._up = _Direction(inner, outer, pipes, first)
        self._down = _Direction(outer, inner, pipes, b"")

    @property
    def sent(self) -> int:
        """Bytes that went out."""
        return self._up.moved

    @property
    def received(self) -> int:
        """Bytes that came in."""
        return self._down.moved

    @property
    def is_half_closed(self) -> bool:
        """Whether one direction has ended."""
        return self._up.has_ended or self._down.has_ended

    def turn(self) -> Progress:
        """Move what can be moved without waiting, up to a limit."""
        ends = (self._up.turn(), self._down.turn())
        if Progress.BROKEN in ends:
            return Progress.BROKEN
        if Progress.MORE in ends:
            return Progress.MORE
        return Progress.DONE if ends == (Progress.DONE, Progress.DONE) else Progress.WAITING

    def close(self, *, is_broken: bool) -> None:
        """Close both sides, with a reset where the connection was cut and did not end."""
        is_cut = is_broken or self._up.is_lost or self._down.is_lost
        self._up.close()
        self._down.close()
        for side in (self.inner, self.outer):
            close_socket(side, reset=is_cut)


def close_socket(side: socket.socket, *, reset: bool) -> None:
    """Close a socket; with `reset` its peer reads an error at once and no end of file."""
    if reset:
        with contextlib.suppress(OSError):
            side.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
    side.close()


class _Direction:
    """From one socket to the other, by a pipe between them."""

    def __init__(
        self, source: socket.socket, sink: socket.socket, pipes: Pipes, first: bytes
    ) -> None:
        self._source = source.fileno()
        self._sink = sink
        self._pipes = pipes
        self._first = first
        self._pipe: Pipe | None = None
        self._held = 0  # bytes in the pipe
        self._is_at_end = False
        self.moved = 0
        self.has_ended = False
        self.is_lost = False  # the sink takes nothing more, and something was left

    def turn(self) -> Progress:
        left = TURN
        while not self.has_ended:
            if left <= 0:
                return Progress.MORE
            try:
                if self._first or self._held:
                    left -= self._write()
                elif self._is_at_end:
                    self._end()
                else:
                    self._read()
            except BlockingIOError:
                self._let_go()
                return Progress.WAITING
            except BrokenPipeError:
                self._lose()
            except ConnectionResetError:
                if not (self._first or self._held):
                    return Progress.BROKEN  # the source is gone, so nobody reads what it asked for
                self._lose()
            except OSError:
                return Progress.BROKEN
        return Progress.DONE

    def close(self) -> None:
        if self._pipe is not None:
            self._pipes.give(self._pipe, is_empty=not self._held)
            self._pipe = None

    def _read(self) -> None:
        if self._pipe is None:
            self._pipe = self._pipes.take()
        self._held = os.splice(self._source, self._pipe.into, WIDE, flags=_FLAGS)
        self._is_at_end = not self._held

    def _write(self) -> int:
        if self._first:
            count = self._sink.send(self._first)
            self._first = self._first[count:]
        elif self._pipe is not None:
            count = os.splice(self._pipe.out, self._sink.fileno(), self._held, flags=_FLAGS)
            self._held -= count
        else:
            raise OSError("nothing is held")
        self.moved += count
        return count

    def _end(self) -> None:
        self.has_ended = True
        self._let_go()
        with contextlib.suppress(OSError):  # where the other side is gone by now
            self._sink.shutdown(socket.SHUT_WR)

    def _lose(self) -> None:
        """The sink takes no more. What came from it may still be read: the other way goes on."""
        self.has_ended = self.is_lost = True
        self.close()

    def _let_go(self) -> None:
        if not self._held:
            self.close()


_FLAGS: Final = os.SPLICE_F_NONBLOCK | os.SPLICE_F_MOVE
