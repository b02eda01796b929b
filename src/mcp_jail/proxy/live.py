"""A look at a server without any client: started in its jail, asked for all it lists, ended.

The jail is that of a run, with every check of one, and each start is in the audit. Nothing is
approved by a look.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Final

import msgspec
from msgspec import Raw

from mcp_jail.core.approved.catalogue import Catalogue
from mcp_jail.core.approved.lock import ItemKind, Lock
from mcp_jail.core.approved.review import both
from mcp_jail.core.conversation.events import NetTried
from mcp_jail.core.conversation.session import Session
from mcp_jail.core.policy import LockPolicy
from mcp_jail.core.recorded.audit import Entry
from mcp_jail.core.recorded.blotted import Hide, blotted
from mcp_jail.errors import ExitCode, JailBuildError, JailError
from mcp_jail.proxy.ending import Cause, Ending
from mcp_jail.proxy.entries import end_entry, redactor_of, start_entry
from mcp_jail.proxy.gate_reports import Reports, written_in
from mcp_jail.proxy.gating import network_detail, open_gate, verify
from mcp_jail.proxy.lister import VERSIONS, Listed, Peer, list_all, open_server
from mcp_jail.proxy.patterns import fullmatch
from mcp_jail.proxy.prepare import Prepared
from mcp_jail.proxy.secrets import with_secrets
from mcp_jail.proxy.server import JailedServer
from mcp_jail.proxy.talk import Talk, Write
from mcp_jail.sandbox.launch import Jail, launch
from mcp_jail.sandbox.view import View
from mcp_jail.store.chains import begin_chain
from mcp_jail.store.state_key import state_key

# Seconds for one answer. SDK clients wait 60; their `server/discover` gives up after 10.
ANSWER_SECONDS: Final = 30.0
DISCOVER_SECONDS: Final = 10.0

# Seconds a server has to end by itself once its input is closed.
CLOSE_SECONDS: Final = 1.0


class LookError(JailError):
    """A server that does not show all it has; what it did show proves nothing.

    `said` is the end of its error stream.
    """

    exit_code = ExitCode.NEGATIVE

    def __init__(self, message: str, *, said: tuple[str, ...]) -> None:
        about = "its error stream ends with:" if said else "it wrote nothing to its error stream"
        super().__init__(message, hint=about, said=said)


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """What was seen of a server.

    `broken` are the kinds it did not list to their end, `absent` those it has no method for.
    `notes` tell what it did that no server should, `tried` what it tried on the network, `said`
    its error stream's last lines.
    """

    seen: Lock
    is_open: bool  # it answered the opening
    broken: tuple[ItemKind, ...] = ()
    absent: tuple[ItemKind, ...] = ()
    notes: tuple[str, ...] = ()
    tried: tuple[Entry, ...] = ()
    said: tuple[str, ...] = ()
    ended: str = ""  # how it ended by itself before we had done


# Called with the running jail once all is listed, to see more than what was said.
Watch = Callable[[Jail, Talk], None]


def look(
    prepared: Prepared,
    peers: tuple[Peer, ...] = (),
    *,
    is_recorded: bool = True,
    watch: Watch | None = None,
) -> Look:
    """What a server shows to each of some clients; without any, in every era it speaks.

    A server that does not answer gives a look that is not open. JailBuildError, AuditError.
    """
    one = _recorded if is_recorded else _unrecorded
    prepared = with_secrets(prepared)
    if not peers:
        tried = [one(prepared, Peer(era, version), watch) for era, version in VERSIONS.items()]
        looks = [each for each in tried if each.is_open] or tried[-1:]
    else:
        looks = [one(prepared, peer, watch) for peer in peers]
    whole = looks[0]
    for each in looks[1:]:
        whole = _together(whole, each)
    return whole


def _recorded(prepared: Prepared, peer: Peer, watch: Watch | None) -> Look:
    """A look with its entries in the policy's audit, as those of any run."""
    with begin_chain(prepared.audit) as write:
        return _look(prepared, peer, watch, write)


def _unrecorded(prepared: Prepared, peer: Peer, watch: Watch | None) -> Look:
    return _look(prepared, peer, watch, None)


def _look(prepared: Prepared, peer: Peer, watch: Watch | None, audit: Write | None) -> Look:
    hide = redactor_of(prepared, _key(prepared)).known if prepared.secrets else str
    write = _nowhere if audit is None else _hiding(audit, hide)
    session, catalogue = _session(prepared)
    run: _Run | None = None
    left: list[NetTried] = []
    ending = Ending(Cause.SIGNAL, "killed")
    try:
        with _built(prepared) as built:
            if audit is not None:
                write([_start_entry(prepared, built.network)])
            run = built
            run.go()
            talk = Talk(session, run.server, write)
            kinds = _list_all(peer, talk)
            if watch is not None:
                watch(run.jail, talk)
            ended = talk.ended
            ending = _ending(run.jail, run.server, talk)
    except JailBuildError as error:
        ending = Ending(Cause.NOT_CONFINED, "never started", error.message)
        raise
    finally:
        if run is not None:
            left += [] if run.reports is None else run.reports.rest()
            confined = run.server.confined
            entry = end_entry(prepared.plan, session.tally, ending, confined=confined)
            write([*(event.entry for event in left), entry])
    if talk.fault:
        raise JailBuildError(f"the server was stopped: {talk.fault}")
    return Look(
        seen=catalogue.seen,
        is_open=kinds is not None,
        broken=_of(kinds, Listed.BROKEN),
        absent=_of(kinds, Listed.ABSENT),
        notes=tuple(map(hide, talk.notes)),
        tried=(*talk.tried, *(event.entry for event in left)),
        said=tuple(map(hide, talk.said)),
        ended=ended,
    )


class _Run(msgspec.Struct):
    """A jail that is ready to go, with its gate's reports and what the audit says of it."""

    jail: Jail
    go: Callable[[], None]
    server: JailedServer
    reports: Reports | None
    network: dict[str, Any]


@contextmanager
def _built(prepared: Prepared) -> Iterator[_Run]:
    """A jail with its gate, looked at from outside; both are closed in any case."""
    held = None if prepared.package is None else prepared.package.hold()
    gate = open_gate(prepared)
    try:
        jail = launch(prepared.plan, secrets=prepared.secrets)
        try:
            network = network_detail(prepared, verify(gate, jail))
            reports = None if gate is None else Reports.of(gate, written_in(prepared.judged))
            go = partial(jail.go, None if gate is None else gate.open)
            yield _Run(jail, go, JailedServer(jail, reports), reports, network)
        finally:
            jail.close()
    finally:
        if gate is not None:
            gate.close()
        if held is not None:
            os.close(held)


def _start_entry(prepared: Prepared, network: dict[str, Any]) -> Entry:
    redactor = redactor_of(prepared, _key(prepared))
    entry = start_entry(prepared, network=network, blot=redactor.text)
    return msgspec.structs.replace(entry, reason="started to be looked at, without a client")


def _hiding(write: Write, hide: Hide) -> Write:
    return lambda entries: write([blotted(entry, hide) for entry in entries])


def _key(prepared: Prepared) -> bytes:
    return state_key(prepared.judged.on_disk)


def _list_all(peer: Peer, talk: Talk) -> Kinds | None:
    """Open the server and have it list what it has; None where it does not answer."""

    def ask(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
        seconds = DISCOVER_SECONDS if method == "server/discover" else ANSWER_SECONDS
        return talk.ask(method, params, seconds=seconds)

    return list_all(peer, ask) if open_server(peer, ask, talk.notify) else None


Kinds = dict[ItemKind, Listed]


def _of(kinds: Kinds | None, how: Listed) -> tuple[ItemKind, ...]:
    return tuple(kind for kind, each in (kinds or {}).items() if each is how)


def _session(prepared: Prepared) -> tuple[Session, Catalogue]:
    """A session that approves nothing, so that all that is listed is noted."""
    catalogue = Catalogue(prepared.judged.state_name, LockPolicy())
    ids = map(str, itertools.count(1))
    session = Session(
        prepared.judged.book,
        View(prepared.plan, fullmatch),
        fresh_id=lambda: next(ids),
        fresh_ticket=lambda: next(ids),  # nothing is called, so nobody is asked
        describe=_undescribed,
        roots=prepared.roots,
        catalogue=catalogue,
    )
    return session, catalogue


def _nowhere(_entries: list[Entry]) -> None:
    """Where entries go that nobody keeps."""


def _undescribed(arguments: dict[str, Any]) -> tuple[Raw | None, str]:  # noqa: ARG001
    """No call is made, so there are no arguments to keep."""
    return None, ""


def _ending(jail: Jail, server: JailedServer, talk: Talk) -> Ending:
    """Leave the server as clients do, and say how it ended."""
    if talk.fault:
        return Ending(Cause.NOT_CONFINED, "killed", talk.fault)
    if talk.ended:
        return Ending(Cause.SERVER_GONE, talk.ended)
    server.close_stdin()
    if jail.wait(CLOSE_SECONDS) is None:
        jail.kill()
    talk.read_errors()
    return Ending(Cause.CLIENT_CLOSED, server.wait())


def _together(one: Look, other: Look) -> Look:
    """What both clients were shown; what went wrong with either."""
    return Look(
        seen=both(one.seen, other.seen),
        is_open=one.is_open and other.is_open,
        broken=tuple(kind for kind in ItemKind if kind in one.broken or kind in other.broken),
        absent=tuple(kind for kind in ItemKind if kind in one.absent and kind in other.absent),
        notes=one.notes + other.notes,
        tried=one.tried + other.tried,
        said=other.said,
        ended=one.ended or other.ended,
    )
