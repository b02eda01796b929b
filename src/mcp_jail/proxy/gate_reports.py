"""What the gate tells while a server runs, made into entries and words for persons and models."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from mcp_jail.core.conversation.events import NetTried
from mcp_jail.core.policy import Network, NetworkMode, Verdict
from mcp_jail.core.recorded.audit import Entry, Kind
from mcp_jail.core.rules.hosts import DEFAULT_PORT, canonical_host, is_address, is_near
from mcp_jail.gate.allow import compile_network
from mcp_jail.gate.attempts import (
    HELPED_BY_A_RULE,
    LINE_LIMIT,
    OTHERS,
    TOO_MANY_TO_TELL,
    Attempt,
    Room,
    What,
    decode,
)
from mcp_jail.gate.process import Gate
from mcp_jail.proxy.prepare import Judged

# Characters of a host that are repeated to a model; names have 253 at most.
_HOST_SHOWN: Final = 100

# Refusals that the person is told of on the error stream, in a row and then in a second; the audit
# has all of them. More in a second than the relay tells new ones for long.
TOLD_IN_A_ROW: Final = 40
TOLD_PER_SECOND: Final = 4.0

_GONE: Final = Attempt(what=What.BROKEN, verdict=Verdict.DENY, why="its process has ended")


class Written(msgspec.Struct, frozen=True):
    """What a policy says of the network, and where: what refuses, and each rule of the list.

    As file:line:column, empty where nobody wrote it.
    """

    network: Network = Network()
    refusing: str = ""
    rules: Mapping[str, str] = {}


_NOTHING: Final = Written()


def written_in(judged: Judged) -> Written:
    """What the policy of a run says."""
    network, places = judged.policy.network, judged.places
    key = "allow" if network.mode is NetworkMode.ALLOWLIST else "mode"
    found = (places.get(path) for path in (("network", key), ("network", "mode"), ("network",)))
    rules: dict[str, str] = {}
    for index, entry in enumerate(network.allow):
        place = places.get(("network", "allow", str(index)))
        if place is not None:
            rules.setdefault(entry if isinstance(entry, str) else entry.host, str(place))
    refusing = next((str(place) for place in found if place is not None), "")
    return Written(network, refusing, rules)


class Reports:
    """What a relay tells while the server runs. `fd` is readable when there is something."""

    def __init__(
        self,
        fd: int,
        written: Written = _NOTHING,
        *,
        gate: Gate | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.fd = fd
        self.at_end = False
        self._written = written
        self._gate = gate
        self._clock = clock
        self._is_closed = False  # the relay was told to end
        self._is_broken = False  # and has said so itself
        self._rest = b""
        self._room = Room(TOLD_IN_A_ROW, TOLD_PER_SECOND)
        self._untold = 0
        self._is_counted = False  # some refusals were told as a number alone
        os.set_blocking(fd, False)

    def call_begins(self) -> None:
        """Have the relay make room for the refusals of a call, where it has begun to count them."""
        if self._is_counted and self._gate is not None:
            self._gate.call_begins()

    @classmethod
    def of(cls, gate: Gate, written: Written = _NOTHING) -> Reports:
        """Those of a gate."""
        return cls(gate.reports, written, gate=gate)

    def read(self) -> list[NetTried]:
        """What was told since the last time; at the end, that the relay is gone."""
        try:
            data = os.read(self.fd, 16 * LINE_LIMIT)
        except BlockingIOError:
            return []
        if not data:
            self.at_end = True
            return [] if self._is_closed or self._is_broken else [self._event_of(_GONE)]
        return self._events(data)

    def rest(self) -> list[NetTried]:
        """All that is left, of a relay that was told to end."""
        self._is_closed = True
        os.set_blocking(self.fd, True)
        events = self._events(b"" if self._gate is None else bytes(self._gate.unread))
        while not self.at_end:
            events += self.read()
        if events and self._untold:
            events[-1] = msgspec.structs.replace(events[-1], told=self._more(events[-1].told))
        return events

    def _events(self, data: bytes) -> list[NetTried]:
        *lines, rest = (self._rest + data).split(b"\n")
        self._rest = rest[-LINE_LIMIT:]
        return [self._event_of(attempt) for attempt in map(_attempt, lines) if attempt is not None]

    def _event_of(self, attempt: Attempt) -> NetTried:
        self._is_counted |= _is_counted(attempt)
        entry = self._entry(attempt)
        if attempt.what is What.BROKEN:
            self._is_broken = True
            return NetTried(entry, told=_broken(attempt))
        if attempt.verdict is Verdict.ALLOW or attempt.what is What.LOST:
            return NetTried(entry, told=self._if_there_is_room(_broken(attempt)))
        # The person was told before, with the line that would open it.
        told = "" if attempt.again else _told(attempt, self._written.network)
        return NetTried(entry, refused=_refused(attempt), told=self._if_there_is_room(told))

    def _entry(self, attempt: Attempt) -> Entry:
        written = self._written
        return Entry(
            kind=Kind.NET,
            method=attempt.what.value,
            name=_where(attempt),
            verdict=attempt.verdict.value,
            rule=f"network.allow: {attempt.rule}" if attempt.rule else "network",
            where=written.rules.get(attempt.rule, "") if attempt.rule else written.refusing,
            reason=attempt.why,
            detail=_numbers(attempt),
        )

    def _if_there_is_room(self, told: str) -> str:
        """A flood is told as a number, so that what else is told can be found."""
        if not told:
            return ""
        if not self._room.take(self._clock()):
            self._untold += 1
            return ""
        return self._more(told) if self._untold else told

    def _more(self, told: str) -> str:
        untold, self._untold = self._untold, 0
        more = f"{untold} more of its attempts on the network are told in the audit alone"
        return f"{told} ({more})" if told else more


def _attempt(line: bytes) -> Attempt | None:
    try:
        return decode(line)
    except ValueError:
        return None  # half a line of a relay that was killed


def _is_counted(attempt: Attempt) -> bool:
    return attempt.why == TOO_MANY_TO_TELL and attempt.host == OTHERS


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
    if _is_counted(attempt):
        return f"other attempts ({attempt.what.value}) came to nothing, {attempt.why}"
    match attempt.what:
        case What.LOOKUP:
            return f"the name {where} was not looked up"
        case What.CONNECT:
            return f"a connection to {where} was not made"
        case _:
            return f"{attempt.what.value} to {where} was not sent"


def _told(attempt: Attempt, network: Network) -> str:
    """What the person is told, with the line that would open it."""
    where = ascii(_where(attempt)[:_HOST_SHOWN])
    times = f" ({attempt.times} times)" if attempt.times > 1 else ""
    told = f"denied network {attempt.what.value} {where}{times}: {attempt.why}"
    opened = _opening(attempt, network)
    if opened is None:
        return told
    return f'{told}; to allow it: network: {{mode: allowlist, allow: ["{opened}"]}}'


def _opening(attempt: Attempt, network: Network) -> str | None:
    """The entry of network.allow that is offered to be copied; None where none is.

    A server chooses what it asks for, and could ask for what a person should not open by copying a
    line: so only a name of one public host is offered, no pattern, no address, none of a network of
    the user's own. Nor is what would not help: what was refused for something else than that no
    rule names it, and what no gate could keep beside the rules there are.
    """
    if attempt.what not in {What.LOOKUP, What.CONNECT} or attempt.rule:
        return None
    host = canonical_host(attempt.host)
    if attempt.why not in HELPED_BY_A_RULE or host is None or is_address(host) or is_near(host):
        return None
    port = attempt.port or DEFAULT_PORT
    entry = host if port == DEFAULT_PORT else f"{host}:{port}"
    allow = (*network.allow, entry) if network.mode is NetworkMode.ALLOWLIST else (entry,)
    try:
        compile_network(Network(mode=NetworkMode.ALLOWLIST, allow=allow))
    except ValueError:
        return None
    return entry


def _broken(attempt: Attempt) -> str:
    """What the person is told of a gate that does not work; nothing where it does."""
    if attempt.what is What.BROKEN:
        return f"error: the gate has failed, nothing passes any more: {attempt.why}"
    return f"the gate lost count: {attempt.why}" if attempt.what is What.LOST else ""
