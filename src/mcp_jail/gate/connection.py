"""One connection out of a jail: who it is for, whether it may, and on to there.

In order, and each step only if the one before allowed it: the rule, the first bytes where the rule
has them checked, the real addresses, the judgement on each, the dial, the stream.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Final, assert_never

import msgspec

from mcp_jail.core.policy import Verdict
from mcp_jail.core.rules.hosts import canonical_host, is_address
from mcp_jail.gate.addresses import is_near, refused
from mcp_jail.gate.allow import LOCALHOST, LOOPBACK, Allow, Check, Opening
from mcp_jail.gate.arrived import Arrived, say
from mcp_jail.gate.attempts import NO_RULE_OPENS, Attempt, What
from mcp_jail.gate.dial import Dial
from mcp_jail.gate.first_bytes import Asked, NeedMoreError, UnfitError
from mcp_jail.gate.hello import BYTES_LIMIT, read_hello
from mcp_jail.gate.http_head import HEAD_LIMIT
from mcp_jail.gate.http_host import read_host
from mcp_jail.gate.loop import CHANGES, GONE, READ, Loop
from mcp_jail.gate.names import Names
from mcp_jail.gate.netlink import Routes
from mcp_jail.gate.resolvers import Resolved, Resolvers
from mcp_jail.gate.stream import Pipes, Progress, Stream, close_socket
from mcp_jail.gate.tunnel import Tunnel

FIRST_BYTES_DEADLINE: Final = 10.0  # seconds for a whole hello or request head
# Seconds without a byte after which a connection is over: as long as address translators must keep
# one (RFC 5382, 5), and less where one side has said that it is done.
IDLE: Final = 2 * 3600 + 240
IDLE_HALF_CLOSED: Final = 600
# What a kernel does to notice a peer that is gone: ask after 5 minutes, 4 times, 30 s apart.
_KEEP_ALIVE: Final = ((4, 300), (5, 30), (6, 4))  # TCP_KEEPIDLE, TCP_KEEPINTVL, TCP_KEEPCNT


class Surroundings(msgspec.Struct, frozen=True):
    """What all connections of one jail share."""

    loop: Loop
    allow: Allow
    names: Names
    routes: Routes
    resolvers: Resolvers
    pipes: Pipes
    note: Callable[[Attempt], None]


class Connection:
    """One accepted connection. `is_open` is true once it is led on, `over` is called at its end.

    Without `arrived` it wants to go where it was made to.
    """

    def __init__(
        self,
        around: Surroundings,
        inner: socket.socket,
        over: Callable[[Connection], None],
        arrived: Arrived | None = None,
    ) -> None:
        self._around = around
        self._inner = inner
        self._over = over
        self._began = around.loop.now
        self._arrived = arrived or self._destination()
        self._host, self._port = self._arrived.host, self._arrived.port
        self._first = self._arrived.first
        self._needed = 1
        self._timer = around.loop.after(FIRST_BYTES_DEADLINE, self._no_first_bytes)
        self._dial: Dial | Tunnel | None = None
        self._stream: Stream | None = None
        self._opening = Opening("", Check.NONE)
        self._address = ""
        self._is_over = False
        self._moved = 0
        self._still_since = self._began
        self._may_answer = True

    @property
    def is_open(self) -> bool:
        """Whether bytes may pass."""
        return self._stream is not None

    def begin(self) -> None:
        """Judge it by its destination."""
        opening = self._around.allow.opening(self._host, self._port)
        if opening is None:
            self.refuse(NO_RULE_OPENS)
            return
        self._opening = opening
        self._answer(self._arrived.opened)
        if opening.check is Check.NONE:
            self._go_on()
            return
        self._around.loop.watch(self._inner.fileno(), READ, self._read_first_bytes)
        if self._first:
            self._look_at_first_bytes(is_at_end=False)

    def refuse(self, why: str) -> None:
        """End it by a reset, and say why."""
        if not self._is_over:
            self._note(What.CONNECT, Verdict.DENY, why=why)
            self._end(is_broken=not self._answer(self._arrived.refused))

    def end(self) -> None:
        """End it where it is."""
        self._end(is_broken=True)

    def check_idle(self) -> None:
        """End it if nothing has moved for too long."""
        if self._stream is None:
            return
        now, moved = self._around.loop.now, self._stream.sent + self._stream.received
        if moved != self._moved:
            self._moved, self._still_since = moved, now
        limit = IDLE_HALF_CLOSED if self._stream.is_half_closed else IDLE
        if now - self._still_since > limit:
            self._end(is_broken=True)

    def _destination(self) -> Arrived:
        """The name, or literal address, and the port it was made to."""
        try:
            address, port = self._inner.getsockname()[:2]
        except OSError:  # reset meanwhile
            return Arrived("", 0)
        name = self._around.names.name_of(address)
        return Arrived(name or canonical_host(address) or address, port)

    def _answer(self, words: bytes) -> bool:
        """Say something to one that waits for it, which it does only once; whether it was said."""
        if not self._may_answer or not words:
            return False
        self._may_answer = False
        say(self._inner, words)
        return True

    def _read_first_bytes(self, _events: int) -> None:
        limit = (BYTES_LIMIT if self._opening.check is Check.TLS else HEAD_LIMIT) + 1
        try:
            more = self._inner.recv(limit - len(self._first))
        except BlockingIOError:
            return
        except OSError:
            self._end(is_broken=True)
            return
        self._first += more
        self._look_at_first_bytes(is_at_end=not more)

    def _look_at_first_bytes(self, *, is_at_end: bool) -> None:
        if len(self._first) < self._needed and not is_at_end:
            return
        try:
            asked = self._asked()
        except NeedMoreError as error:
            self._needed = error.at_least
            if is_at_end:
                self.refuse("closed before it said whom it is for")
        except UnfitError as error:
            self.refuse(f"{error}, where {self._opening.check.value} was expected")
        else:
            self._check_name(asked)

    def _asked(self) -> Asked:
        match self._opening.check:
            case Check.TLS:
                return read_hello(self._first)
            case Check.HTTP:
                return read_host(self._first)
            case Check.NONE:
                return Asked(self._host)
            case _:
                assert_never(self._opening.check)

    def _check_name(self, asked: Asked) -> None:
        # A literal address has no name: its hello must not bring one, its request must repeat it.
        is_tls = self._opening.check is Check.TLS
        expected = {None if is_tls and is_address(self._host) else self._host}
        if self._host in LOOPBACK:
            expected.add(LOCALHOST)
        if asked.host not in expected:
            self.refuse(f"asks for {asked.host or 'no name'}")
        elif asked.port not in {None, self._port}:
            self.refuse(f"asks for port {asked.port}")
        else:
            self._go_on()

    def _no_first_bytes(self) -> None:
        self.refuse(f"no {self._opening.check.value.removeprefix('a ')} in time")

    def _go_on(self) -> None:
        """The destination is allowed and the first bytes fit: find out where that is."""
        self._timer.cancel()
        # Watched for its end alone: what else it says is for the other side.
        self._around.loop.watch(self._inner.fileno(), 0, self._inner_is_gone)
        allow, upstream = self._around.allow, self._around.allow.upstream
        is_direct = is_near(self._host) or self._host in allow.direct
        if upstream is not None and not is_direct:
            wanted = (self._host, self._port)
            loop, resolvers = self._around.loop, self._around.resolvers
            self._dial = Tunnel(loop, resolvers, upstream, wanted, self._dialled)
        elif is_address(self._host):
            self._go_to((self._host,))
        else:
            self._around.resolvers.ask(self._host, self._resolved)

    def _inner_is_gone(self, events: int) -> None:
        if events & GONE:
            self._note(What.FAILED, Verdict.ALLOW, why="given up before it was open")
            self._end(is_broken=True)

    def _resolved(self, resolved: Resolved) -> None:
        if self._is_over:
            return
        judged = {address: self._judge(address) for address in resolved.addresses}
        good = tuple(address for address, why in judged.items() if why is None)
        if good:
            self._go_to(good)
        elif judged:
            why = next(why for why in judged.values() if why is not None)
            self.refuse(f"leads where it may not: {why}")
        else:
            self._fail(resolved.error or "has no address")

    def _judge(self, address: str) -> str | None:
        """Why a resolved address is not dialled; one that a rule writes down always is."""
        if self._around.allow.is_literal(address, self._port):
            return None
        is_own = self._around.routes.is_own(address)
        return refused(address, private=self._around.allow.private, is_own=is_own)

    def _go_to(self, addresses: tuple[str, ...]) -> None:
        self._dial = Dial(self._around.loop, addresses, self._port, self._dialled)

    def _dialled(self, address: str, outer: socket.socket | None, why: str) -> None:
        self._dial = None
        if outer is None:
            self._fail(f"cannot be reached: {why}")
            return
        self._address = address
        self._note(What.CONNECT, Verdict.ALLOW)
        self._began = self._still_since = self._around.loop.now
        for side in (self._inner, outer):
            _settle(side)
        self._stream = Stream(self._inner, outer, self._around.pipes, self._first)
        self._first = b""
        for side in (self._inner, outer):
            self._around.loop.watch(side.fileno(), CHANGES, self._moves)
        self._turn()

    def _moves(self, _events: int) -> None:
        self._turn()

    def _turn(self) -> None:
        if self._stream is None or self._is_over:
            return
        match self._stream.turn():
            case Progress.WAITING:
                return
            case Progress.MORE:
                self._around.loop.soon(self._turn)
            case Progress.DONE:
                self._end(is_broken=False)
            case Progress.BROKEN:
                self._end(is_broken=True)

    def _fail(self, why: str) -> None:
        self._note(What.FAILED, Verdict.ALLOW, why=why)
        self._end(is_broken=not self._answer(self._arrived.failed))

    def _end(self, *, is_broken: bool) -> None:
        if self._is_over:
            return
        self._is_over = True
        self._timer.cancel()
        self._around.loop.forget(self._inner.fileno())
        if self._dial is not None:
            self._dial.close()
        if self._stream is None:
            close_socket(self._inner, reset=is_broken)
        else:
            self._around.loop.forget(self._stream.outer.fileno())
            self._stream.close(is_broken=is_broken)
            self._note(What.CLOSED, Verdict.ALLOW)
        self._over(self)

    def _note(self, what: What, verdict: Verdict, why: str = "") -> None:
        stream = self._stream
        self._around.note(
            Attempt(
                what=what,
                verdict=verdict,
                host=self._host,
                port=self._port,
                rule=self._opening.rule,
                why=why,
                address=self._address,
                sent=0 if stream is None else stream.sent,
                received=0 if stream is None else stream.received,
                ms=round((self._around.loop.now - self._began) * 1000),
            )
        )


def _settle(side: socket.socket) -> None:
    """No waiting for more to send, and a peer that is gone is noticed."""
    side.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    side.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in _KEEP_ALIVE:
        side.setsockopt(socket.IPPROTO_TCP, option, value)
