"""Locks for tests, out of tools."""

from __future__ import annotations

from typing import Any

from mcp_jail.core.approved.lock import ItemKind, Lock, Pin, key_of, pin


def tool(name: str, description: str = "Does it.", **more: Any) -> dict[str, Any]:
    """A tool as a server lists it."""
    return {"name": name, "description": description, "inputSchema": {"type": "object"}, **more}


def lock_of(*tools: dict[str, Any], era: str = "legacy", name: str = "fs") -> Lock:
    """A lock in which just these tools were listed."""
    items: dict[str, tuple[Pin, ...]] = {
        key_of(ItemKind.TOOL, each["name"]): (pin(ItemKind.TOOL, each, era),) for each in tools
    }
    return Lock(name=name, kinds=(ItemKind.TOOL,), items=items)


def resources_of(*uris: str, name: str = "fs") -> Lock:
    """A lock in which just these resources were listed."""
    items: dict[str, tuple[Pin, ...]] = {
        key_of(ItemKind.RESOURCE, uri): (pin(ItemKind.RESOURCE, {"uri": uri}, "legacy"),)
        for uri in uris
    }
    return Lock(name=name, kinds=(ItemKind.RESOURCE,), items=items)
