"""A way through the proxy that this machine needs: a connection to it, and a CONNECT (RFC 9110).

The proxy looks the name up, so where the name leads is its word. What it is told is the host and
the port a rule opened, and nothing that came from the jail.
"""

from __future__ import annotations

import re
import socket
from typing import Final

from mcp_jail.core.rules.hosts import is_address
from mcp_jail.core.rules.upstream import Upstream
from mcp_jail.gate.dial import DEADLINE, Dial, Dialled
from mcp_jail.gate.http_head import HEAD_LIMIT
from mcp_jail.gate.loop import READ, Loop
from mcp_jail.gate.resolvers import Resolved, Resolvers
from mcp_jail.gate.stream import close_socket


class Tunnel:
    """One way being made. `done` is called once, unless `close` comes first."""

    def __init__(
        self,
        loop: Loop,
        resolvers: Resolvers,
        upstream: Upstream,
        wanted: tuple[str, int],
        done: Dialled,
    ) -> None:
        self._loop = loop
        self._upstream = upstream
        self._wanted = wanted
        self._done: Dialled | None = done
        self._dial: Dial | None = None
        self._outer: socket.socket | None = None
        self._head = b""  # of the answer, as far as it was taken
        self._timer = loop.after(DEADLINE, lambda: self._fail("does not answer"))
        if is_address(upstream.host):
            self._go_to((upstream.host,))
        else:
            resolvers.ask(upstream.host, self._resolved)

    def close(self) -> None:
        """Stop; nothing is called any more."""
        self._done = None
        self._timer.cancel()
        if self._dial is not None:
            self._dial.close()
        if self._outer is not None:
            self._loop.forget(self._outer.fileno())
            close_socket(self._outer, reset=True)
            self._outer = None

    def _resolved(self, resolved: Resolved) -> None:
        if self._done is None:
            return
        if resolved.addresses:
            self._go_to(resolved.addresses)
        else:
            self._fail(resolved.error or "has no address")

    def _go_to(self, addresses: tuple[str, ...]) -> None:
        self._dial = Dial(self._loop, addresses, self._upstream.port, self._dialled)

    def _dialled(self, _address: str, outer: socket.socket | None, why: str) -> None:
        self._dial = None
        if outer is None:
            self._fail(why)
            return
        self._outer = outer
        try:
            outer.sendall(request(*self._wanted, self._upstream))  # fits: nothing was sent before
        except OSError as error:
            self._fail(str(error))
        else:
            self._loop.watch(outer.fileno(), READ, lambda _events: self._read(outer))

    def _read(self, outer: socket.socket) -> None:
        """Take the head of the answer, and no byte more: what follows it is the other side's."""
        try:
            ahead = outer.recv(HEAD_LIMIT, socket.MSG_PEEK)
            end = (self._head + ahead).find(_END)
            size = len(ahead) if end < 0 else end + len(_END) - len(self._head)
            self._head += outer.recv(size)
        except BlockingIOError:
            return
        except OSError as error:
            self._fail(str(error))
            return
        if end >= 0:
            self._answered(outer)
        elif not ahead or len(self._head) > HEAD_LIMIT:
            self._fail("has closed the connection" if not ahead else "does not speak HTTP")

    def _answered(self, outer: socket.socket) -> None:
        status = _STATUS.match(self._head)
        if status is None:
            self._fail("does not speak HTTP")
        elif status[1][:1] != b"2":
            self._fail(f"answers {status[1].decode()}")
        else:
            self._loop.forget(outer.fileno())
            self._outer = None
            self._finish(f"by {self._upstream.place}", outer, "")

    def _fail(self, why: str) -> None:
        self._finish("", None, f"the proxy {self._upstream.place}: {why}")

    def _finish(self, address: str, outer: socket.socket | None, why: str) -> None:
        done = self._done
        self.close()
        if done is not None:
            done(address, outer, why)


def request(host: str, port: int, upstream: Upstream) -> bytes:
    """What the proxy is asked for."""
    place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    lines = [f"CONNECT {place} HTTP/1.1".encode(), f"Host: {place}".encode()]
    if upstream.authorization:
        lines.append(b"Proxy-Authorization: " + upstream.authorization)
    return b"\r\n".join([*lines, b"", b""])


_END: Final = b"\r\n\r\n"
_STATUS: Final = re.compile(rb"HTTP/1\.[01] ([0-9]{3})[ \r]")
