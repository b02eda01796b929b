"""Entries that stay as they are, noted by what they say, so that a later look knows them again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from mcp_jail.clients.document import Alias, Items, Members, Node, Other, Text
from mcp_jail.clients.servers import Server
from mcp_jail.store.wrapped import WrappedFile, digest_of


def mark_of(server: Server) -> str:
    """An entry with what it starts: another command under its name is another entry.

    Where what it starts cannot be told, all that it says counts.
    """
    parts = [*map(str, server.place), ""]
    if server.launch is not None:
        parts += server.launch.words
    elif server.node is not None:
        parts.append(repr(_said(server.node)))
    parts += [repr(_said(each)) for each in server.elsewhere]
    return digest_of("\0".join(parts).encode(errors="surrogatepass"))


def noted(
    known: WrappedFile, servers: Iterable[Server], wrapped: Iterable[Server], chosen: set[str]
) -> WrappedFile:
    """What is known of a file once all but the `wrapped` of its servers stay as they are.

    `chosen` are the marks of those that a person chose to leave.
    """
    done = {each.path for each in wrapped}
    stay = [each for each in servers if each.ours is None and each.path not in done]
    marks = dict.fromkeys(mark_of(each) for each in stay if may_start(each))
    left = tuple(mark for mark in marks if mark in chosen)
    told = tuple(mark for mark in marks if mark not in chosen)
    return msgspec.structs.replace(known, left=left, told=told)


def may_start(server: Server) -> bool:
    """Whether an entry that is not ours may start something here, now or once it is switched on."""
    return not server.is_inert or server.launch is not None


def _said(node: Node) -> Any:
    """All that a value says, a key that stands twice included; its layout does not count."""
    match node:
        case Text(value=value) | Other(value=value):
            return (node.oddity, type(value).__name__, value)
        case Items(items=items):
            return (node.oddity, [_said(item) for item in items])
        case Members(members=members):
            return (node.oddity, [(member.key, _said(member.value)) for member in members])
        case Alias():
            return node.oddity
        case _:
            return None
