"""From attempts to lines in the guard's pipe, without ever waiting for the guard."""

from __future__ import annotations

import os
import select
from collections import deque
from typing import Final

from mcp_jail.core.policy import Verdict
from mcp_jail.gate.attempts import Attempt, Tally, What, encode
from mcp_jail.gate.loop import GONE, WRITE, Loop, Timer

# Bytes of lines that wait for a guard that does not read; a refusal that comes then is counted.
BACKLOG: Final = 256 * 1024
# From here on no connection is taken until the guard has read: what is opened is never lost, and
# those that are under way have two more lines each.
FULL: Final = 2 * BACKLOG
LAST_WORDS: Final = 1.0  # seconds the guard has for reading what is left at the end


class Teller:
    """Tells the guard, over the pipe whose writing end it is given."""

    def __init__(self, loop: Loop, pipe: int) -> None:
        self._loop = loop
        self._pipe = pipe
        self._tally = Tally()
        self._lines: deque[bytes] = deque()
        self._waiting = 0  # bytes in it
        self._lost = 0
        self._timer: Timer | None = None
        os.set_blocking(pipe, False)
        loop.watch(pipe, 0, self._guard_is_gone)

    def note(self, attempt: Attempt) -> None:
        """Take in what was tried."""
        now = self._loop.now
        self._tell(self._tally.note(attempt, now))
        wait = self._tally.wait(now)
        if wait is not None and self._timer is None:
            self._timer = self._loop.after(wait, self._tell_repetitions)

    def make_room(self) -> None:
        """Tell what is refused from now on, a little, however much was before."""
        self._tally.make_room()

    @property
    def is_full(self) -> bool:
        """Whether what is opened now could not be told in time."""
        return self._waiting > FULL

    def finish(self) -> None:
        """Tell all that is left, as long as the guard reads it."""
        self._tell(self._tally.rest())
        waiter = select.poll()
        waiter.register(self._pipe, select.POLLOUT)
        deadline = self._loop.now + LAST_WORDS
        while self._lines and self._loop.now < deadline:
            waiter.poll(LAST_WORDS * 1000)
            self._write(0)

    def _tell_repetitions(self) -> None:
        self._timer = None
        self._tell(self._tally.due(self._loop.now))

    def _tell(self, attempts: list[Attempt]) -> None:
        if not attempts:
            return
        for attempt in attempts:
            line = encode(attempt)
            if attempt.verdict is not Verdict.ALLOW and self._waiting + len(line) > BACKLOG:
                self._lost += attempt.times
            else:
                self._lines.append(line)
                self._waiting += len(line)
        self._write(0)

    def _write(self, _events: int) -> None:
        """Write what fits. A line is below PIPE_BUF, so it is written whole or not at all."""
        try:
            while self._lines:
                os.write(self._pipe, self._lines[0])
                self._waiting -= len(self._lines.popleft())
                if not self._lines and self._lost:
                    self._own_up()
        except BlockingIOError:
            self._loop.watch(self._pipe, WRITE, self._write)
        except OSError:
            self._guard_is_gone(GONE)
        else:
            self._loop.watch(self._pipe, 0, self._guard_is_gone)

    def _own_up(self) -> None:
        why = "told faster than it was read"
        lost = Attempt(what=What.LOST, verdict=Verdict.DENY, why=why, times=self._lost)
        self._lost = 0
        self._lines.append(encode(lost))
        self._waiting += len(self._lines[0])

    def _guard_is_gone(self, events: int) -> None:
        if events & GONE:
            self._lines.clear()
            self._loop.forget(self._pipe)
            self._loop.stop()
