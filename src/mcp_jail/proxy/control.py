"""The control socket of a run: who connects is told what waits, and may answer if a person.

One non-blocking socket with few connections, each of which sends lines and gets lines. Whoever
breaks the rules of it is told why and hung up on; nothing that is sent here can stop the wire.
"""

from __future__ import annotations

import os
import select
import socket
from collections.abc import Callable, Generator, Iterator
from typing import Any, Final, assert_never

import msgspec

from mcp_jail.asks import protocol
from mcp_jail.asks.protocol import AskView, Problem, Reply, Request, Written
from mcp_jail.asks.who import Peer, peer_of
from mcp_jail.core.conversation.asks import Ask, Asks
from mcp_jail.core.conversation.events import (
    Answered,
    AskOver,
    AskPerson,
    FromPerson,
    NotAnswered,
    Revoked,
)
from mcp_jail.core.policy import Verdict
from mcp_jail.core.protocol.strict import written_members
from mcp_jail.store.sockets import listen

# Connections at once; each costs a descriptor. The oldest goes when one more comes.
CONNECTIONS_LIMIT: Final = 16

# Bytes that wait for somebody who does not read.
PENDING_LIMIT: Final = 4 * protocol.REPLY_LIMIT

_CHUNK: Final = 16 * 1024

# How an answer that came this way is called in the audit.
BY: Final = "command line"

_decode = msgspec.json.Decoder(Request).decode
_encode = msgspec.json.Encoder().encode


class Control:
    """The socket of one run at a path; `fault_of` says why a peer may not answer.

    `finds_secret` tells whether arguments hold a secret.
    """

    def __init__(
        self,
        path: str,
        server: str,
        asks: Asks,
        *,
        status: Callable[[], dict[str, Any]],
        fault_of: Callable[[Peer], str | None],
        finds_secret: Callable[[dict[str, Any]], bool],
        clock: Callable[[], float],
    ) -> None:
        """Listen; JailError where that cannot be."""
        self._server = server
        self._asks = asks
        self._status = status
        self._fault_of = fault_of
        self._finds_secret = finds_secret
        self._clock = clock
        self._listener = listen(path, backlog=CONNECTIONS_LIMIT)
        self._connections: dict[int, _Connection] = {}
        self._texts: dict[str, Written] = {}  # by ticket

    @property
    def is_busy(self) -> bool:
        """Whether somebody is connected."""
        return bool(self._connections)

    def wanted(self) -> dict[int, int]:
        """The descriptors to be looked at, with their masks."""
        wanted = {self._listener.fileno(): select.POLLIN}
        for fd, connection in self._connections.items():
            wanted[fd] = select.POLLOUT if connection.pending else select.POLLIN
        return wanted

    def serve(self, ready: dict[int, int]) -> Iterator[FromPerson]:
        """Hear who has something to say; each event is to be handled before the next is taken."""
        if self._listener.fileno() in ready:
            self._accept()
        for fd in ready:
            connection = self._connections.get(fd)
            if connection is None:
                continue
            # One request at a time: who sends thousands holds up neither messages nor others.
            line = connection.read()
            if line:
                yield from self._hear(connection, line)
            self._flush(fd)

    def show(self, effect: AskPerson | AskOver) -> None:
        """Tell those who watch."""
        if isinstance(effect, AskPerson):
            view = self._view_of(effect.ask, protocol.SHORT_ARGUMENTS)
            event = {"ask": msgspec.to_builtins(view)}
        else:
            event = {"over": {"ticket": effect.ask.ticket, "how": effect.how}}
        for fd, connection in list(self._connections.items()):
            if connection.watches:
                connection.put(Reply(event=event))
                self._flush(fd)

    def close(self) -> None:
        """Hang up on everybody and listen no more."""
        for fd in list(self._connections):
            self._hang_up(fd)
        self._listener.close()

    def _accept(self) -> None:
        try:
            accepted, _ = self._listener.accept()
        except OSError:
            return  # gone already
        accepted.setblocking(False)  # noqa: FBT003  # the standard library's own argument
        peer = peer_of(accepted)
        if peer is None or peer.uid != os.geteuid():
            if peer is not None:
                os.close(peer.pidfd)
            accepted.close()
            return
        if len(self._connections) >= CONNECTIONS_LIMIT:
            self._hang_up(next(iter(self._connections)))
        self._connections[accepted.fileno()] = _Connection(accepted, peer)

    def _flush(self, fd: int) -> None:
        connection = self._connections[fd]
        connection.flush()
        if connection.is_over:
            self._hang_up(fd)

    def _hang_up(self, fd: int) -> None:
        self._connections.pop(fd).close()

    def _hear(self, connection: _Connection, line: bytes) -> Iterator[FromPerson]:
        try:
            request = _decode(line)
            if written_members(line) != len(msgspec.json.decode(line)):
                raise msgspec.ValidationError("a key stands twice in it")
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            connection.put(Reply(error=Problem("bad-request", f"this is no request: {error}")))
            connection.hang_up_after()
            return
        match request.op:
            case "answer" | "revoke":
                reply: dict[str, Any] | Problem = yield from self._decide(connection, request)
            case "status":
                reply = self._status()
            case "asks":
                reply = {"asks": [self._view(each.ticket) for each in self._asks.open]}
            case "ask":
                view = self._view(request.ticket, limit=protocol.LONG_ARGUMENTS)
                reply = _unknown(request.ticket) if view is None else {"ask": view}
            case "grants":
                now = self._clock()
                views = [protocol.grant_view(self._server, g, now) for g in self._asks.grants(now)]
                reply = {"grants": msgspec.to_builtins(views)}
            case "watch":
                connection.watches = True
                reply = {}
            case _:
                assert_never(request.op)
        if isinstance(reply, Problem):
            connection.put(Reply(request.id, error=reply))
        else:
            connection.put(Reply(request.id, ok=reply))

    def _view(self, ticket: str, limit: int = protocol.SHORT_ARGUMENTS) -> dict[str, Any] | None:
        ask = self._asks.get(ticket)
        return None if ask is None else dict(msgspec.to_builtins(self._view_of(ask, limit)))

    def _view_of(self, ask: Ask, limit: int) -> AskView:
        return protocol.ask_view(
            self._server, self._written(ask), self._asks, self._clock(), limit=limit
        )

    def _written(self, ask: Ask) -> Written:
        """The arguments of an ask as text, which for megabytes is not made for each who looks."""
        written = self._texts.get(ask.ticket)
        if written is None:
            written = protocol.written(ask, has_secret=self._finds_secret(ask.arguments))
            gone = [ticket for ticket in self._texts if self._asks.get(ticket) is None]
            for ticket in gone:
                del self._texts[ticket]
            self._texts[ask.ticket] = written
        return written

    def _decide(
        self, connection: _Connection, request: Request
    ) -> Generator[FromPerson, None, dict[str, Any] | Problem]:
        """Answer an ask or take an answer back, if the peer may; yields what the session is told.

        Returns the reply.
        """
        fault = self._fault_of(connection.peer)
        if fault is not None:
            yield NotAnswered(request.ticket[:64], BY, fault)
            return Problem("not-you", f"an answer is not taken from {fault}", _INSTEAD)
        if request.op == "revoke":
            now = self._clock()
            before = len(self._asks.grants(now))
            yield Revoked(request.ticket)
            is_done = len(self._asks.grants(now)) < before
            return {"ticket": request.ticket} if is_done else _unknown(request.ticket)
        ask = self._asks.get(request.ticket)
        if ask is None:
            return _unknown(request.ticket)
        view = self._view_of(ask, protocol.LONG_ARGUMENTS)
        answer = protocol.answer_of(request, BY)
        if isinstance(answer, Problem):
            return answer
        if request.shown != protocol.shown_digest(view):
            return Problem("not-shown", "the answer is to something else than what is asked here")
        before = self._status()["denials"]
        yield Answered(request.ticket, answer)
        # What was allowed is judged anew, and may be refused all the same: by a limit, by the lock.
        refused = self._status()["denials"] - before if answer.verdict is Verdict.ALLOW else 0
        again = self._asks.of_binding(ask.binding)  # what was allowed once lets one call pass
        waits = 0 if again is None else self._asks.held_by(again.ticket)
        told = {"lasts": answer.lasts.value, "refused": refused, "again": waits}
        return {"ask": msgspec.to_builtins(view), **told}


_INSTEAD: Final = (
    "open a terminal of your own, outside the program that started the server, and type it there"
)


def _unknown(ticket: str) -> Problem:
    return Problem("unknown", f"no ask is open and no answer counts under {ticket[:64]!r}")


class _Connection:
    """Somebody who is connected."""

    def __init__(self, accepted: socket.socket, peer: Peer) -> None:
        self.peer = peer
        self.watches = False
        self.is_over = False
        self._socket = accepted
        self._in = bytearray()
        self._out = bytearray()
        self._is_ending = False

    @property
    def pending(self) -> int:
        """Bytes that wait to be read by the other side."""
        return len(self._out)

    def read(self) -> bytes:
        """The next request, once it is whole and all before it are answered; else nothing.

        What comes behind it is left in the socket, which wakes us again.
        """
        if self._out:
            return b""
        try:
            data = self._socket.recv(_CHUNK, socket.MSG_PEEK)
            end = data.find(b"\n") + 1
            data = self._socket.recv(end or _CHUNK)
        except BlockingIOError:
            return b""
        except OSError:
            end, data = 0, b""
        if not data or self._is_ending:
            self.is_over = not data
            return b""
        self._in += data
        if len(self._in) > protocol.REQUEST_LIMIT:
            text = f"a request has {protocol.REQUEST_LIMIT} bytes at most"
            self.put(Reply(error=Problem("too-large", text)))
            self.hang_up_after()
            return b""
        if not end:
            return b""
        line = bytes(self._in).strip()
        self._in.clear()
        return line

    def put(self, reply: Reply) -> None:
        """Send a line as soon as the other side takes it."""
        self._out += _encode(reply) + b"\n"
        if len(self._out) > PENDING_LIMIT:
            self.is_over = True

    def hang_up_after(self) -> None:
        """Hear no more, and close once all is sent."""
        self._is_ending = True
        self._in.clear()

    def flush(self) -> None:
        """Send what the other side takes now."""
        try:
            while self._out:
                del self._out[: self._socket.send(self._out)]
        except BlockingIOError:
            return
        except OSError:
            self.is_over = True
        if self._is_ending and not self._out:
            self.is_over = True

    def close(self) -> None:
        """Let go of it."""
        os.close(self.peer.pidfd)
        self._socket.close()
