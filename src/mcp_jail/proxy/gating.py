"""The gate of one run: started before the jail, and what the audit's first entry says of it.

A policy without a network has one too, which opens nothing: so that what is tried is seen.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Final

import msgspec

from mcp_jail.config.problems import Problems, refusal
from mcp_jail.core.policy import Network, NetworkMode, Via
from mcp_jail.gate.allow import Allow, compile_network
from mcp_jail.gate.process import Gate, Ready, start
from mcp_jail.proxy.prepare import Judged, Prepared
from mcp_jail.sandbox.enter import Namespace, inside
from mcp_jail.sandbox.launch import Jail
from mcp_jail.sandbox.seccomp import ARCHES, filter_for, no_unix_filter

# What `network.via: proxy` costs.
WEAKER: Final = (
    "weaker: only programs that heed the proxy variables get out, and what others try is not seen"
)

# Connections at once that are enough: a browser's, or those of a server with many requests at work.
ENOUGH: Final = 200


def network_of(judged: Judged) -> Allow:
    """What a policy opens; PolicyError for a rule that no gate can keep."""
    try:
        return compile_network(judged.policy.network)
    except ValueError as error:
        problems = Problems(judged.source, judged.file.text)
        judged.problem(problems, ("network", "allow"), str(error), "")
        raise refusal(judged.source, problems.in_order()) from None


def open_gate(prepared: Prepared) -> Gate | None:
    """Start the relay of a jail; None where the policy gives it the host's network. PolicyError.

    None, too, where it has no network and no sockets are made inside to see what is tried.

    The process must be single-threaded.
    """
    allow = network_of(prepared.judged)
    network = prepared.policy.network
    is_gate = network.via is Via.GATE
    if network.mode is NetworkMode.HOST or not (is_gate or prepared.plan.door):
        return None
    return start(allow, enter if is_gate else None, **filters(os.uname().machine))


def filters(arch: str) -> dict[str, bytes]:
    """The filters of a relay, by what `start` calls them; none for a machine they are not for."""
    if arch not in ARCHES:
        return {}
    return {"seccomp": filter_for(arch), "no_unix": no_unix_filter(arch)}


def enter(pid: int, action: Callable[[], bytes]) -> bytes:
    """Run something in a fork inside a process's network namespace, for the relay."""
    return inside(pid, [Namespace.NETWORK], action)


def verify(gate: Gate | None, jail: Jail) -> Ready | None:
    """Look at a jail that waits and have its gate, where it has one, serve it; JailBuildError."""
    if gate is not None:
        return serve(gate, jail)
    jail.verify()
    return None


def serve(gate: Gate, jail: Jail) -> Ready:
    """Have a gate serve a jail that waits; JailBuildError where either cannot be built.

    The gate makes its sockets while the jail is looked at.
    """
    gate.serve(jail.init_pid)
    jail.verify()
    return gate.ready()


def too_few(ready: Ready | None, network: Network) -> str:
    """What is said where fewer connections can be open at once than some programs have."""
    if ready is None or network.mode is not NetworkMode.ALLOWLIST or ready.connections >= ENOUGH:
        return ""
    return f"warning: {few_words(ready)}"


def few_words(ready: Ready) -> str:
    """How many there can be, and why."""
    return (
        f"only {ready.connections} connections at once, since a process may have no more files "
        f"open here; raise the hard limit (ulimit -Hn) for {ENOUGH} and more"
    )


def network_detail(prepared: Prepared, ready: Ready | None) -> dict[str, Any]:
    """What the start entry says of the network."""
    network = prepared.policy.network
    how = {"mode": network.mode.value}
    if network.via is not Via.GATE:
        how["via"] = network.via.value
    if ready is None:
        return how
    allow = network_of(prepared.judged)
    rules = sorted(opening.rule for opening in allow.openings.values())
    held = msgspec.to_builtins(ready.closed_in)
    if allow.upstream is not None:
        how["upstream_proxy"] = allow.upstream.place
    return how | {"allow": rules, "relay": held}
