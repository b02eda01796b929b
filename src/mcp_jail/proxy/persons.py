"""All that persons do while a server runs: its lock, its policy, its asks and who answers them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from mcp_jail.asks.processes import Mark
from mcp_jail.asks.who import Peer, clients_of, fault_of
from mcp_jail.core.asks import Asks
from mcp_jail.core.events import (
    AskOver,
    AskPerson,
    AwaitReview,
    FileChanged,
    FromPerson,
    LockChanged,
    TrustFirst,
)
from mcp_jail.proxy.control import Control
from mcp_jail.proxy.locking import LockKeeping
from mcp_jail.proxy.reloading import PolicyKeeping
from mcp_jail.store import runs
from mcp_jail.store.places import Places


class Watching:
    """The lock file, the policy file and the control socket of one run."""

    def __init__(self, lock: LockKeeping, policy: PolicyKeeping, control: Control) -> None:
        self._lock = lock
        self._policy = policy
        self._control = control

    @property
    def is_waiting(self) -> bool:
        """Whether something seen waits for a person."""
        return self._lock.is_waiting

    @property
    def is_busy(self) -> bool:
        """Whether somebody is connected."""
        return self._control.is_busy

    def keep(self, effect: AwaitReview | TrustFirst) -> LockChanged | None:
        """Write down what was seen."""
        return self._lock.keep(effect)

    def look(self) -> list[FileChanged]:
        """The lock and the policy, if they were written since."""
        found = (self._lock.look(), self._policy.look())
        return [each for each in found if each is not None]

    def seconds_left(self, now: float) -> float | None:
        """When an idle run has to look at the lock."""
        return self._lock.seconds_left(now)

    def show(self, effect: AskPerson | AskOver) -> None:
        """Show an ask, or take it away."""
        self._control.show(effect)

    def wanted(self) -> dict[int, int]:
        """The descriptors of the control socket."""
        return self._control.wanted()

    def serve(self, ready: dict[int, int]) -> Iterator[FromPerson]:
        """Hear who is connected."""
        return self._control.serve(ready)

    def close(self) -> None:
        """Listen no more."""
        self._control.close()


def open_control(
    places: Places,
    run: str,
    server: str,
    asks: Asks,
    *,
    status: Callable[[], dict[str, Any]],
    clock: Callable[[], float],
) -> Control:
    """The control socket of a run, for a person of this user; JailError."""

    def fault(peer: Peer) -> str | None:
        return fault_of(peer, _all_clients(places))

    return Control(places.socket(run), server, asks, status=status, fault_of=fault, clock=clock)


def _all_clients(places: Places) -> frozenset[Mark]:
    """What any guard of this user was started by: no agent answers for another's server either."""
    running = runs.running(places)
    then = {Mark(*mark) for run in running for mark in run.clients}
    return frozenset(then.union(*(clients_of(run.pid) for run in running)))
