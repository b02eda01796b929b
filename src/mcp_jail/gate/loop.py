"""One thread's wait for everything: descriptors, times, and work that was put off."""

from __future__ import annotations

import heapq
import itertools
import select
import time
from collections import deque
from collections.abc import Callable
from typing import Final

READ: Final = select.EPOLLIN
WRITE: Final = select.EPOLLOUT
GONE: Final = select.EPOLLERR | select.EPOLLHUP  # always told, asked for or not
# Told once for each change and not as long as it lasts: a stream is then never re-registered.
CHANGES: Final = select.EPOLLIN | select.EPOLLOUT | select.EPOLLRDHUP | select.EPOLLET

SWEEP: Final = 4096  # timers that are kept, cancelled ones too, before these are looked for

Callback = Callable[[], None]


class Timer:
    """Something to be done at a time, unless it is cancelled."""

    def __init__(self, action: Callback) -> None:
        self.action: Callback | None = action

    def cancel(self) -> None:
        """Have it not done; a second time does nothing."""
        self.action = None


class Loop:
    """Callbacks by descriptor, by time, and by turn. A callback that raises ends the loop."""

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._watched: dict[int, Callable[[int], None]] = {}
        self._new: set[int] = set()
        self._timers: list[tuple[float, int, Timer]] = []
        self._count = itertools.count()
        self._turns: deque[Callback] = deque()
        self._is_over = False
        self._sweep_at = SWEEP

    @property
    def now(self) -> float:
        """Seconds on a clock that never goes back."""
        return time.monotonic()

    def watch(self, fd: int, events: int, callback: Callable[[int], None]) -> None:
        """Call back with what happened to a descriptor; what was watched for before is replaced."""
        if fd in self._watched:
            self._epoll.modify(fd, events)
        else:
            self._epoll.register(fd, events)
            self._new.add(fd)
        self._watched[fd] = callback

    def forget(self, fd: int) -> None:
        """Watch a descriptor no longer; to be done before it is closed."""
        if self._watched.pop(fd, None) is not None:
            self._epoll.unregister(fd)

    def after(self, seconds: float, action: Callback) -> Timer:
        """Have something done after a time."""
        timer = Timer(action)
        if len(self._timers) >= self._sweep_at:
            self._sweep()
        heapq.heappush(self._timers, (self.now + seconds, next(self._count), timer))
        return timer

    def soon(self, action: Callback) -> None:
        """Have something done when everybody else had a turn."""
        self._turns.append(action)

    def stop(self) -> None:
        """End `run` after this round."""
        self._is_over = True

    def run(self) -> None:
        """Call back until `stop`, which may have been called before."""
        while not self._is_over:
            happened = self._epoll.poll(self._wait())
            self._new.clear()
            for fd, events in happened:
                callback = self._watched.get(fd)
                # Neither one that was forgotten in this very round nor one that has its number.
                if callback is not None and fd not in self._new:
                    callback(events)
            self._do_what_is_due()
            for _ in range(len(self._turns)):
                self._turns.popleft()()
        self._is_over = False

    def _wait(self) -> float | None:
        if self._turns:
            return 0
        while self._timers and self._timers[0][2].action is None:
            heapq.heappop(self._timers)
        return max(0.0, self._timers[0][0] - self.now) if self._timers else None

    def _sweep(self) -> None:
        """Drop the cancelled timers, which most are: a flood of connections leaves many behind."""
        self._timers = [entry for entry in self._timers if entry[2].action is not None]
        heapq.heapify(self._timers)
        self._sweep_at = max(SWEEP, 2 * len(self._timers))

    def _do_what_is_due(self) -> None:
        now = self.now
        while self._timers and self._timers[0][0] <= now:
            action = heapq.heappop(self._timers)[2].action
            if action is not None:
                action()
