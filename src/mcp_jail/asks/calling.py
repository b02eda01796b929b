"""How a command speaks with the guards that run: one request to one, or to all of them."""

from __future__ import annotations

import socket
from typing import Any, Final

import msgspec

from mcp_jail.asks.protocol import REPLY_LIMIT, Reply
from mcp_jail.errors import NotAnsweredError
from mcp_jail.store.places import Places
from mcp_jail.store.runs import Run, running
from mcp_jail.store.sockets import connect

# Seconds a guard may take: it answers between two messages, and a message has megabytes at most.
PATIENCE: Final = 5.0


class Said(msgspec.Struct, frozen=True):
    """What one guard answered."""

    run: Run
    ok: dict[str, Any]


def call(run: Run, op: str, **members: Any) -> dict[str, Any]:
    """Ask one guard; NotAnsweredError where it refuses, is gone or does not answer."""
    request = msgspec.json.encode({"v": 1, "id": 1, "op": op, **members}) + b"\n"
    try:
        with connect(run.socket, timeout=PATIENCE) as connection:
            connection.sendall(request)
            reply = msgspec.json.decode(_line(connection), type=Reply)
    except (FileNotFoundError, ConnectionRefusedError):
        raise NotAnsweredError(f"the run of '{run.name}' has ended") from None
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise NotAnsweredError(f"the run of '{run.name}' does not answer: {error}") from error
    if reply.error is not None:
        raise NotAnsweredError(reply.error.message, hint=reply.error.hint)
    return reply.ok or {}


def call_all(places: Places, op: str) -> tuple[list[Said], list[str]]:
    """Ask every guard that runs; what they say, and what is wrong with those that do not."""
    said: list[Said] = []
    silent: list[str] = []
    for run in running(places):
        try:
            said.append(Said(run, call(run, op)))
        except NotAnsweredError as error:
            if run in running(places):  # else it has ended meanwhile
                silent.append(error.message)
    return said, silent


def _line(connection: socket.socket) -> bytes:
    found = bytearray()
    while b"\n" not in found and len(found) <= REPLY_LIMIT:
        data = connection.recv(64 * 1024)
        if not data:
            break
        found += data
    return bytes(found).partition(b"\n")[0]
