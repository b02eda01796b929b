"""A small real gate before a small real jail: the only sure answer to whether gates work here."""

from __future__ import annotations

import os

from mcp_jail.core.policy import Network, NetworkMode
from mcp_jail.gate.allow import compile_network
from mcp_jail.gate.process import Ready, start
from mcp_jail.proxy.gating import enter
from mcp_jail.proxy.gating import serve as serve_jail
from mcp_jail.sandbox.launch import Jail
from mcp_jail.sandbox.probe import Host
from mcp_jail.sandbox.seccomp import ARCHES, filter_for
from mcp_jail.sandbox.trial import Trial, try_a_jail

# What the trial opens; nothing ever asks for it.
_NETWORK = Network(mode=NetworkMode.ALLOWLIST, allow=("mcp-jail.invalid",))

_CURE = "a policy that names hosts is not started here; network.mode: none and host need no gate"


def try_a_gate(host: Host) -> Trial:
    """Build a jail with a gate around a command that does nothing, and let it end."""
    found: list[Ready] = []
    seccomp = filter_for(host.arch) if host.arch in ARCHES else b""
    gate = start(compile_network(_NETWORK), enter, seccomp=seccomp)

    def serve(jail: Jail) -> None:
        found.append(serve_jail(gate, jail))

    try:
        trial = try_a_jail(host, serve)
    finally:
        gate.close()
        os.close(gate.reports)
    if not trial.works:
        return Trial(works=False, found=trial.found, cure=trial.cure or _CURE)
    (ready,) = found
    held = "Landlock" if ready.closed_in.landlock else "no Landlock, which this kernel lacks"
    ipv6 = "IPv4 and IPv6" if ready.has_ipv6 else "IPv4 only"
    return Trial(works=True, found=f"its sockets made inside, {ipv6}, its process held by {held}")
