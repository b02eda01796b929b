"""Members that a person leaves out of the lock: whatever a server says there, it is not heard.

Some servers put what changes by itself into a definition, such as today's date. A policy may name
such a member of one item. Where all else is as it was approved, the member is put back to what was
approved: so nothing that nobody read reaches a client, and nobody is asked each day. Where anything
else changed, the item is a drift with all that it says.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from mcp_jail.core.approved import lock as locks
from mcp_jail.core.approved.lock import Lock, Pin

# By the key of an item, the members of it; `a.b` is the b inside of a.
Ignored = Mapping[str, tuple[str, ...]]


def restored(key: str, value: Any, era: str, *, approved: Iterable[Pin], ignored: Ignored) -> Any:
    """An item with its ignored members as they were approved; as it is if that is not enough."""
    members = ignored.get(key, ())
    if not members or type(value) is not dict:
        return value
    for each in approved:
        if type(each.value) is dict:
            kept = _with_members(value, each.value, members)
            if locks.pin(locks.kind_of(key), kept, era).digest == each.digest:
                return kept
    return value


def restored_lock(seen: Lock, approved: Lock | None, ignored: Ignored) -> Lock:
    """What was seen, each item so restored."""
    if approved is None or ignored.keys().isdisjoint(seen.items):
        return seen
    items = {
        key: tuple(_restored_pin(key, each, approved, ignored) for each in pins)
        for key, pins in seen.items.items()
    }
    return msgspec.structs.replace(seen, items=items)


def in_words(ignored: Ignored) -> tuple[str, ...]:
    """What is ignored, an item each."""
    return tuple(f"{key}: {', '.join(members)}" for key, members in ignored.items())


def _restored_pin(key: str, seen: Pin, approved: Lock, ignored: Ignored) -> Pin:
    pins = approved.items.get(key, ())
    value = restored(key, seen.value, seen.era, approved=pins, ignored=ignored)
    return seen if value is seen.value else locks.pin(locks.kind_of(key), value, seen.era)


def _with_members(
    seen: dict[str, Any], approved: dict[str, Any], members: Iterable[str]
) -> dict[str, Any]:
    for member in members:
        seen = _with_member(seen, approved, member.split("."))
    return seen


def _with_member(
    seen: dict[str, Any], approved: dict[str, Any], parts: list[str]
) -> dict[str, Any]:
    """An object with one member as another object has it, or without it."""
    name, *rest = parts
    if rest:
        inner, other = seen.get(name), approved.get(name)
        if type(inner) is not dict or type(other) is not dict:
            return seen
        return seen | {name: _with_member(inner, other, rest)}
    if name in approved:
        return seen | {name: approved[name]}
    return {each: value for each, value in seen.items() if each != name}
