"""Lines that arrived, handed to the session: one by one, runs of log messages at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mcp_jail.core.conversation.events import (
    CutOff,
    Effect,
    FromClient,
    FromPerson,
    FromServer,
    NetTried,
    Oversize,
    ToClient,
)
from mcp_jail.core.conversation.session import Session
from mcp_jail.core.text import notes
from mcp_jail.proxy.lines import TooLong


def from_client(session: Session, lines: Sequence[bytes | TooLong]) -> list[Effect]:
    """What to do about lines of the client, in this order."""
    return _one_by_one(session, lines, FromClient)


def from_server(
    session: Session, lines: Sequence[bytes | TooLong], *, is_end: bool
) -> list[Effect]:
    """What to do about lines of the server, in this order; at its end they lack the newline."""
    if is_end:
        return _one_by_one(session, lines, CutOff)
    if len(lines) < notes.LEAST or not session.passes_logs():
        return _one_by_one(session, lines, FromServer)
    effects: list[Effect] = []
    for piece in notes.pieces(lines):
        if isinstance(piece, notes.Run):
            effects.append(ToClient(piece.lines))
        else:
            effects += _one_by_one(session, (piece,), FromServer)
    return effects


def from_network(session: Session, tried: Sequence[NetTried]) -> list[Effect]:
    """What to do about what the gate tells."""
    effects: list[Effect] = []
    for event in tried:
        effects += session.handle(event)
    return effects


def from_people(session: Session, said: Iterable[FromPerson]) -> list[Effect]:
    """What to do about answers of persons."""
    effects: list[Effect] = []
    for event in said:
        effects += session.handle(event)
    return effects


def _one_by_one(
    session: Session,
    lines: Sequence[bytes | TooLong],
    arrived: type[FromClient | FromServer | CutOff],
) -> list[Effect]:
    effects: list[Effect] = []
    for line in lines:
        if isinstance(line, TooLong):
            from_client = arrived is FromClient
            effects += session.handle(Oversize(line.size, line.edges, from_client=from_client))
        else:
            effects += session.handle(arrived(line))
    return effects
