"""The name server of one jail: every question that is asked inside, at whatever address.

It knows the policy and nothing else; no question leaves the machine, so none carries anything out.
"""

from __future__ import annotations

import socket
import sys
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from mcp_jail.core.policy import Verdict
from mcp_jail.core.rules.hosts import canonical_host
from mcp_jail.gate.allow import Allow
from mcp_jail.gate.attempts import NO_RULE_NAMES, TOO_MANY_NAMES, Attempt, What
from mcp_jail.gate.budget import PerSecond
from mcp_jail.gate.dns import (
    FRAME_LIMIT,
    QUESTION_LIMIT,
    Code,
    Kind,
    Malformed,
    Question,
    answer,
    complain,
    first_frame,
    frame,
    read_question,
)
from mcp_jail.gate.loop import READ, Loop
from mcp_jail.gate.names import Names

# Questions taken in one second; more wait in the kernel, which drops those beyond its buffer. No
# program asks as many, and a server that floods us must not keep us from its other connections.
PER_SECOND: Final = 2000
PER_TURN: Final = 64
# Connections for questions at once, and seconds one may last.
TCP_LIMIT: Final = 32
# What stands for the name where none can be read; no rule can open it.
NO_NAME: Final = "(no name)"
TCP_DEADLINE: Final = 30.0
PER_READ: Final = 2048  # bytes, so some hundred questions, before others have their turn

# Seconds between the two questions of one look-up, and look-ups that are under way at once.
HALVES_APART: Final = 1.0
HALVES_LIMIT: Final = 256
_OTHER_HALF: Final = {int(Kind.A): int(Kind.AAAA), int(Kind.AAAA): int(Kind.A)}

# SO_MEMINFO (linux/sock_diag.h): nine numbers, the last how many datagrams were dropped.
_MEMORY: Final = (55, 36)

_ANCILLARY: Final = 128  # bytes; in6_pktinfo and its header take 40
_WHERE: Final = {  # where a question went to, and an answer is to come from: ip(7), ipv6(7)
    socket.AF_INET: (socket.IPPROTO_IP, 8),
    socket.AF_INET6: (socket.IPPROTO_IPV6, 50),
}

Note = Callable[[Attempt], None]


class NameServer:
    """Answers questions on the sockets it is given."""

    def __init__(self, loop: Loop, allow: Allow, names: Names, note: Note) -> None:
        self._loop = loop
        self._allow = allow
        self._names = names
        self._note = note
        self._budget = PerSecond(loop, PER_SECOND)
        self._streams = 0
        self._halves = Halves()
        self._dropped: dict[int, int] = {}  # by socket, as the kernel counts

    def serve_datagrams(self, sock: socket.socket) -> None:
        """Answer what comes over UDP."""
        self._loop.watch(sock.fileno(), READ, lambda _events: self._datagrams(sock))

    def serve_connections(self, listener: socket.socket) -> None:
        """Answer what comes over TCP."""
        self._loop.watch(listener.fileno(), READ, lambda _events: self._accept(listener))

    def reply(self, data: bytes) -> bytes | None:
        """The answer to one message, None where it gets none."""
        question = read_question(data)
        if question is None or isinstance(question, Malformed):
            self._deny(NO_NAME, "no question that can be read")
            return None if question is None else complain(question)
        return answer(question, *self._judge(question))

    def _judge(self, question: Question) -> tuple[Code, str | None]:
        if not question.is_internet or question.type not in set(Kind):
            self._deny(question.name, f"a question of type {question.type}", question.type)
            return Code.REFUSED, None
        name = canonical_host(question.name)
        if name is None or not self._allow.names(name):
            self._deny(question.name, NO_RULE_NAMES, question.type)
            return Code.NO_SUCH_NAME, None
        address = self._names.address_of(name)
        if address is None:
            self._deny(name, TOO_MANY_NAMES, question.type)
            return Code.FAILED, None
        # Nothing but IPv4 inside: one address a name, and no records that move its TLS elsewhere.
        return Code.OK, address if question.type == Kind.A else None

    def _deny(self, name: str, why: str, kind: int = 0) -> None:
        if not self._halves.is_second(name.lower(), why, kind, self._loop.now):
            self._note(Attempt(what=What.LOOKUP, verdict=Verdict.DENY, host=name.lower(), why=why))

    def _datagrams(self, sock: socket.socket) -> None:
        for _ in range(PER_TURN):
            if not self._budget.take():
                self._pause(sock)
                return
            try:
                data, ancillary, _, sender = sock.recvmsg(QUESTION_LIMIT + 1, _ANCILLARY)
            except OSError:  # nothing more, or an error that belongs to an answer we sent
                return
            response = self.reply(data)
            if response is not None:
                _send_from_there(sock, response, ancillary, sender)

    def _pause(self, sock: socket.socket) -> None:
        """Take no more in this second; what waits is answered then, unless the kernel drops it."""
        self._loop.forget(sock.fileno())
        self._loop.after(self._budget.wait, lambda: self._resume(sock))

    def _resume(self, sock: socket.socket) -> None:
        self.serve_datagrams(sock)
        self.count_dropped(sock)

    def count_dropped(self, sock: socket.socket) -> None:
        """Tell how many questions were dropped since this was asked last."""
        try:
            memory = sock.getsockopt(socket.SOL_SOCKET, *_MEMORY)
        except OSError:  # Linux < 4.12, or what only resembles it
            return
        dropped = int.from_bytes(memory[32:], sys.byteorder)
        missed = dropped - self._dropped.get(sock.fileno(), 0)
        self._dropped[sock.fileno()] = dropped
        if missed > 0:
            why = "questions faster than they were answered"
            self._note(Attempt(what=What.LOST, verdict=Verdict.DENY, why=why, times=missed))

    def _accept(self, listener: socket.socket) -> None:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        if self._streams >= TCP_LIMIT:
            self._deny(NO_NAME, f"more than {TCP_LIMIT} connections to the name server")
            connection.close()
            return
        self._streams += 1
        _Questions(self._loop, connection, self.reply, self._refuse_stream, self._ended)

    def _refuse_stream(self) -> None:
        self._deny(NO_NAME, f"a question of more than {QUESTION_LIMIT} bytes")

    def _ended(self) -> None:
        self._streams -= 1


class Halves:
    """Which question is the second half of a look-up whose first one was told of.

    One call of getaddrinfo(3) asks for both types of address, and is one attempt. Whoever asks for
    one type alone has made an attempt each time.
    """

    def __init__(self) -> None:
        self._firsts: OrderedDict[tuple[str, str, int], float] = OrderedDict()

    def is_second(self, name: str, why: str, kind: int, now: float) -> bool:
        """Whether it is one; a first half has one second, and that comes soon."""
        other = _OTHER_HALF.get(kind)
        if other is None:
            return False
        asked = self._firsts.pop((name, why, other), None)
        if asked is not None and now - asked <= HALVES_APART:
            return True
        self._firsts.pop((name, why, kind), None)
        self._firsts[name, why, kind] = now
        if len(self._firsts) > HALVES_LIMIT:
            self._firsts.popitem(last=False)
        return False


class _Questions:
    """One connection with questions, answered in their order."""

    def __init__(
        self,
        loop: Loop,
        connection: socket.socket,
        reply: Callable[[bytes], bytes | None],
        refused: Callable[[], None],
        ended: Callable[[], None],
    ) -> None:
        self._loop = loop
        self._connection = connection
        self._reply = reply
        self._refused = refused
        self._ended = ended
        self._buffer = b""
        connection.settimeout(0)
        self._timer = loop.after(TCP_DEADLINE, self._close)
        loop.watch(connection.fileno(), READ, self._read)

    def _read(self, _events: int) -> None:
        try:
            more = self._connection.recv(PER_READ)
            self._buffer += more
            while (found := first_frame(self._buffer)) is not None:
                self._buffer = self._buffer[found[1] :]
                self._answer(found[0])
        except BlockingIOError:
            return
        except OSError:
            more = b""
        if len(self._buffer) > FRAME_LIMIT:
            self._refused()
        if not more or len(self._buffer) > FRAME_LIMIT:
            self._close()

    def _answer(self, message: bytes) -> None:
        response = self._reply(message)
        if response is None:
            return
        try:
            is_sent = self._connection.send(frame(response)) == len(frame(response))
        except BlockingIOError:
            is_sent = False
        if not is_sent:
            raise ConnectionError("the answers are not read")

    def _close(self) -> None:
        self._timer.cancel()
        self._loop.forget(self._connection.fileno())
        self._connection.close()
        self._ended()


def _send_from_there(
    sock: socket.socket, response: bytes, ancillary: list[tuple[int, int, bytes]], sender: object
) -> None:
    """Answer from the address that was asked: a resolver drops what comes from another."""
    level, kind = _WHERE[sock.family]
    found = [data for known, number, data in ancillary if (known, number) == (level, kind)]
    if not found:
        return
    # in_pktinfo: interface, address to send from, address in the header. in6_pktinfo: address,
    # interface. An interface of 0 leaves the way to the routes.
    if sock.family == socket.AF_INET:
        where = bytes(4) + found[0][8:12] + bytes(4)
    else:
        where = found[0][:16] + bytes(4)
    try:
        sock.sendmsg([response], [(level, kind, where)], 0, sender)  # type: ignore[arg-type]
    except OSError:
        return  # nobody waits for it there
