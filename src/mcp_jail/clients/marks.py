"""Entries that stay as they are, noted by what they say, so that a later look knows them again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from mcp_jail.clients.document import Alias, Items, Members, Node, Other, Text
from mcp_jail.clients.servers import Server
from mcp_jail.store.wrapped import WrappedFile, digest_of


def mark_of(server: Server) -> str:
    """An entry with all that it says: any part of it may decide what starts (a PATH, a directory).

    Only what its client writes down by itself does not count.
    """
    node = server.node
    if isinstance(node, Members):
        own = _WRITTEN_BY_CLIENTS | {server.row.disabled}
        node = msgspec.structs.replace(
            node, members=tuple(each for each in node.members if each.key not in own)
        )
    said = [each for each in (node, *server.elsewhere) if each is not None]
    parts = [*map(str, server.place), "", *(repr(_said(each)) for each in said)]
    return digest_of("\0".join(parts).encode(errors="surrogatepass"))


# Which tools a person has allowed or switched off in a client; none of them starts anything.
_WRITTEN_BY_CLIENTS: Final = frozenset({"autoApprove", "alwaysAllow", "disabledTools"})


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
    """All that a value says, a key that stands twice included; layout and order do not count."""
    match node:
        case Text(value=value) | Other(value=value):
            return (node.oddity, type(value).__name__, value)
        case Items(items=items):
            return (node.oddity, [_said(item) for item in items])
        case Members(members=members):
            by_key = sorted(members, key=lambda member: member.key)
            return (node.oddity, [(member.key, _said(member.value)) for member in by_key])
        case Alias():
            return node.oddity
        case _:
            return None
