"""Whoever speaks to the proxy says where to in time and in one way, or is told no and let go."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from mcp_jail.core.policy import Verdict
from mcp_jail.gate.allow import NOTHING
from mcp_jail.gate.arrived import Arrived
from mcp_jail.gate.asking import Asking
from mcp_jail.gate.attempts import Attempt, What
from mcp_jail.gate.connection import Surroundings
from mcp_jail.gate.loop import Loop
from mcp_jail.gate.names import Names
from mcp_jail.gate.netlink import Routes
from mcp_jail.gate.resolvers import Resolvers
from mcp_jail.gate.stream import Pipes


class Door:
    """One connection to a proxy, and what came of it."""

    def __init__(self) -> None:
        self.loop = Loop()
        self.noted: list[Attempt] = []
        self.came: list[Arrived] = []
        self.is_over = False
        self.client, inner = _connected()
        self._inner = inner
        self._routes = Routes()
        around = Surroundings(
            loop=self.loop,
            allow=NOTHING,
            names=Names(),
            routes=self._routes,
            resolvers=Resolvers(self.loop),
            pipes=Pipes(),
            note=self.noted.append,
        )
        self.asking = Asking(around, inner, self._end, self._arrive)
        self.asking.begin()

    def answer(self, *said: bytes) -> bytes:
        """What is said to some pieces, once it has come to an end."""
        for piece in said:
            self.client.sendall(piece)
            self.loop.after(0.02, self.loop.stop)
            self.loop.run()
        self.loop.run()
        return self.client.recv(10_000) if self.is_over else b""

    def close(self) -> None:
        self.client.close()
        self._inner.close()
        self._routes.close()

    def _end(self, _asking: Asking) -> None:
        self.is_over = True
        self.loop.stop()

    def _arrive(self, _asking: Asking, _inner: socket.socket, arrived: Arrived) -> None:
        self.came.append(arrived)
        self.loop.stop()


def _connected() -> tuple[socket.socket, socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = socket.create_connection(listener.getsockname())
        inner, _ = listener.accept()
    inner.settimeout(0)
    return client, inner


@pytest.fixture
def door() -> Iterator[Door]:
    made = Door()
    yield made
    made.close()


def test_a_request_in_pieces_arrives_once(door: Door) -> None:
    door.answer(b"CONNECT a.exam", b"ple:443 HTTP/1.1\r\n", b"\r\nhello")
    (arrived,) = door.came
    assert (arrived.host, arrived.port, arrived.first) == ("a.example", 443, b"hello")
    assert arrived.opened == b"HTTP/1.1 200 Connection established\r\n\r\n"
    assert arrived.refused.startswith(b"HTTP/1.1 403 ")
    assert arrived.failed.startswith(b"HTTP/1.1 502 ")
    assert not door.is_over


def test_a_plain_request_is_told_nothing_before_its_answer(door: Door) -> None:
    door.answer(b"GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n")
    (arrived,) = door.came
    assert arrived.opened == b""
    assert arrived.first.startswith(b"GET / HTTP/1.1\r\n")


def test_what_is_no_request_is_told_so_and_written_down(door: Door) -> None:
    assert door.answer(b"\x05\x01\x00").startswith(b"HTTP/1.1 400 Bad Request\r\n")
    (attempt,) = door.noted
    assert (attempt.what, attempt.verdict) == (What.CONNECT, Verdict.DENY)
    assert (attempt.host, attempt.why) == ("127.0.0.1", "no HTTP request")


def test_one_that_never_ends_its_request_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_jail.gate.asking.FIRST_BYTES_DEADLINE", 0.1)
    door = Door()
    said = door.answer(b"CONNECT a.example:443 HTTP/1.1\r\nX: y\r\n")
    assert said.startswith(b"HTTP/1.1 400 ")
    assert [attempt.why for attempt in door.noted] == ["no request in time"]
    door.close()


def test_one_that_goes_away_is_forgotten(door: Door) -> None:
    door.client.sendall(b"CONNECT")
    door.client.shutdown(socket.SHUT_WR)
    assert door.answer() == b""
    assert (door.is_over, door.noted) == (True, [])
