"""What a connection brings along when it begins, and what its program is told in words."""

from __future__ import annotations

import contextlib
import socket

import msgspec


class Arrived(msgspec.Struct, frozen=True):
    """Where a connection wants to go, in its own words, and what it has said for there already.

    To one that asked a proxy, `opened` is said when a rule opens it; if it comes to nothing before
    that, `refused` or `failed`.
    """

    host: str
    port: int
    first: bytes = b""
    opened: bytes = b""
    refused: bytes = b""
    failed: bytes = b""


def say(side: socket.socket, words: bytes) -> None:
    """Send a few words; they fit, as nothing was sent before. One that is gone misses them."""
    with contextlib.suppress(OSError):
        side.sendall(words)
