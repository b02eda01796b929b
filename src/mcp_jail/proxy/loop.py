"""The loop of one run: one thread, one poll, no file but the audit.

A wake-up reads what is there, lets the session decide, writes the entries of all calls in one
write, and only then forwards. What tells of something that is already done, such as a result, is
sealed after its forwarding and joins the next write, within `HELD_SECONDS`. A side that does
not read stops only the side that feeds it, so neither direction can block the other.
"""

from __future__ import annotations

import os
import select
from collections.abc import Callable
from typing import assert_never

from mcp_jail.core.conversation.events import (
    AskOver,
    AskPerson,
    AuditFailed,
    AwaitReview,
    Effect,
    FileChanged,
    Record,
    ServerGone,
    Tell,
    Tick,
    ToClient,
    ToServer,
    TrustFirst,
    needs_record,
)
from mcp_jail.core.conversation.session import Session
from mcp_jail.core.protocol.wire import MESSAGE_LIMIT
from mcp_jail.core.recorded.audit import Entry, Kind
from mcp_jail.errors import AuditError
from mcp_jail.proxy import arrivals
from mcp_jail.proxy.ending import Cause, Ending
from mcp_jail.proxy.ladder import Ladder, Step
from mcp_jail.proxy.lines import HIGH_WATER, LineReader, LineWriter
from mcp_jail.proxy.ports import Persons, Recorder, RunningServer
from mcp_jail.proxy.signals import Signals
from mcp_jail.proxy.stderr import ErrorStream
from mcp_jail.proxy.watched import Watched

# Bytes waiting for a client that does not read at which it is not listened to either: a whole
# result may wait and hold up nothing, but our own refusals must not pile up without end.
CLOGGED = MESSAGE_LIMIT + HIGH_WATER

# How a client that is not listened to tells that it is gone: a closed pipe, a shut socket.
_GONE = select.POLLHUP | select.POLLERR | select.POLLRDHUP

# Seconds a client has to read the last answers after the server is gone.
FLUSH_SECONDS = 0.4

# Seconds the entry of something already done may wait for the next write: a kill of ours in that
# time loses it, never a call's.
HELD_SECONDS = 0.02

# Milliseconds after which a run that has nothing to do looks whether its policy was changed.
IDLE_LOOK = 2_000

# Steps of the ladder at which the server's input is still open.
_WRITING = (Step.RUNNING, Step.CLOSING)


class Loop:
    """Carries messages until one side closes; `client` is the pair to read from and write to."""

    def __init__(
        self,
        session: Session,
        server: RunningServer,
        recorder: Recorder,
        errors: ErrorStream,
        persons: Persons,
        *,
        client: tuple[int, int],
        clock: Callable[[], float],
    ) -> None:
        self._session = session
        self._server = server
        self._recorder = recorder
        self._errors = errors
        self._persons = persons
        self._net = server.net
        self._clock = clock
        self._from_client = LineReader(client[0])
        self._to_client = LineWriter(client[1])
        self._from_server = LineReader(server.stdout)
        self._to_server = LineWriter(server.stdin)
        self._ladder = Ladder(server)
        self._watched = Watched()
        self._cause: Cause | None = None
        self._detail = ""
        self._how: str | None = None
        self._is_checked = False
        self._is_left = False
        self._is_usual = False
        self._flush_by: float | None = None
        self._write_by: float | None = None

    def run(self) -> Ending:
        """Carry messages until it is over; the jail is gone when this returns."""
        descriptors = (self._from_client.fd, self._to_client.fd)
        were_blocking = [(fd, os.get_blocking(fd)) for fd in descriptors]
        for fd in (*descriptors, self._server.stdin, self._server.stdout, self._server.stderr):
            os.set_blocking(fd, False)
        signals = Signals()
        try:
            while not self._is_over():
                self._turn(signals)
        finally:
            self._server.kill()
            if self._write_by is not None:
                self._append([])
            signals.close()
            for fd, was_blocking in were_blocking:
                os.set_blocking(fd, was_blocking)
        return Ending(self._cause or Cause.SERVER_GONE, self._how or "killed", self._detail)

    def _turn(self, signals: Signals) -> None:
        """One wake-up."""
        self._watch(signals.fd)
        ready = self._watched.ready(self._timeout())
        for changed in self._persons.look():
            self._take_up(changed)
        if signals.fd in ready and signals.drain():
            self._is_left = True
            self._ladder.hurry(self._clock())  # unless this is the first signal
            self._stop(Cause.SIGNAL)
        effects = [*self._session.handle(Tick(self._clock())), *self._hear(ready)]
        if effects:
            self._perform(effects)
        if self._write_by is not None:
            self._write_held(self._write_by)
        self._send()
        if self._ladder.step is not Step.RUNNING:
            self._ladder.tick(self._clock())

    def _hear(self, ready: dict[int, int]) -> list[Effect]:
        effects: list[Effect] = []
        if self._net is not None and self._net.fd in ready:
            effects += arrivals.from_network(self._session, self._net.read())
        effects += arrivals.from_people(self._session, self._persons.serve(ready))
        if self._from_client.fd in ready:
            effects += self._hear_client(ready[self._from_client.fd])
        if self._server.stdout in ready:
            effects += self._read_server()
        if self._server.stderr in ready:
            self._errors.pass_on(self._server.stderr)
        if self._server.pidfd in ready and self._how is None:
            effects += self._server_ended()
        return effects

    def _send(self) -> None:
        self._to_client.flush()
        if self._ladder.step in _WRITING:
            self._to_server.flush()
            if self._to_server.pending == 0:
                self._ladder.drained()
        if self._to_client.is_broken:
            self._is_left = True
            self._stop(Cause.CLIENT_CLOSED)
        if self._to_server.is_broken:
            self._stop(Cause.SERVER_GONE)

    # What arrives

    def _hear_client(self, what: int) -> list[Effect]:
        """Read the client, or, while it is not listened to, see that it is gone."""
        if not self._is_clogged():
            return self._read_client()
        if what & _GONE:
            self._is_left = True
            self._stop(Cause.CLIENT_CLOSED)
        return []

    def _read_client(self) -> list[Effect]:
        effects = arrivals.from_client(self._session, self._from_client.read())
        if self._from_client.at_end:
            self._perform(effects)
            effects = []
            self._is_left = True
            self._stop(Cause.CLIENT_CLOSED)
        return effects

    def _read_server(self) -> list[Effect]:
        lines = self._from_server.read()
        if lines and not self._is_checked:
            self._is_checked = True
            fault = self._server.fault()
            if fault is not None:
                self._cause = None  # whatever else was about to end the run
                self._stop(Cause.NOT_CONFINED, fault)
                self._ladder.kill()
                return []
        if self._cause is Cause.NOT_CONFINED:
            return []
        is_end = self._from_server.at_end
        effects = arrivals.from_server(self._session, lines, is_end=is_end)
        if is_end and self._how is None:
            self._stop(Cause.SERVER_GONE)
        return effects

    def _server_ended(self) -> list[Effect]:
        """The jail is gone: take what it left in the pipes, then answer all that waits."""
        self._how = self._server.wait()
        effects: list[Effect] = []
        self._from_server.is_dry = False
        while not self._from_server.at_end and not self._from_server.is_dry:
            lines = self._from_server.read()
            if self._cause is not Cause.NOT_CONFINED:
                is_end = self._from_server.at_end
                effects += arrivals.from_server(self._session, lines, is_end=is_end)
        while self._errors.pass_on(self._server.stderr):
            pass
        self._stop(Cause.SERVER_GONE)
        effects += self._session.handle(ServerGone(self._how))
        self._flush_by = self._clock() + FLUSH_SECONDS
        return effects

    # What is done about it

    def _perform(self, effects: list[Effect]) -> None:
        entries = [effect.entry for effect in effects if isinstance(effect, Record)]
        is_call = any(entry.kind is Kind.CALL for entry in entries)
        if is_call and self._net is not None:
            self._net.call_begins()
        if is_call and not self._append(entries):
            effects = [effect for effect in effects if not needs_record(effect)]
            effects += self._session.handle(AuditFailed())
        for effect in effects:
            self._carry_out(effect)
        if entries and not is_call:
            self._to_client.flush()
            self._recorder.hold(entries)
            if self._write_by is None:
                self._write_by = self._clock() + HELD_SECONDS

    def _write_held(self, by: float) -> None:
        """Write what waits, if it has waited long enough."""
        if (self._recorder.is_full or self._clock() >= by) and not self._append([]):
            for effect in self._session.handle(AuditFailed()):
                self._carry_out(effect)

    def _carry_out(self, effect: Effect) -> None:
        # By class one after the other: half the time of patterns that take an effect apart.
        if isinstance(effect, ToClient):
            self._to_client.put(effect.line)
        elif isinstance(effect, ToServer):
            # A server that asks and does not read its answers gets no more of them.
            if not (effect.is_reply and self._to_server.pending > HIGH_WATER):
                self._to_server.put(effect.line)
        elif isinstance(effect, Tell):
            self._errors.tell(effect.text)
        elif isinstance(effect, AwaitReview | TrustFirst):
            self._take_up(self._persons.keep(effect))
        elif isinstance(effect, AskPerson | AskOver):
            self._persons.show(effect)
        elif not isinstance(effect, Record):  # written by `_perform`
            assert_never(effect)

    def _take_up(self, changed: FileChanged | None) -> None:
        """Go on by another lock or policy than before."""
        if changed is not None:
            self._perform(self._session.handle(changed))

    def _append(self, entries: list[Entry]) -> bool:
        self._write_by = None
        if self._cause is Cause.AUDIT_FAILED:
            return False
        try:
            self._recorder.append(entries)
        except AuditError as error:
            self._errors.tell(f"error: {error.message}; calls are stopped")
            self._cause = None
            self._stop(Cause.AUDIT_FAILED, error.message)
            return False
        return True

    def _stop(self, cause: Cause, detail: str = "") -> None:
        if self._cause is None:
            self._cause, self._detail = cause, detail
        self._ladder.begin(self._clock())

    # When

    def _is_over(self) -> bool:
        if self._how is None or self._explains():
            return False
        is_sent = self._to_client.pending == 0 or self._to_client.is_broken
        return is_sent or (self._flush_by is not None and self._clock() >= self._flush_by)

    def _explains(self) -> bool:
        """Whether all that is left is to tell the client why its calls fail, until it closes."""
        return self._cause is Cause.AUDIT_FAILED and not self._is_left

    def _timeout(self) -> int | None:
        is_timed = self._flush_by or self._persons.is_waiting or self._session.due is not None
        if self._ladder.step is Step.RUNNING and not is_timed:
            # Without a look at the clock: what is due by then is seen at any wake-up before, too.
            return IDLE_LOOK if self._write_by is None else int(HELD_SECONDS * 1000)
        now = self._clock()
        flush_by = None if self._explains() else self._flush_by
        times = [flush_by, self._write_by, self._session.due]
        left = [max(0.0, by - now) for by in times if by is not None]
        steps = (self._ladder.seconds_left(now), self._persons.seconds_left(now))
        left += [seconds for seconds in steps if seconds is not None]
        return int(min(left) * 1000) + 1 if left else None

    def _watch(self, signals: int) -> None:
        """Tell the poll what matters now; between two calls that is nearly always the same."""
        is_usual = self._cause is None and not self._errors.at_end
        is_usual = is_usual and not self._to_client.pending and not self._to_server.pending
        is_usual = is_usual and not (self._net is not None and self._net.at_end)
        is_usual = is_usual and not self._persons.is_busy
        if is_usual and self._is_usual:
            return
        self._is_usual = is_usual
        wanted = self._wanted_of_server() | self._wanted_of_client() | self._persons.wanted()
        wanted[signals] = select.POLLIN
        if self._net is not None and not self._net.at_end:
            wanted[self._net.fd] = select.POLLIN
        self._watched.only(wanted)

    def _wanted_of_server(self) -> dict[int, int]:
        wanted: dict[int, int] = {} if self._how else {self._server.pidfd: select.POLLIN}
        if self._how is None:
            if not self._from_server.at_end and not self._to_client.is_full:
                wanted[self._server.stdout] = select.POLLIN
            if not self._errors.at_end:
                wanted[self._server.stderr] = select.POLLIN
        if self._ladder.step in _WRITING and self._to_server.pending:
            wanted[self._server.stdin] = select.POLLOUT
        return wanted

    def _wanted_of_client(self) -> dict[int, int]:
        """A full writer silences the reader that feeds it; stdin and stdout may be one socket."""
        wanted: dict[int, int] = {}
        is_heard = self._ladder.step is Step.RUNNING or self._explains()
        if is_heard and not self._is_left:
            clogged = self._is_clogged()
            wanted[self._from_client.fd] = select.POLLRDHUP if clogged else select.POLLIN
        if self._to_client.pending:
            wanted[self._to_client.fd] = wanted.get(self._to_client.fd, 0) | select.POLLOUT
        return wanted

    def _is_clogged(self) -> bool:
        return self._to_server.is_full or self._to_client.pending > CLOGGED
