"""One connection to a jail's proxy, until it has said where it wants to go.

Where no sockets of the gate can be made inside (`network.via: proxy`), programs that know of a
proxy speak to this one. What they ask for is judged as if they had connected there themselves.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Final

from mcp_jail.core.policy import Verdict
from mcp_jail.gate.arrived import Arrived, say
from mcp_jail.gate.attempts import Attempt, What
from mcp_jail.gate.connection import FIRST_BYTES_DEADLINE, Surroundings
from mcp_jail.gate.first_bytes import NeedMoreError, UnfitError
from mcp_jail.gate.http_head import HEAD_LIMIT
from mcp_jail.gate.loop import READ
from mcp_jail.gate.proxy_request import Wanted, read_request
from mcp_jail.gate.stream import close_socket

# Told to the program; what a person is told says more.
_OPENED: Final = b"HTTP/1.1 200 Connection established\r\n\r\n"


class Asking:
    """It is `over` without having asked for a place, or `arrived` with one; once, one of both."""

    is_open: Final = False

    def __init__(
        self,
        around: Surroundings,
        inner: socket.socket,
        over: Callable[[Asking], None],
        arrived: Callable[[Asking, socket.socket, Arrived], None],
    ) -> None:
        self._around = around
        self._inner = inner
        self._over = over
        self._arrived = arrived
        self._said = b""
        self._timer = around.loop.after(FIRST_BYTES_DEADLINE, self._no_request)

    def begin(self) -> None:
        """Read what it asks for."""
        self._around.loop.watch(self._inner.fileno(), READ, self._read)

    def refuse(self, why: str) -> None:
        """End it, and say why."""
        try:
            host, port = self._inner.getsockname()[:2]
        except OSError:  # reset meanwhile
            host, port = "", 0
        what = Attempt(what=What.CONNECT, verdict=Verdict.DENY, host=host, port=port, why=why)
        self._around.note(what)
        say(self._inner, _answer(400, f"mcp-jail: {why}"))
        self._close()

    def end(self) -> None:
        """End it where it is."""
        self._close()

    def check_idle(self) -> None:
        """Nothing: it has a deadline."""

    def _read(self, _events: int) -> None:
        try:
            more = self._inner.recv(HEAD_LIMIT + 1 - len(self._said))
        except BlockingIOError:
            return
        except OSError:
            more = b""
        if not more:
            self._close()
            return
        self._said += more
        try:
            wanted = read_request(self._said)
        except NeedMoreError:
            return
        except UnfitError as error:
            self.refuse(str(error))
        else:
            self._settle()
            self._arrived(self, self._inner, _arrived(wanted))

    def _no_request(self) -> None:
        self.refuse("no request in time")

    def _settle(self) -> None:
        self._timer.cancel()
        self._around.loop.forget(self._inner.fileno())

    def _close(self) -> None:
        self._settle()
        close_socket(self._inner, reset=False)
        self._over(self)


def _arrived(wanted: Wanted) -> Arrived:
    return Arrived(
        host=wanted.host,
        port=wanted.port,
        first=wanted.first,
        opened=_OPENED if wanted.is_tunnel else b"",
        refused=_answer(403, "mcp-jail: refused by the user's policy"),
        failed=_answer(502, "mcp-jail: the other side cannot be reached"),
    )


def _answer(status: int, text: str) -> bytes:
    body = f"{text}\n".encode()
    head = f"HTTP/1.1 {status} {_REASONS[status]}\r\nContent-Type: text/plain\r\n"
    head += f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return head.encode() + body


_REASONS: Final = {400: "Bad Request", 403: "Forbidden", 502: "Bad Gateway"}
