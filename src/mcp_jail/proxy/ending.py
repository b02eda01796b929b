"""Why a run ended, and what became of the server."""

from __future__ import annotations

from enum import Enum

import msgspec


class Cause(Enum):
    """Why a run ended."""

    CLIENT_CLOSED = "the client closed"
    SIGNAL = "a signal"
    SERVER_GONE = "the server ended"
    AUDIT_FAILED = "the audit cannot be written"
    NOT_CONFINED = "the server is not confined as planned"


class Ending(msgspec.Struct, frozen=True):
    """How a run ended: why, and what became of the server."""

    cause: Cause
    how: str
    detail: str = ""
