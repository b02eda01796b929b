"""Signals that end a run, as bytes in a pipe that the loop polls."""

from __future__ import annotations

import os
import signal
from types import FrameType

_ENDING = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGHUP})


class Signals:
    """While it is open, SIGTERM, SIGINT and SIGHUP are bytes at `fd` and nothing more."""

    def __init__(self) -> None:
        self.fd, self._write_end = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._old_wakeup = signal.set_wakeup_fd(self._write_end, warn_on_full_buffer=False)
        self._old = {number: signal.signal(number, _noted) for number in _ENDING}

    def drain(self) -> bool:
        """Take the bytes of signals that arrived; whether one of them ends the run.

        The alarm that stops a slow pattern leaves its byte here too.
        """
        return not _ENDING.isdisjoint(os.read(self.fd, 64))

    def close(self) -> None:
        """Give the signals back."""
        for number, handler in self._old.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._old_wakeup)
        os.close(self.fd)
        os.close(self._write_end)


def _noted(number: int, frame: FrameType | None) -> None:
    """The byte in the wake-up pipe is all that is wanted of a signal."""
