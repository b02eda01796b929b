"""How a server is stopped: its input closed, then SIGTERM, then SIGKILL to its whole jail.

SDK clients close our input, wait two seconds, send SIGTERM and two seconds later SIGKILL. All steps
here together stay below the first two seconds, so that nobody has to kill us. Claude Code sends
SIGINT, SIGTERM 0.1 seconds later and SIGKILL 0.4 seconds after that: whoever signals again is
in a hurry, and gets all of the rest in `HURRIED_SECONDS`.
"""

from __future__ import annotations

from enum import Enum
from typing import Protocol, assert_never

# Seconds a server has to end by itself after its input was closed.
CLOSED_SECONDS = 1.0

# Seconds it has after SIGTERM.
TERM_SECONDS = 0.3

# Seconds it has after SIGTERM where the client is in a hurry.
HURRIED_SECONDS = 0.15


class Stoppable(Protocol):
    """What the ladder needs of a running jail."""

    def close_stdin(self) -> None:
        """Close the server's input."""

    def terminate(self) -> None:
        """Ask the server to end, with SIGTERM."""

    def kill(self) -> None:
        """End every process of the jail, with SIGKILL."""


class Step(Enum):
    """How far the stopping has come."""

    RUNNING = "running"
    CLOSING = "closing"  # what was accepted for the server is still being written
    CLOSED = "closed"
    TERMINATED = "terminated"
    KILLED = "killed"


class Ladder:
    """The steps from a running server to none; times are seconds of a monotonic clock."""

    def __init__(self, jail: Stoppable) -> None:
        self._jail = jail
        self.step = Step.RUNNING
        self._deadline: float | None = None

    def begin(self, now: float) -> None:
        """Take no more for the server; its time starts."""
        if self.step is Step.RUNNING:
            self._move(Step.CLOSING, now + CLOSED_SECONDS)

    def hurry(self, now: float) -> None:
        """Stop waiting for the server to end by itself; a second time changes nothing."""
        if self.step in {Step.CLOSING, Step.CLOSED}:
            self._jail.terminate()
            self._move(Step.TERMINATED, now + HURRIED_SECONDS)

    def drained(self) -> None:
        """All that was accepted for the server is written: close its input."""
        if self.step is Step.CLOSING:
            self._jail.close_stdin()
            self.step = Step.CLOSED

    def kill(self) -> None:
        """Leave out the steps that ask."""
        self._jail.kill()
        self._move(Step.KILLED, None)

    def tick(self, now: float) -> None:
        """Take the next step if the server has had its time."""
        if self._deadline is None or now < self._deadline:
            return
        match self.step:
            case Step.CLOSING | Step.CLOSED:
                self._jail.terminate()
                self._move(Step.TERMINATED, now + TERM_SECONDS)
            case Step.TERMINATED:
                self.kill()
            case Step.RUNNING | Step.KILLED:
                self._deadline = None
            case _:
                assert_never(self.step)

    def seconds_left(self, now: float) -> float | None:
        """Until the next step, None when there is none."""
        return None if self._deadline is None else max(0.0, self._deadline - now)

    def _move(self, step: Step, deadline: float | None) -> None:
        self.step = step
        self._deadline = deadline
