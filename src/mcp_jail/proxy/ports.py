"""What the loop needs of the rest: a server that runs, places for entries and for the lock."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from mcp_jail.core.conversation.events import (
    AskOver,
    AskPerson,
    AwaitReview,
    FileChanged,
    FromPerson,
    LockChanged,
    NetTried,
    TrustFirst,
)
from mcp_jail.core.recorded.audit import Entry
from mcp_jail.proxy.ladder import Stoppable


class NetReports(Protocol):
    """What the gate tells while the server runs; `fd` is readable when there is something."""

    fd: int
    at_end: bool

    def read(self) -> list[NetTried]:
        """What was told since the last time."""

    def call_begins(self) -> None:
        """A call is about to be made, whose model is to hear what it is refused."""


class RunningServer(Stoppable, Protocol):
    """What the loop needs of a launched jail: descriptors, and a descriptor that tells its end."""

    stdin: int
    stdout: int
    stderr: int
    pidfd: int
    net: NetReports | None  # None where the server has the host's network

    def wait(self) -> str:
        """Reap the ended jail; how it ended, in words."""

    def fault(self) -> str | None:
        """What is wrong with the confinement of the running server, seen from outside."""


class Recorder(Protocol):
    """Where entries go; raises AuditError when they cannot be written."""

    @property
    def is_full(self) -> bool:
        """Whether what is held should not wait any longer."""

    def hold(self, entries: Iterable[Entry]) -> None:
        """Keep some entries for the next write."""

    def append(self, entries: Iterable[Entry] = ()) -> None:
        """Write what is held and some entries in one write."""


class Persons(Protocol):
    """What persons do meanwhile: approve what was seen, answer what they are asked.

    What cannot be read or written is told to them, and approves nothing.
    """

    @property
    def is_waiting(self) -> bool:
        """Whether something seen waits for a person, so that an idle run looks too."""

    @property
    def is_busy(self) -> bool:
        """Whether somebody is connected, so that `wanted` may have changed."""

    def keep(self, effect: AwaitReview | TrustFirst) -> LockChanged | None:
        """Write down what was seen; the lock that holds now, if another run was first."""

    def look(self) -> list[FileChanged]:
        """What was written since: the lock, the policy."""

    def seconds_left(self, now: float) -> float | None:
        """When an idle run has to look, None where nobody is waited for."""

    def show(self, effect: AskPerson | AskOver) -> None:
        """Show an ask, or take it away."""

    def wanted(self) -> dict[int, int]:
        """The descriptors to be looked at, with their masks."""

    def serve(self, ready: dict[int, int]) -> Iterator[FromPerson]:
        """Hear who has something to say; each event is to be handled before the next is taken."""
