"""A way through a proxy is made by its word, and what the other side says first is not lost."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from mcp_jail.core.rules.upstream import Upstream
from mcp_jail.gate.loop import Loop
from mcp_jail.gate.resolvers import Resolvers
from mcp_jail.gate.tunnel import Tunnel, request

OK = b"HTTP/1.1 200 OK\r\n\r\n"

Told = list[tuple[str, socket.socket | None, str]]


@contextmanager
def proxy(answer: Callable[[socket.socket], None]) -> Iterator[int]:
    """A proxy that takes one connection; its port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                answer(connection)

        thread = threading.Thread(target=serve)
        thread.start()
        yield listener.getsockname()[1]
        thread.join()


def heard(connection: socket.socket) -> bytes:
    """A whole request."""
    data = b""
    while not data.endswith(b"\r\n\r\n"):
        data += connection.recv(1000)
    return data


def tunnelled(upstream: Upstream) -> tuple[str, socket.socket | None, str]:
    """What comes of a way to a.example."""
    loop = Loop()
    told: Told = []

    def done(address: str, outer: socket.socket | None, why: str) -> None:
        told.append((address, outer, why))
        loop.stop()

    resolvers = Resolvers(loop)
    Tunnel(loop, resolvers, upstream, ("a.example", 443), done)
    loop.run()
    resolvers.close()
    (one,) = told
    return one


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_way_is_open_and_what_is_said_first_is_not_lost(host: str) -> None:
    asked: list[bytes] = []

    def answer(connection: socket.socket) -> None:
        asked.append(heard(connection))
        connection.sendall(OK + b"hello")
        asked.append(connection.recv(10))

    with proxy(answer) as port:
        address, outer, why = tunnelled(Upstream(host, port, b"me:pass"))
        assert (address, why) == (f"by {host}:{port}", "")
        assert outer is not None
        with outer:
            assert outer.recv(100) == b"hello"
            outer.sendall(b"there")
    login = b"Proxy-Authorization: Basic bWU6cGFzcw==\r\n\r\n"
    request = b"CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n" + login
    assert asked == [request, b"there"]


def test_an_answer_in_pieces_is_put_together() -> None:
    def answer(connection: socket.socket) -> None:
        heard(connection)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in b"HTTP/1.0 200 Connection established\r\nX: y\r\n\r\nrest":
            connection.sendall(bytes([byte]))
        connection.recv(1)

    with proxy(answer) as port:
        _, outer, _ = tunnelled(Upstream("127.0.0.1", port))
        assert outer is not None
        with outer:
            outer.setblocking(True)
            assert outer.recv(4, socket.MSG_WAITALL) == b"rest"


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", "answers 407"),
        (b"HTTP/1.1 403 Forbidden\r\nContent-Length: 3\r\n\r\nno!", "answers 403"),
        (b"SSH-2.0-x\r\n\r\n", "does not speak HTTP"),
        (b"HTTP/2 200\r\n\r\n", "does not speak HTTP"),
        (b"HTTP/1.1 2000 OK\r\n\r\n", "does not speak HTTP"),
        (b"x" * 40_000, "does not speak HTTP"),
        (b"HTTP/1.1 200 OK\r\n", "has closed the connection"),
        (b"", "has closed the connection"),
    ],
)
def test_what_is_no_yes_is_a_no(said: bytes, why: str) -> None:
    def answer(connection: socket.socket) -> None:
        heard(connection)
        connection.sendall(said)

    with proxy(answer) as port:
        told = tunnelled(Upstream("127.0.0.1", port))
    assert told == ("", None, f"the proxy 127.0.0.1:{port}: {why}")


def test_a_proxy_that_is_not_there_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    _, outer, why = tunnelled(Upstream("127.0.0.1", port))
    assert outer is None
    assert why.endswith("Connection refused")
    _, outer, why = tunnelled(Upstream("no.such.name.invalid", 1))
    assert outer is None
    assert why.startswith("the proxy no.such.name.invalid:1: ")


def test_a_proxy_that_says_nothing_is_given_up_and_a_closed_way_calls_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mcp_jail.gate.tunnel.DEADLINE", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        upstream = Upstream("127.0.0.1", listener.getsockname()[1])
        assert tunnelled(upstream)[2].endswith("does not answer")
        loop = Loop()
        told: Told = []
        tunnel = Tunnel(loop, Resolvers(loop), upstream, ("a", 1), lambda *one: told.append(one))
        tunnel.close()
        tunnel.close()
        loop.after(0.1, loop.stop)
        loop.run()
        assert told == []


def test_an_address_of_version_6_is_asked_for_in_brackets() -> None:
    said = request("2001:db8::1", 443, Upstream("p", 1))
    assert said == b"CONNECT [2001:db8::1]:443 HTTP/1.1\r\nHost: [2001:db8::1]:443\r\n\r\n"
