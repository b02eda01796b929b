"""One conversation of ours with a jailed server, through a session: ask, wait, note what is odd."""

from __future__ import annotations

import itertools
import os
import select
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Final

import msgspec

from mcp_jail.core.conversation.events import (
    Effect,
    FromClient,
    Record,
    ServerGone,
    ToClient,
    ToServer,
)
from mcp_jail.core.conversation.session import Session
from mcp_jail.core.recorded.audit import Entry, Kind
from mcp_jail.proxy import arrivals
from mcp_jail.proxy.lines import CHUNK, HIGH_WATER, LineReader, LineWriter
from mcp_jail.proxy.server import JailedServer
from mcp_jail.proxy.stderr import LINE_LIMIT, clean

# Lines of the server's error stream, and notes on what it did, that are kept.
KEPT: Final = 20

# Attempts on the network that are kept; the gate counts repetitions itself.
TRIED_KEPT: Final = 100

# Where entries of the conversation go.
Write = Callable[[list[Entry]], None]


class Talk:
    """Speaks with a server that was let go; every wait has an end.

    `fault` is set when the kernel does not hold the server as planned; nothing is heard of it then.
    """

    def __init__(self, session: Session, server: JailedServer, write: Write) -> None:
        self._session = session
        self._server = server
        self._write = write
        self._ids = itertools.count(1)
        self._answers: dict[Any, dict[str, Any]] = {}
        self._from_server = LineReader(server.stdout)
        self._to_server = LineWriter(server.stdin)
        self._has_spoken = False
        self._errors = b""
        self._notes: deque[str] = deque(maxlen=KEPT)
        self._tried: deque[Entry] = deque(maxlen=TRIED_KEPT)
        self.fault = ""
        self.ended = ""  # how the server ended, in words
        for fd in (server.stdin, server.stdout, server.stderr):
            os.set_blocking(fd, False)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the server did that no server should, the last of it."""
        return tuple(self._notes)

    @property
    def tried(self) -> tuple[Entry, ...]:
        """What it tried on the network, the last of it."""
        return tuple(self._tried)

    @property
    def said(self) -> tuple[str, ...]:
        """The last lines of its error stream, made inert."""
        lines = self._errors.decode(errors="replace").splitlines()[-KEPT:]
        return tuple(clean(line[:LINE_LIMIT]) for line in lines)

    def ask(self, method: str, params: dict[str, Any], *, seconds: float) -> dict[str, Any] | None:
        """The whole answer to a request; None if the server ends or says nothing for so long."""
        number = next(self._ids)
        self._send({"id": number, "method": method, "params": params})
        self.listen(seconds, until=lambda: number in self._answers)
        return self._answers.pop(number, None)

    def notify(self, method: str) -> None:
        """Send a notification."""
        self._send({"method": method})

    def listen(self, seconds: float, *, until: Callable[[], bool] = lambda: False) -> None:
        """Hear the server out for a while, or until something holds or it ends."""
        deadline = time.monotonic() + seconds
        while not (until() or self.ended or self.fault):
            left = deadline - time.monotonic()
            if left <= 0:
                return
            self._turn(left)

    def read_errors(self) -> None:
        """Take what stands in the error stream now."""
        while self._read_errors():
            pass

    def _send(self, message: dict[str, Any]) -> None:
        line = msgspec.json.encode({"jsonrpc": "2.0", **message})
        self._perform(self._session.handle(FromClient(line)))

    def _turn(self, seconds: float) -> None:
        """One wake-up."""
        self._to_server.flush()
        poll = select.poll()
        for fd in (self._server.stdout, self._server.stderr, self._server.pidfd):
            poll.register(fd, select.POLLIN)
        if self._server.net is not None and not self._server.net.at_end:
            poll.register(self._server.net.fd, select.POLLIN)
        if self._to_server.pending:
            poll.register(self._server.stdin, select.POLLOUT)
        ready = dict(poll.poll(seconds * 1000))
        if self._server.stderr in ready:
            self._read_errors()
        if self._server.stdout in ready:
            self._read_lines()
        net = self._server.net
        if net is not None and net.fd in ready:
            self._perform(arrivals.from_network(self._session, net.read()))
        if self._server.pidfd in ready:
            self._end()

    def _read_lines(self) -> None:
        lines = self._from_server.read()
        if lines and not self._has_spoken:
            self._has_spoken = True
            self.fault = self._server.fault() or ""
        if self.fault:
            return
        is_end = self._from_server.at_end
        self._perform(arrivals.from_server(self._session, lines, is_end=is_end))

    def _read_errors(self) -> bool:
        try:
            data = os.read(self._server.stderr, CHUNK)
        except BlockingIOError:
            return False
        self._errors = (self._errors + data)[-KEPT * LINE_LIMIT :]
        return bool(data)

    def _end(self) -> None:
        """The jail is gone: take what it left in the pipes."""
        self._from_server.is_dry = False
        while not (self._from_server.at_end or self._from_server.is_dry):
            self._read_lines()
        self.read_errors()
        self.ended = self._server.wait()
        self._perform(self._session.handle(ServerGone(self.ended)))

    def _perform(self, effects: list[Effect]) -> None:
        entries = [effect.entry for effect in effects if isinstance(effect, Record)]
        told = [entry for entry in entries if entry.kind is not Kind.LOCK]
        if told:
            self._write(told)
        self._tried += [entry for entry in told if entry.kind is Kind.NET]
        self._notes += [_note(entry) for entry in told if entry.kind is not Kind.NET]
        for effect in effects:
            match effect:
                case ToServer(line, is_reply):
                    if not (is_reply and self._to_server.pending > HIGH_WATER):
                        self._to_server.put(line)
                case ToClient(line):
                    self._take(line)
                case _:
                    pass  # nothing is approved, and nobody is told while we look

    def _take(self, line: bytes) -> None:
        message = msgspec.json.decode(line)
        if "method" not in message and "id" in message:
            self._answers[message["id"]] = message


def _note(entry: Entry) -> str:
    if entry.kind is Kind.CALL:
        return f"it asked the client: {entry.method}"
    return entry.reason
