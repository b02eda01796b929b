"""The relay's life: sockets in, connections led out, attempts told, until the guard is gone.

One thread. A hostile server decides how much comes in, so everything has a limit, and whoever
reaches it waits or is reset; none of it costs the guard anything.
"""

from __future__ import annotations

import contextlib
import resource
import socket
import struct
from collections.abc import Callable
from typing import Final

import msgspec

from mcp_jail.core.policy import Verdict
from mcp_jail.gate.allow import Allow
from mcp_jail.gate.arrived import Arrived
from mcp_jail.gate.asking import Asking
from mcp_jail.gate.attempts import NOT_LED_ON, TOO_MANY_CONNECTIONS, Attempt, What
from mcp_jail.gate.budget import PerSecond
from mcp_jail.gate.connection import Connection, Surroundings
from mcp_jail.gate.eyes import SNAP, Seen, read_packet
from mcp_jail.gate.loop import READ, Loop
from mcp_jail.gate.names import Names
from mcp_jail.gate.nameserver import NameServer
from mcp_jail.gate.netlink import Routes
from mcp_jail.gate.process import CALL_BEGINS, MESSAGE_LIMIT, Ready
from mcp_jail.gate.resolvers import Resolvers
from mcp_jail.gate.sockets import Role, Sockets
from mcp_jail.gate.stream import Pipes
from mcp_jail.gate.telling import Teller

# Connections at once, and how many of them may still be on their way. Each takes two sockets, and
# four ends of pipes where neither side reads.
CONNECTIONS: Final = 512
OPENING: Final = 384
DESCRIPTORS_EACH: Final = 6
DESCRIPTORS_SPARE: Final = 256
DESCRIPTORS: Final = CONNECTIONS * DESCRIPTORS_EACH + DESCRIPTORS_SPARE

ACCEPTED_PER_TURN: Final = 32
IDLE_LOOK: Final = 30.0  # seconds between two looks for idle connections
# Packets looked at in a second; each is a few microseconds, and a flood of them is one attempt.
PACKETS_PER_SECOND: Final = 2000
PACKETS_PER_TURN: Final = 64
NONE_TAKEN: Final = 0.2  # seconds until the next connection is tried for

_PACKET_STATISTICS: Final = 6
_SOL_PACKET: Final = 263


def run(allow: Allow, sockets: Sockets, control: socket.socket, reports: int, ready: Ready) -> None:
    """Serve the jail these sockets are of until `control` ends; `ready` is said once it is so."""
    most = _connections_limit()
    loop = Loop()
    teller = Teller(loop, reports)
    around = Surroundings(
        loop=loop,
        allow=allow,
        names=Names(),
        routes=Routes(),
        resolvers=Resolvers(loop),
        pipes=Pipes(),
        note=teller.note,
    )
    relay = _Relay(around, sockets, most, teller)

    def hear(_events: int) -> None:
        """The guard hands a door over, or says that a call begins; nothing else but its end."""
        said, fds, _, _ = socket.recv_fds(control, MESSAGE_LIMIT, 1)
        if fds:
            relay.open(socket.socket(fileno=fds[0]))
        elif said == CALL_BEGINS:
            teller.make_room()
        else:
            loop.stop()

    loop.watch(control.fileno(), READ, hear)
    control.send(msgspec.json.encode(msgspec.structs.replace(ready, connections=most)))
    loop.run()
    relay.close()
    teller.finish()


def _connections_limit() -> int:
    """How many connections the process's descriptors are enough for."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = DESCRIPTORS if hard == resource.RLIM_INFINITY else min(DESCRIPTORS, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return max(1, (wanted - DESCRIPTORS_SPARE) // DESCRIPTORS_EACH)


class _Relay:
    """The sockets of one jail and the connections that came in by them."""

    def __init__(self, around: Surroundings, sockets: Sockets, most: int, teller: Teller) -> None:
        self._around = around
        self._loop = around.loop
        self._most = most
        self._teller = teller
        self._connections: set[Connection | Asking] = set()
        names = self._names = NameServer(around.loop, around.allow, around.names, around.note)
        self._asked_by = sockets.of(Role.NAMES_UDP)
        for sock in self._asked_by:
            names.serve_datagrams(sock)
        for sock in sockets.of(Role.NAMES_TCP):
            names.serve_connections(sock)
        for sock in sockets.of(Role.LISTENER):
            self._listen(sock, self._connection)
        heard = {sock.getsockname()[1] for _, sock in sockets.all if sock.family in _INTERNET}
        self._eyes = [_Eyes(around, sock, frozenset(heard)) for sock in sockets.of(Role.EYES)]
        self._loop.after(IDLE_LOOK, self._look_for_idle)

    def open(self, door: socket.socket) -> None:
        """Take connections at a door, by which programs ask for places as they do of a proxy."""
        door.settimeout(0)
        self._listen(door, self._asking)

    def close(self) -> None:
        """End every connection; what each moved is told, and what was not looked at counted."""
        for eyes in self._eyes:
            eyes.close()
        for sock in self._asked_by:
            self._names.count_dropped(sock)
        for connection in list(self._connections):
            connection.end()
        self._around.resolvers.close()

    def _listen(self, listener: socket.socket, made: Make) -> None:
        self._loop.watch(listener.fileno(), READ, lambda _events: self._accept(listener, made))

    def _accept(self, listener: socket.socket, made: Make) -> None:
        for _ in range(ACCEPTED_PER_TURN):
            if self._teller.is_full:
                self._rest(listener, made)
                return
            try:
                inner, _ = listener.accept()
            except BlockingIOError:
                return
            except ConnectionError:  # reset while it waited
                continue
            except OSError:
                self._rest(listener, made)
                return
            inner.settimeout(0)
            self._take(made(inner))

    def _rest(self, listener: socket.socket, made: Make) -> None:
        """Take none for a moment: descriptors are short, or the guard does not keep up."""
        self._loop.forget(listener.fileno())
        self._loop.after(NONE_TAKEN, lambda: self._listen(listener, made))

    def _connection(self, inner: socket.socket) -> Connection:
        return Connection(self._around, inner, self._connections.discard)

    def _asking(self, inner: socket.socket) -> Asking:
        return Asking(self._around, inner, self._connections.discard, self._asked)

    def _asked(self, asking: Asking, inner: socket.socket, arrived: Arrived) -> None:
        self._connections.discard(asking)
        self._take(Connection(self._around, inner, self._connections.discard, arrived))

    def _take(self, connection: Connection | Asking) -> None:
        is_too_many = self._is_full()
        self._connections.add(connection)
        if is_too_many:
            connection.refuse(TOO_MANY_CONNECTIONS)
        else:
            connection.begin()

    def _is_full(self) -> bool:
        if len(self._connections) < min(OPENING, self._most):
            return False
        opening = sum(not connection.is_open for connection in self._connections)
        return opening >= OPENING or len(self._connections) >= self._most

    def _look_for_idle(self) -> None:
        for connection in list(self._connections):
            connection.check_idle()
        self._loop.after(IDLE_LOOK, self._look_for_idle)


class _Eyes:
    """Attempts where nobody listens."""

    def __init__(self, around: Surroundings, sock: socket.socket, heard: frozenset[int]) -> None:
        self._around = around
        self._sock = sock
        self._heard = heard  # ports with a listener, which tells of its connections itself
        self._budget = PerSecond(around.loop, PACKETS_PER_SECOND)
        self._open()

    def close(self) -> None:
        """Look once more; what is left then, of a jail that has ended, is only counted."""
        self._look(0)
        left = 0
        with contextlib.suppress(OSError):  # nothing more
            while True:
                left += self._tried(self._sock.recv(SNAP)) is not None
        self._note_missed(left)

    def _open(self) -> None:
        self._around.loop.watch(self._sock.fileno(), READ, self._look)

    def _look(self, _events: int) -> None:
        for _ in range(PACKETS_PER_TURN):
            if not self._budget.take():
                self._blink()
                return
            try:
                packet = self._sock.recv(SNAP)
            except OSError:  # nothing more, or lo went down
                return
            seen = self._tried(packet)
            if seen is not None:
                host = self._around.names.name_of(seen.address) or seen.address
                self._note(seen.what, host, seen.port, NOT_LED_ON)

    def _tried(self, packet: bytes) -> Seen | None:
        """What a packet tried, None where that is told by a listener."""
        seen = read_packet(packet)
        return None if seen is None or self._is_heard(seen) else seen

    def _is_heard(self, seen: Seen) -> bool:
        return seen.what is What.CONNECT and seen.port in self._heard

    def _blink(self) -> None:
        """Look no more in this second; what the kernel then drops is counted."""
        loop = self._around.loop
        loop.forget(self._sock.fileno())
        loop.after(self._budget.wait, self._count_missed)

    def _count_missed(self) -> None:
        self._note_missed(0)
        self._open()

    def _note_missed(self, left: int) -> None:
        # struct tpacket_stats: packets seen, packets dropped; reading sets both to zero.
        statistics = self._sock.getsockopt(_SOL_PACKET, _PACKET_STATISTICS, 8)
        missed = left + struct.unpack("=II", statistics)[1]
        if missed:
            self._note(What.LOST, "", 0, "packets faster than they were looked at", missed)

    def _note(self, what: What, host: str, port: int, why: str, times: int = 1) -> None:
        self._around.note(
            Attempt(what=what, verdict=Verdict.DENY, host=host, port=port, why=why, times=times)
        )


Make = Callable[[socket.socket], "Connection | Asking"]

_INTERNET: Final = (socket.AF_INET, socket.AF_INET6)
