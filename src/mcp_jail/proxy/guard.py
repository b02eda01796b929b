"""One run from a jail that waits to an exit code.

The audit is opened first, since a run that cannot be recorded is not started; the jail is looked at
from outside; the start is written down; the server is let go; then the loop, then the last entry.
"""

from __future__ import annotations

import gc
import os
import time
from base64 import b32encode
from typing import Any

import msgspec
from msgspec import Raw

from mcp_jail.asks.lineage import clients_of
from mcp_jail.core.approved.catalogue import Catalogue
from mcp_jail.core.conversation.session import Session
from mcp_jail.core.recorded.audit import Chain, Entry
from mcp_jail.core.recorded.redact import Redactor, arguments_digest
from mcp_jail.errors import (
    AuditError,
    ExitCode,
    JailBuildError,
    LaunchMismatchError,
    PackageError,
)
from mcp_jail.gate.process import Gate
from mcp_jail.proxy.ending import Cause, Ending
from mcp_jail.proxy.entries import end_entry, redactor_of, refused_start, start_entry
from mcp_jail.proxy.gate_reports import Reports, written_in
from mcp_jail.proxy.gating import network_detail, too_few, verify
from mcp_jail.proxy.locking import LockKeeping, new_catalogue, read_locked, unclaimed
from mcp_jail.proxy.loop import Loop
from mcp_jail.proxy.patterns import fullmatch
from mcp_jail.proxy.persons import watch
from mcp_jail.proxy.prepare import Prepared
from mcp_jail.proxy.recorder import Recorder
from mcp_jail.proxy.server import JailedServer
from mcp_jail.proxy.stderr import ErrorStream
from mcp_jail.sandbox.keeper import Keeper
from mcp_jail.sandbox.launch import Jail, NotHeldError
from mcp_jail.sandbox.view import View
from mcp_jail.store import runs
from mcp_jail.store.journal import open_journal
from mcp_jail.store.state_key import phrase_of, state_key

# Characters of an ask's name: 30 bits, among at most some hundred open asks.
TICKET_LENGTH = 6

# Random characters of an id of ours: 64 bits, drawn 256 ids at a time.
_TAIL = 16

# Keys sorted, so that the same arguments have the same digest in any order.
_encode = msgspec.json.Encoder(order="sorted").encode

_CODES = {
    Cause.CLIENT_CLOSED: ExitCode.OK,
    Cause.SIGNAL: ExitCode.OK,
    Cause.SERVER_GONE: ExitCode.NEGATIVE,
    Cause.AUDIT_FAILED: ExitCode.AUDIT,
    Cause.NOT_CONFINED: ExitCode.JAIL,
}


def guard(
    prepared: Prepared,
    jail: Jail,
    gate: Gate | None,
    *,
    client: tuple[int, int],
    errors: ErrorStream,
) -> ExitCode:
    """Run the server of a jail that waits until client or server end; JailBuildError, AuditError.

    Jail and gate are closed in any case.
    """
    try:
        if prepared.package is not None:
            prepared.package.hold()  # until this process ends
        run = os.urandom(8).hex()
        journal = open_journal(prepared.audit)
        recorder = Recorder(Chain(run, journal.anchor), journal, _now_ms)
        key = state_key(prepared.judged.on_disk)
        redactor = redactor_of(prepared, key)
        if prepared.secrets:
            recorder.hide(redactor.known)
            errors.hide(redactor.known)
        locked = read_locked(prepared)
        try:
            catalogue = new_catalogue(prepared, locked)
        except LaunchMismatchError as error:
            recorder.append(refused_start(prepared, error.message, redactor.text))
            raise
        session = _session(prepared, redactor, key, catalogue)
        reports = None if gate is None else Reports.of(gate, written_in(prepared.judged))
        ready = verify(gate, jail)
        _warn(errors, unclaimed(prepared, locked.lock), too_few(ready, prepared.policy.network))
        _settle_package(prepared, recorder, redactor)
        network = network_detail(prepared, ready)
        recorder.append([start_entry(prepared, network=network, blot=redactor.text)])
        server = JailedServer(jail, reports)
        clock = time.monotonic
        lock = LockKeeping(locked, clock, errors.tell)
        _forget_at_the_end(prepared, run, jail.keeper)
        persons = watch(prepared, run, session, server, jail.keeper, redactor, lock)
        _register(prepared, run)  # once its socket listens: who finds a run may speak with it
        loop = Loop(session, server, recorder, errors, persons, client=client, clock=clock)
        try:
            jail.go(None if gate is None else gate.open)
        except JailBuildError as error:  # written down, as a server that was stopped later is
            server.confined = error.status if isinstance(error, NotHeldError) else None
            ending = Ending(Cause.NOT_CONFINED, "never started", error.message)
        else:
            gc.freeze()  # what was loaded so far lives as long as we: do not look at it again
            gc.enable()
            ending = loop.run()
    finally:
        jail.close()
        if gate is not None:
            gate.close()
    left = [] if reports is None else reports.rest()
    for event in left:
        if event.told:
            errors.tell(event.told)
    entry = end_entry(prepared.plan, session.tally, ending, confined=server.confined)
    return _ended([*(event.entry for event in left), entry], recorder, errors, ending)


def _warn(errors: ErrorStream, *warnings: str) -> None:
    """Say what a run starts with all the same."""
    for words in filter(None, warnings):
        errors.tell(words)


def _settle_package(prepared: Prepared, recorder: Recorder, redactor: Redactor) -> None:
    """Have a package known to be untouched before anything of it is started; PackageError."""
    if prepared.package is None:
        return
    try:
        prepared.package.settle()
    except PackageError as error:
        recorder.append(refused_start(prepared, error.message, redactor.text))
        raise


def _forget_at_the_end(prepared: Prepared, run: str, keeper: Keeper) -> None:
    """Have the keeper take away what a run leaves among those that are running."""
    on_disk = prepared.judged.on_disk
    keeper.forget(on_disk.run(run))
    keeper.forget(on_disk.socket(run))


def _register(prepared: Prepared, run: str) -> None:
    """Note the run among those that are running."""
    runs.register(
        prepared.judged.on_disk,
        runs.this_run(
            run=run,
            name=prepared.judged.state_name,
            started=_now_ms(),
            policy=prepared.judged.file.path,
            audit=prepared.audit,
            clients=tuple((mark.pid, mark.started) for mark in clients_of(os.getpid())),
        ),
    )


def _session(prepared: Prepared, redactor: Redactor, key: bytes, catalogue: Catalogue) -> Session:
    def describe(arguments: dict[str, Any]) -> tuple[Raw | None, str]:
        encoded = _encode(arguments)
        return redactor.arguments(arguments, encoded), arguments_digest(key, encoded)

    session = Session(
        prepared.judged.book,
        View(prepared.plan, fullmatch),
        fresh_id=_Ids(),
        fresh_ticket=_ticket,
        describe=describe,
        roots=prepared.roots,
        catalogue=catalogue,
    )
    session.mark_questions(phrase_of(key))
    return session


def _ended(
    entries: list[Entry], recorder: Recorder, errors: ErrorStream, ending: Ending
) -> ExitCode:
    """Write the last entries; the exit code, JailBuildError for a server that had to be stopped."""
    cause = ending.cause
    if cause is Cause.SERVER_GONE:
        errors.tell(f"the server ended: {ending.how}")
    is_written = True
    try:
        recorder.append(entries)
        recorder.close()
    except AuditError as error:
        is_written = False
        if cause is not Cause.AUDIT_FAILED:
            errors.tell(f"error: {error.message}")
    if cause is Cause.NOT_CONFINED:
        raise JailBuildError(f"the server was stopped: {ending.detail}")
    return _CODES[cause] if is_written else ExitCode.AUDIT


class _Ids:
    """Ids for the server's side: counted, so that a log can be read, with a tail nobody guesses."""

    def __init__(self) -> None:
        self._next = 0
        self._tails = ""

    def __call__(self) -> str:
        place = self._next % 256 * _TAIL
        if place == 0:
            self._tails = os.urandom(256 * _TAIL // 2).hex()
        self._next += 1
        return f"{self._next}-{self._tails[place : place + _TAIL]}"


def _ticket() -> str:
    """A name for an ask that a person can type; base32 has no digits that look like letters."""
    return b32encode(os.urandom(5))[:TICKET_LENGTH].decode()


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
