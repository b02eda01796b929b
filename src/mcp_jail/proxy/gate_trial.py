"""A small real gate before a small real jail: the only sure answer to whether gates work here."""

from __future__ import annotations

import os
from typing import Final

from mcp_jail.config.jailspec import DOOR
from mcp_jail.core.policy import Network, NetworkMode
from mcp_jail.gate.allow import compile_network
from mcp_jail.gate.process import Enter, Ready, start
from mcp_jail.proxy.gating import ENOUGH, WEAKER, enter, few_words, filters
from mcp_jail.proxy.gating import serve as serve_jail
from mcp_jail.sandbox.launch import Jail
from mcp_jail.sandbox.probe import Host
from mcp_jail.sandbox.trial import Trial, try_a_jail

# The trial opens it; nothing ever asks for it.
_NETWORK: Final = Network(mode=NetworkMode.ALLOWLIST, allow=("mcp-jail.invalid",))

_CURE: Final = (
    "policies are not started here, but with network.via: proxy, which is weaker, or with "
    "network.mode: host, which is none"
)


def try_a_gate(host: Host) -> Trial:
    """Build a jail with a gate around a command that does nothing, and let it end."""
    trial, ready = _try(host, enter, door=None)
    if ready is None:
        return Trial(works=False, found=trial.found, cure=trial.cure or _CURE)
    ipv6 = "IPv4 and IPv6" if ready.has_ipv6 else "IPv4 only"
    found = f"its sockets made inside, {ipv6}, {_held(ready)}"
    return Trial(works=True, found=found)


def try_a_proxy(host: Host) -> Trial:
    """The same with what `network.via: proxy` has in a gate's stead."""
    trial, ready = _try(host, None, door=DOOR)
    if ready is None:
        return trial
    return Trial(works=True, found=f"its socket handed out, {_held(ready)}; {WEAKER}")


def _try(host: Host, enters: Enter | None, *, door: int | None) -> tuple[Trial, Ready | None]:
    """A trial, and the relay's word where it came to that and all worked."""
    found: list[Ready] = []
    gate = start(compile_network(_NETWORK), enters, **filters(host.arch))

    def serve(jail: Jail) -> None:
        found.append(serve_jail(gate, jail))

    try:
        trial = try_a_jail(host, serve, door=door, open_door=gate.open)
    finally:
        gate.close()
        os.close(gate.reports)
    return trial, found[0] if trial.works else None


def _held(ready: Ready) -> str:
    held = "Landlock" if ready.closed_in.landlock else "no Landlock, which this kernel lacks"
    few = f"; {few_words(ready)}" if ready.connections < ENOUGH else ""
    return f"its process held by {held}{few}"
