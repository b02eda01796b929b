"""The loop of one run: one thread, one poll, no file but the audit.

A wake-up reads what is there, lets the session decide, writes the entries of all calls in one
write, and only then forwards; the entries of results follow their forwarding. A side that does not
read stops only the side that feeds it, so neither direction can block the other.
"""

from __future__ import annotations

import os
import select
from collections.abc import Callable, Iterable
from typing import Protocol

from mcp_jail.core.audit import Entry, Kind
from mcp_jail.core.events import (
    AuditFailed,
    AwaitReview,
    Effect,
    Event,
    FromClient,
    FromServer,
    LockChanged,
    Oversize,
    Record,
    ServerGone,
    Tell,
    ToClient,
    ToServer,
    TrustFirst,
)
from mcp_jail.core.session import Session
from mcp_jail.core.wire import MESSAGE_LIMIT
from mcp_jail.errors import AuditError, JailError
from mcp_jail.proxy.ending import Cause, Ending
from mcp_jail.proxy.ladder import Ladder, Step, Stoppable
from mcp_jail.proxy.lines import CHUNK, HIGH_WATER, LineReader, LineWriter, TooLong
from mcp_jail.proxy.signals import Signals
from mcp_jail.proxy.stderr import ErrorStream

# Bytes waiting for a client that does not read at which it is not listened to either: a whole
# result may wait and hold up nothing, but our own refusals must not pile up without end.
CLOGGED = MESSAGE_LIMIT + HIGH_WATER

# How a client that is not listened to tells that it is gone: a closed pipe, a shut socket.
_GONE = select.POLLHUP | select.POLLERR | select.POLLRDHUP

# Seconds a client has to read the last answers after the server is gone.
FLUSH_SECONDS = 0.4

# Steps of the ladder at which the server's input is still open.
_WRITING = (Step.RUNNING, Step.CLOSING)


class RunningServer(Stoppable, Protocol):
    """What the loop needs of a launched jail: descriptors, and a descriptor that tells its end."""

    stdin: int
    stdout: int
    stderr: int
    pidfd: int

    def wait(self) -> str:
        """Reap the ended jail; how it ended, in words."""

    def fault(self) -> str | None:
        """What is wrong with the confinement of the running server, seen from outside."""


class Recorder(Protocol):
    """Where entries go; raises AuditError when they cannot be written."""

    def append(self, entries: Iterable[Entry]) -> None:
        """Write some entries in one write."""


class LockKeeper(Protocol):
    """The lock file; each act raises JailError where it cannot be read or written."""

    def keep(self, effect: AwaitReview | TrustFirst) -> LockChanged | None:
        """Write down what was seen; the lock that holds now, if another run was first."""

    def look(self) -> LockChanged | None:
        """The lock, if its file was written since."""

    def seconds_left(self, now: float) -> float | None:
        """When an idle run has to look, None where nobody is waited for."""


class Loop:
    """Carries messages until one side closes; `client` is the pair to read from and write to."""

    def __init__(
        self,
        session: Session,
        server: RunningServer,
        recorder: Recorder,
        errors: ErrorStream,
        lock: LockKeeper,
        *,
        client: tuple[int, int],
        clock: Callable[[], float],
    ) -> None:
        self._session = session
        self._server = server
        self._recorder = recorder
        self._errors = errors
        self._lock = lock
        self._clock = clock
        self._from_client = LineReader(client[0])
        self._to_client = LineWriter(client[1])
        self._from_server = LineReader(server.stdout)
        self._to_server = LineWriter(server.stdin)
        self._ladder = Ladder(server)
        self._poll = select.poll()
        self._watched: dict[int, int] = {}
        self._cause: Cause | None = None
        self._detail = ""
        self._how: str | None = None
        self._errors_at_end = False
        self._is_checked = False
        self._is_left = False
        self._is_usual = False
        self._flush_by: float | None = None

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
            signals.close()
            for fd, was_blocking in were_blocking:
                os.set_blocking(fd, was_blocking)
        return Ending(self._cause or Cause.SERVER_GONE, self._how or "killed", self._detail)

    def _turn(self, signals: Signals) -> None:
        """One wake-up."""
        self._watch(signals.fd)
        ready = dict(self._poll.poll(self._timeout()))
        effects = self._look_at_lock()
        if signals.fd in ready and signals.drain():
            self._is_left = True
            self._ladder.hurry(self._clock())  # unless this is the first signal
            self._stop(Cause.SIGNAL)
        if self._from_client.fd in ready:
            effects += self._hear_client(ready[self._from_client.fd])
        if self._server.stdout in ready:
            effects += self._read_server()
        if self._server.stderr in ready:
            self._read_errors()
        if self._server.pidfd in ready and self._how is None:
            effects += self._server_ended()
        self._perform(effects)
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
        self._ladder.tick(self._clock())

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
        effects = self._events(self._from_client.read(), FromClient, from_client=True)
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
        effects = self._events(lines, FromServer, from_client=False)
        if self._from_server.at_end and self._how is None:
            self._stop(Cause.SERVER_GONE)
        return effects

    def _events(
        self,
        lines: list[bytes | TooLong],
        event: Callable[[bytes], Event],
        *,
        from_client: bool,
    ) -> list[Effect]:
        effects: list[Effect] = []
        for line in lines:
            if isinstance(line, TooLong):
                effects += self._session.handle(Oversize(line.size, line.edges, from_client))
            else:
                effects += self._session.handle(event(line))
        return effects

    def _read_errors(self) -> bool:
        """Pass on what the server wrote to its error stream; false when there is no more now."""
        try:
            data = os.read(self._server.stderr, CHUNK)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if data:
            self._errors.server_wrote(data)
            return True
        if not self._errors_at_end:
            self._errors_at_end = True
            self._errors.server_ended()
        return False

    def _server_ended(self) -> list[Effect]:
        """The jail is gone: take what it left in the pipes, then answer all that waits."""
        self._how = self._server.wait()
        effects: list[Effect] = []
        self._from_server.is_dry = False
        while not self._from_server.at_end and not self._from_server.is_dry:
            lines = self._from_server.read()
            if self._cause is not Cause.NOT_CONFINED:
                effects += self._events(lines, FromServer, from_client=False)
        while self._read_errors():
            pass
        self._stop(Cause.SERVER_GONE)
        effects += self._session.handle(ServerGone(self._how))
        self._flush_by = self._clock() + FLUSH_SECONDS
        return effects

    # What is done about it

    def _perform(self, effects: list[Effect]) -> None:
        entries = [effect.entry for effect in effects if isinstance(effect, Record)]
        is_call = any(entry.kind is Kind.CALL for entry in entries)
        if entries and is_call and not self._append(entries):
            effects = [effect for effect in effects if not _needs_record(effect)]
            effects += self._session.handle(AuditFailed())
        for effect in effects:
            self._carry_out(effect)
        if entries and not is_call:
            self._to_client.flush()
            if not self._append(entries):
                for effect in self._session.handle(AuditFailed()):
                    self._carry_out(effect)

    def _carry_out(self, effect: Effect) -> None:
        match effect:
            case ToClient(line):
                self._to_client.put(line)
            case ToServer(line, is_reply):
                # A server that asks and does not read its answers gets no more of them.
                if not (is_reply and self._to_server.pending > HIGH_WATER):
                    self._to_server.put(line)
            case Tell(text):
                self._errors.tell(text)
            case AwaitReview() | TrustFirst():
                self._keep(effect)
            case Record():
                pass  # written by `_perform`

    def _look_at_lock(self) -> list[Effect]:
        """Take up what a person approved meanwhile; a damaged lock approves nothing."""
        try:
            changed = self._lock.look()
        except JailError as error:
            self._errors.tell(f"error: {error.message}; nothing is approved until it is mended")
            changed = LockChanged(None)
        return [] if changed is None else self._session.handle(changed)

    def _keep(self, effect: AwaitReview | TrustFirst) -> None:
        """Write down what was seen; what cannot be written is not trusted."""
        try:
            changed = self._lock.keep(effect)
        except JailError as error:
            self._errors.tell(f"error: {error.message}")
            changed = LockChanged(None) if isinstance(effect, TrustFirst) else None
        if changed is not None:
            self._perform(self._session.handle(changed))

    def _append(self, entries: list[Entry]) -> bool:
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
        if self._how is None:
            return False
        if self._explains():
            return False
        is_sent = self._to_client.pending == 0 or self._to_client.is_broken
        return is_sent or (self._flush_by is not None and self._clock() >= self._flush_by)

    def _explains(self) -> bool:
        """Whether all that is left is to tell the client why its calls fail, until it closes."""
        return self._cause is Cause.AUDIT_FAILED and not self._is_left

    def _timeout(self) -> int | None:
        now = self._clock()
        left = self._ladder.seconds_left(now)
        look = self._lock.seconds_left(now) if self._cause is None else None
        if look is not None:
            left = look if left is None else min(left, look)
        if self._flush_by is not None and not self._explains():
            flush = max(0.0, self._flush_by - now)
            left = flush if left is None else min(left, flush)
        return None if left is None else int(left * 1000) + 1

    def _watch(self, signals: int) -> None:
        """Tell the poll what matters now; between two calls that is nearly always the same."""
        is_usual = self._cause is None and not self._errors_at_end
        is_usual = is_usual and not self._to_client.pending and not self._to_server.pending
        if is_usual and self._is_usual:
            return
        self._is_usual = is_usual
        wanted = {signals: select.POLLIN, **self._wanted_of_server(), **self._wanted_of_client()}
        if wanted == self._watched:
            return
        for fd in self._watched.keys() - wanted.keys():
            self._poll.unregister(fd)
        for fd, mask in wanted.items():
            if self._watched.get(fd) != mask:
                self._poll.register(fd, mask)
        self._watched = wanted

    def _wanted_of_server(self) -> dict[int, int]:
        wanted: dict[int, int] = {}
        if self._how is None:
            wanted[self._server.pidfd] = select.POLLIN
            if not self._from_server.at_end and not self._to_client.is_full:
                wanted[self._server.stdout] = select.POLLIN
            if not self._errors_at_end:
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


def _needs_record(effect: Effect) -> bool:
    """Whether something may only be sent once it is written down."""
    return isinstance(effect, ToServer) or (isinstance(effect, ToClient) and effect.is_question)
