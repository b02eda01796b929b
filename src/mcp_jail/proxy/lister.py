"""A small client of our own: opens a server and asks for all it lists.

It speaks through the session that stands between any client and server, so what is seen here is
what a run sees: names that stand twice or hide characters are left out, capabilities are cut to the
policy. No tool is called.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, Final

import msgspec

from mcp_jail.core.approved.lock import KIND_OF_LIST, ItemKind
from mcp_jail.core.conversation import walks
from mcp_jail.core.protocol import mcp
from mcp_jail.core.protocol.mcp import Era

# The protocol versions that are spoken where no client of a lock says another.
VERSIONS: Final = {Era.MODERN: "2026-07-28", Era.LEGACY: "2025-11-25"}

# What a server is told of us: no name by which it could behave better than with others.
CLIENT_INFO: Final = {"name": "mcp-client", "version": "1.0.0"}

# Asks one thing and waits: the method and its params to the whole answer, None if none comes.
Ask = Callable[[str, dict[str, Any]], dict[str, Any] | None]

# Sends a notification.
Notify = Callable[[str], None]


class Peer(msgspec.Struct, frozen=True):
    """A client as a lock remembers it: what it declared, in which version."""

    era: Era
    version: str
    capabilities: dict[str, Any] = {}


class Listed(Enum):
    """How the listing of a kind went."""

    WHOLE = "listed"
    ABSENT = "absent"  # the server knows no such method
    BROKEN = "broken"  # an error, no answer, or pages without end


def open_server(peer: Peer, ask: Ask, notify: Notify) -> bool:
    """The opening of the peer's era; whether the server speaks it."""
    if peer.era is Era.MODERN:
        answer = ask("server/discover", _params(peer))
        return answer is not None and _speaks(answer, peer.version)
    params = {
        "protocolVersion": peer.version,
        "capabilities": peer.capabilities,
        "clientInfo": CLIENT_INFO,
    }
    answer = ask("initialize", params)
    if answer is None or "result" not in answer:
        return False
    notify("notifications/initialized")
    return True


def list_all(peer: Peer, ask: Ask) -> dict[ItemKind, Listed]:
    """Ask for every page of every kind; how each went."""
    return {kind: _list(peer, method, ask) for method, kind in KIND_OF_LIST.items()}


def peers_of(peers: Mapping[str, Mapping[str, Any]]) -> tuple[Peer, ...]:
    """The clients that a lock remembers."""
    return tuple(
        Peer(era, _text(peers[era.value].get("version")) or version, _offers(peers[era.value]))
        for era, version in VERSIONS.items()
        if era.value in peers
    )


def _list(peer: Peer, method: str, ask: Ask) -> Listed:
    params = _params(peer)
    cursors: set[str] = set()
    for _ in range(walks.PAGES_LIMIT):
        answer = ask(method, params)
        if answer is None:
            return Listed.BROKEN
        if "result" not in answer:
            return Listed.ABSENT if _is_unknown(answer.get("error")) else Listed.BROKEN
        cursor = answer["result"].get("nextCursor")
        if cursor is None:
            return Listed.WHOLE
        if type(cursor) is not str or cursor in cursors:
            return Listed.BROKEN
        cursors.add(cursor)
        params = params | {"cursor": cursor}
    return Listed.BROKEN


def _params(peer: Peer) -> dict[str, Any]:
    """What every request carries in the modern era."""
    if peer.era is Era.LEGACY:
        return {}
    return {
        "_meta": {
            mcp.VERSION_KEY: peer.version,
            mcp.CLIENT_INFO_KEY: CLIENT_INFO,
            mcp.CLIENT_CAPABILITIES_KEY: peer.capabilities,
        }
    }


def _speaks(answer: dict[str, Any], version: str) -> bool:
    result = answer.get("result")
    versions = result.get("supportedVersions") if isinstance(result, dict) else None
    return isinstance(versions, list) and version in versions


def _is_unknown(error: Any) -> bool:
    return isinstance(error, dict) and error.get("code") == mcp.METHOD_NOT_FOUND


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _offers(peer: Mapping[str, Any]) -> dict[str, Any]:
    offers = peer.get("capabilities")
    return offers if isinstance(offers, dict) else {}
