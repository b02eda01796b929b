"""All that persons do while a server runs: its lock, its policy, its asks and who answers them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from mcp_jail.asks.desktop_look import has_bus
from mcp_jail.asks.lineage import Running, running_in, this_guard
from mcp_jail.asks.who import fault_of, fault_of_service
from mcp_jail.core.conversation.asks import Asks
from mcp_jail.core.conversation.events import (
    AskOver,
    AskPerson,
    AwaitReview,
    FileChanged,
    FromPerson,
    LockChanged,
    TrustFirst,
)
from mcp_jail.core.conversation.session import Session
from mcp_jail.core.policy import Channel
from mcp_jail.core.recorded.redact import Redactor
from mcp_jail.errors import JailError
from mcp_jail.proxy.control import Control
from mcp_jail.proxy.locking import LockKeeping
from mcp_jail.proxy.on_desktop import OnDesktop, shown_by
from mcp_jail.proxy.prepare import Prepared
from mcp_jail.proxy.reloading import PolicyKeeping
from mcp_jail.proxy.server import JailedServer
from mcp_jail.sandbox.keeper import Keeper
from mcp_jail.store.files import make_private_folder


class Watching:
    """The lock file, the policy file and the control socket of one run."""

    def __init__(
        self,
        lock: LockKeeping,
        policy: PolicyKeeping,
        control: Control,
        asks: Asks,
        desktop: OnDesktop | None = None,
    ) -> None:
        self._asks = asks
        self._lock = lock
        self._policy = policy
        self._control = control
        self._desktop = desktop

    @property
    def is_waiting(self) -> bool:
        """Whether something seen waits for a person."""
        return self._lock.is_waiting or len(self._asks) > 0

    @property
    def is_busy(self) -> bool:
        """Whether somebody is connected, or shown something."""
        return self._control.is_busy or (self._desktop is not None and self._desktop.is_busy)

    def keep(self, effect: AwaitReview | TrustFirst) -> LockChanged | None:
        """Write down what was seen."""
        return self._lock.keep(effect)

    def look(self) -> list[FileChanged]:
        """The lock and the policy, if they were written since."""
        found = (self._lock.look(), self._policy.look())
        return [each for each in found if each is not None]

    def seconds_left(self, now: float) -> float | None:
        """When an idle run has to look at the lock, or at the policy: it may end what waits."""
        left = [self._lock.seconds_left(now)]
        if len(self._asks) > 0:
            left.append(self._policy.seconds_left(now))
        return min((each for each in left if each is not None), default=None)

    def show(self, effect: AskPerson | AskOver) -> None:
        """Show an ask, or take it away."""
        self._control.show(effect)
        if self._desktop is not None:
            self._desktop.show(effect)

    def wanted(self) -> dict[int, int]:
        """The descriptors of the control socket and of what is shown."""
        shown = {} if self._desktop is None else self._desktop.wanted()
        return self._control.wanted() | shown

    def serve(self, ready: dict[int, int]) -> Iterator[FromPerson]:
        """Hear who is connected, and what was answered on the desktop."""
        yield from self._control.serve(ready)
        if self._desktop is not None:
            yield from self._desktop.serve(ready)


def watch(
    prepared: Prepared,
    run: str,
    session: Session,
    server: JailedServer,
    keeper: Keeper,
    redactor: Redactor,
    lock: LockKeeping,
) -> Watching:
    """What persons do while a server runs; its control socket listens from here on, JailError."""
    places, name = prepared.judged.on_disk, prepared.judged.state_name
    make_private_folder(places.runtime)
    here = this_guard()  # a client may take our run's file away, not what we know of it

    def fault_in(look: Callable[[Running], str | None]) -> str | None:
        try:
            return look(running_in(places).besides(here))
        except JailError as error:
            return f"anybody while {error.message}"

    control = Control(
        places.socket(run),
        name,
        session.asks,
        status=_status(prepared, run, session, server),
        fault_of=lambda peer: fault_in(partial(fault_of, peer)),
        finds_secret=redactor.finds_in,
        clock=time.monotonic,
    )
    desktop = None
    if has_bus():
        desktop = OnDesktop(
            keeper,
            name,
            shown_by(redactor.arguments),
            seconds=lambda: session.asks.remember,
            is_wanted=lambda: Channel.DESKTOP in session.policy.ask.channels,
            fault_of=lambda pid: fault_in(partial(fault_of_service, pid)),
        )
    policy = PolicyKeeping(prepared.judged, time.monotonic)
    return Watching(lock, policy, control, session.asks, desktop)


def _status(
    prepared: Prepared, run: str, session: Session, server: JailedServer
) -> Callable[[], dict[str, Any]]:
    """What `ps` is told."""
    policy = prepared.policy
    known = {
        "run": run,
        "name": prepared.judged.state_name,  # a policy from elsewhere may take any other
        "pid": os.getpid(),
        "since": time.time_ns() // 1_000_000,
        "sandbox": "bubblewrap",
        "network": policy.network.mode.value,
    }

    def now() -> dict[str, Any]:
        tally = session.tally
        # The mounts were compared before the server was let go; the rest is seen as it speaks.
        counted = {
            "tools_default": session.policy.tools.default.value,
            "proof": "mounts" if server.confined is None else "held",
            "asks": len(session.asks.open),
            "calls": tally.calls,
            "denials": tally.denials,
        }
        return known | counted | session.unlike_policy

    return now
