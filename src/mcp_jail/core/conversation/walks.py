"""Our own listing before a first call, and the calls that are held until it is done.

A client may call what it never listed in this process: from its cache, or since another process of
its listed it. What is called is then unknown, so the session lists it first, in the client's era
and never before the client has spoken. Listing ends with the last page, or where a server has no
end of them.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from mcp_jail.core.approved.lock import KIND_OF_LIST, ItemKind
from mcp_jail.core.protocol import mcp
from mcp_jail.core.protocol.mcp import Era, Treatment
from mcp_jail.core.protocol.wire import MessageId, Request

# Pages of one walk of ours. SDK clients stop at 64 or 250.
PAGES_LIMIT: Final = 256


# Seconds a request waits for a walk of ours: half of what SDK clients wait for an answer.
WALK_SECONDS: Final = 30.0

METHOD_OF_KIND: Final = {kind: method for method, kind in KIND_OF_LIST.items()}


class Step(msgspec.Struct, frozen=True):
    """One request of a walk of ours: the params, and how many went before it."""

    params: dict[str, Any]
    number: int


class Walks:
    """The walks that are under way, and what waits for each."""

    def __init__(self) -> None:
        self._held: dict[ItemKind, dict[tuple[type, MessageId], Request]] = {}
        self._until: dict[ItemKind, float] = {}

    def __len__(self) -> int:
        return sum(len(held) for held in self._held.values())

    @property
    def due(self) -> float | None:
        """When the first walk has taken too long, None where none is under way."""
        return min(self._until.values()) if self._until else None

    def late(self, now: float) -> tuple[ItemKind, ...]:
        """The kinds whose walk has taken too long."""
        return tuple(kind for kind, until in self._until.items() if until <= now)

    def hold(self, kind: ItemKind, request: Request, now: float = 0.0) -> bool:
        """Keep a request until its kind was walked; whether a walk must be begun for it."""
        is_new = kind not in self._held
        if is_new:
            self._until[kind] = now + WALK_SECONDS
        self._held.setdefault(kind, {})[type(request.id), request.id] = request
        return is_new

    def holds(self, client_id: MessageId) -> bool:
        """Whether a request with this id is being held."""
        return any((type(client_id), client_id) in held for held in self._held.values())

    def drop(self, client_id: MessageId) -> Request | None:
        """Forget a held request that the client cancelled, if there is one."""
        for held in self._held.values():
            request = held.pop((type(client_id), client_id), None)
            if request is not None:
                return request
        return None

    def release(self, kind: ItemKind) -> list[Request]:
        """What waited for a walk that is over."""
        self._until.pop(kind, None)
        return list(self._held.pop(kind, {}).values())

    def release_all(self) -> list[Request]:
        """All that waits: no walk will end any more."""
        held, self._held = self._held, {}
        self._until.clear()
        return [request for each in held.values() for request in each.values()]


def kind_needed(treatment: Treatment, *, is_uri: bool) -> ItemKind | None:
    """The kind of item that must be approved for a request, if it is about an item."""
    match treatment:
        case Treatment.READ_RESOURCE | Treatment.LISTEN:
            return ItemKind.RESOURCE
        case Treatment.CALL_TOOL:
            return ItemKind.TOOL
        case Treatment.GET_PROMPT:
            return ItemKind.PROMPT
        case Treatment.COMPLETE:
            return ItemKind.TEMPLATE if is_uri else ItemKind.PROMPT
        case _:
            return None


def first_step(request: Request) -> Step:
    """The beginning of a walk in the era of the request it is made for."""
    if mcp.era_of(request.params) is Era.LEGACY:
        return Step({}, 0)
    meta = request.params["_meta"]
    names = (mcp.VERSION_KEY, mcp.CLIENT_INFO_KEY, mcp.CLIENT_CAPABILITIES_KEY)
    return Step({"_meta": {name: meta[name] for name in names if name in meta}}, 0)


def next_step(step: Step, result: dict[str, Any]) -> Step | None:
    """The request for the next page; None after the last, or where a server goes in circles."""
    cursor = result.get("nextCursor")
    if type(cursor) is not str or cursor == step.params.get("cursor"):
        return None
    if step.number + 1 >= PAGES_LIMIT:
        return None
    return Step(step.params | {"cursor": cursor}, step.number + 1)


def is_last(result: dict[str, Any]) -> bool:
    """Whether a page has none after it; an empty cursor is one."""
    return result.get("nextCursor") is None
