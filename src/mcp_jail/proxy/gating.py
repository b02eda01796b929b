"""The gate of one run: started before the jail, and what it tells made into events.

A policy without a network has one too, which opens nothing: so that what is tried is seen.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Final

from mcp_jail.config.problems import Problems, refusal
from mcp_jail.core.conversation.events import NetTried
from mcp_jail.core.policy import NetworkMode, Verdict, Via
from mcp_jail.core.recorded.audit import Entry, Kind
from mcp_jail.core.rules.hosts import DEFAULT_PORT, canonical_host, is_address, is_near
from mcp_jail.gate.allow import Allow, compile_network
from mcp_jail.gate.attempts import (
    LINE_LIMIT,
    TOO_MANY_CONNECTIONS,
    TOO_MANY_NAMES,
    Attempt,
    What,
    decode,
)
from mcp_jail.gate.process import Gate, Ready, start
from mcp_jail.proxy.prepare import Judged, Prepared
from mcp_jail.sandbox.enter import Namespace, inside
from mcp_jail.sandbox.launch import Jail
from mcp_jail.sandbox.seccomp import filter_for

# What `network.via: proxy` costs.
WEAKER: Final = (
    "weaker: only programs that heed the proxy variables get out, and what others try is not seen"
)

# Characters of a host that are repeated to a model; names have 253 at most.
_HOST_SHOWN: Final = 100

_GONE: Final = Attempt(what=What.BROKEN, verdict=Verdict.DENY, why="its process has ended")


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
    seccomp = filter_for(os.uname().machine)
    return start(allow, enter if is_gate else None, seccomp=seccomp)


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
    held = {"landlock": ready.closed_in.landlock, "seccomp": ready.closed_in.seccomp}
    if allow.upstream is not None:
        how["upstream_proxy"] = allow.upstream.place
    return how | {"allow": rules, "relay": held}


class Reports:
    """What the relay tells while the server runs. `fd` is readable when there is something."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.at_end = False
        self._is_closed = False  # the relay was told to end
        self._rest = b""
        os.set_blocking(fd, False)

    def read(self) -> list[NetTried]:
        """What was told since the last time; at the end, that the relay is gone."""
        try:
            data = os.read(self.fd, 16 * LINE_LIMIT)
        except BlockingIOError:
            return []
        if not data:
            self.at_end = True
            return [] if self._is_closed else [_event_of(_GONE)]
        *lines, self._rest = (self._rest + data).split(b"\n")
        self._rest = self._rest[-LINE_LIMIT:]
        return [event for event in map(_event, lines) if event is not None]

    def rest(self) -> list[NetTried]:
        """All that is left, of a relay that was told to end."""
        self._is_closed = True
        os.set_blocking(self.fd, True)
        events = []
        while not self.at_end:
            events += self.read()
        return events


def _event(line: bytes) -> NetTried | None:
    try:
        attempt = decode(line)
    except ValueError:
        return None  # half a line of a relay that was killed
    return _event_of(attempt)


def _event_of(attempt: Attempt) -> NetTried:
    entry = Entry(
        kind=Kind.NET,
        method=attempt.what.value,
        name=_where(attempt),
        verdict=attempt.verdict.value,
        rule=f"network.allow: {attempt.rule}" if attempt.rule else "network",
        reason=attempt.why,
        detail=_numbers(attempt),
    )
    if attempt.verdict is Verdict.ALLOW or attempt.what in {What.LOST, What.BROKEN}:
        return NetTried(entry, told=_broken(attempt))
    # The person was told before, with the line that would open it.
    return NetTried(entry, refused=_refused(attempt), told="" if attempt.again else _told(attempt))


def _where(attempt: Attempt) -> str:
    """A host and port as policies write them."""
    if not attempt.port or attempt.what is What.OTHER:
        return attempt.host
    host = f"[{attempt.host}]" if ":" in attempt.host else attempt.host
    return f"{host}:{attempt.port}"


def _numbers(attempt: Attempt) -> dict[str, Any]:
    found = {
        "address": attempt.address,
        "sent": attempt.sent,
        "received": attempt.received,
        "ms": attempt.ms,
        "protocol": attempt.port if attempt.what is What.OTHER else 0,
    }
    kept = {name: value for name, value in found.items() if value}
    return kept | ({"times": attempt.times} if attempt.times > 1 else {})


def _refused(attempt: Attempt) -> str:
    """What a model is told: what was refused, not how to open it."""
    where = ascii(_where(attempt)[:_HOST_SHOWN])
    match attempt.what:
        case What.LOOKUP:
            return f"the name {where} was not looked up"
        case What.CONNECT:
            return f"a connection to {where} was not made"
        case _:
            return f"{attempt.what.value} to {where} was not sent"


def _told(attempt: Attempt) -> str:
    """What the person is told, with the line that would open it."""
    where = ascii(_where(attempt)[:_HOST_SHOWN])
    times = f" ({attempt.times} times)" if attempt.times > 1 else ""
    told = f"denied network {attempt.what.value} {where}{times}: {attempt.why}"
    opened = _opening(attempt)
    if opened is None:
        return told
    return f'{told}; to allow it: network: {{mode: allowlist, allow: ["{opened}"]}}'


def _opening(attempt: Attempt) -> str | None:
    """The entry of network.allow that is offered to be copied; None where none is.

    A server chooses what it asks for, and could ask for what a person should not open by copying a
    line: so only a name of one public host is offered, no pattern, no address, none of a network of
    the user's own.
    """
    # One that a rule names was refused for something else, which no further entry changes.
    if attempt.what not in {What.LOOKUP, What.CONNECT} or attempt.rule:
        return None
    if attempt.why in {TOO_MANY_NAMES, TOO_MANY_CONNECTIONS}:
        return None
    host = canonical_host(attempt.host)
    if host is None or is_address(host) or is_near(host):
        return None
    port = attempt.port or DEFAULT_PORT
    return host if port == DEFAULT_PORT else f"{host}:{port}"


def _broken(attempt: Attempt) -> str:
    """What the person is told of a gate that does not work; nothing where it does."""
    if attempt.what is What.BROKEN:
        return f"error: the gate has failed, nothing passes any more: {attempt.why}"
    return f"the gate lost count: {attempt.why}" if attempt.what is What.LOST else ""
