"""Lines that arrived, handed to the session: one by one, runs of log messages at once."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_jail.core import notes
from mcp_jail.core.events import Effect, FromClient, FromServer, NetTried, Oversize, ToClient
from mcp_jail.core.session import Session
from mcp_jail.proxy.lines import TooLong


def from_client(session: Session, lines: Sequence[bytes | TooLong]) -> list[Effect]:
    """What to do about lines of the client, in this order."""
    effects: list[Effect] = []
    for line in lines:
        if isinstance(line, TooLong):
            effects += session.handle(Oversize(line.size, line.edges, from_client=True))
        else:
            effects += session.handle(FromClient(line))
    return effects


def from_server(session: Session, lines: Sequence[bytes | TooLong]) -> list[Effect]:
    """What to do about lines of the server, in this order."""
    if len(lines) < notes.LEAST or not session.passes_logs():
        return _one_by_one(session, lines)
    effects: list[Effect] = []
    for piece in notes.pieces(lines):
        if isinstance(piece, notes.Run):
            effects.append(ToClient(piece.lines))
        else:
            effects += _one_by_one(session, (piece,))
    return effects


def from_network(session: Session, tried: Sequence[NetTried]) -> list[Effect]:
    """What to do about what the gate tells."""
    effects: list[Effect] = []
    for event in tried:
        effects += session.handle(event)
    return effects


def _one_by_one(session: Session, lines: Sequence[bytes | TooLong]) -> list[Effect]:
    effects: list[Effect] = []
    for line in lines:
        if isinstance(line, TooLong):
            effects += session.handle(Oversize(line.size, line.edges, from_client=False))
        else:
            effects += session.handle(FromServer(line))
    return effects
