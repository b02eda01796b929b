"""What listens on this host, the same for both runs: it takes in everything and answers nothing.

The kernel keeps what arrives until `taken` reads it after the run, so no thread is needed.
"""

from __future__ import annotations

import socket
from types import TracebackType
from typing import Final, Self

HOST: Final = "127.0.0.1"

# Bytes read at once: a UDP packet has 65,507 at most.
_PIECE: Final = 1 << 16


class Listeners:
    """A TCP port, a UDP port, a name server's port and the socket of an SSH agent."""

    def __init__(self, agent: str) -> None:
        self.agent = agent
        self._sockets: dict[str, socket.socket] = {}
        try:
            self._open("TCP", socket.AF_INET, socket.SOCK_STREAM, (HOST, 0))
            self._open("UDP", socket.AF_INET, socket.SOCK_DGRAM, (HOST, 0))
            self._open("DNS", socket.AF_INET, socket.SOCK_DGRAM, (HOST, 0))
            self._open("SSH agent", socket.AF_UNIX, socket.SOCK_STREAM, agent)
        except OSError:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def port(self, name: str) -> int:
        """The port of TCP, UDP or DNS."""
        return int(self._sockets[name].getsockname()[1])

    def taken(self) -> dict[str, bytes | None]:
        """What has arrived at each since the last look; None where nobody has come."""
        return {name: _read(opened) for name, opened in self._sockets.items()}

    def close(self) -> None:
        """Stop listening."""
        for opened in self._sockets.values():
            opened.close()

    def _open(self, name: str, family: int, kind: int, address: str | tuple[str, int]) -> None:
        opened = socket.socket(family, kind)
        self._sockets[name] = opened
        opened.bind(address)
        if kind == socket.SOCK_STREAM:
            opened.listen()
        opened.settimeout(0)


def _read(opened: socket.socket) -> bytes | None:
    pieces: list[bytes] = []
    while True:
        try:
            if opened.type == socket.SOCK_DGRAM:
                pieces.append(opened.recv(_PIECE))
            else:
                pieces.append(_all_of(opened.accept()[0]))
        except BlockingIOError:
            return b"\n".join(pieces) if pieces else None


def _all_of(connection: socket.socket) -> bytes:
    """What has been sent on a connection up to now."""
    pieces = []
    with connection:
        connection.settimeout(0)
        try:
            while piece := connection.recv(_PIECE):
                pieces.append(piece)
        except (BlockingIOError, ConnectionError):
            pass  # all that came before stands
    return b"".join(pieces)
