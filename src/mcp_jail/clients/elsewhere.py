"""Servers that a file says only by a word for what stands elsewhere: YAML's aliases and merges.

Their client starts them like any other. Nothing can be put before them where they are named, so
they are refused, and told as loudly as an entry that is an alias itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mcp_jail.clients.catalogue import Row, Syntax
from mcp_jail.clients.document import Alias, Items, KeyPath, Members, Node
from mcp_jail.clients.yaml_spans import MERGE


def merged_into(node: Node, row: Row) -> tuple[Node, ...]:
    """All that a map takes over from elsewhere; in JSON and TOML the key is one like any other.

    Some readers take several such keys in one map.
    """
    if row.syntax is not Syntax.YAML or not isinstance(node, Members):
        return ()
    return tuple(member.value for member in node.members if member.key == MERGE)


def may_bring(merged: Iterable[Node], keys: Iterable[str]) -> bool:
    """Whether a merge may bring one of these keys; of what cannot be followed, any."""
    wanted, seen = frozenset(keys), set[int]()
    open_ones = [*merged]
    while open_ones:
        node = open_ones.pop()
        node = node.target or node if isinstance(node, Alias) else node
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, Items):
            open_ones += node.items
        elif not isinstance(node, Members) or any(node.get(key) for key in wanted):
            return True
        else:
            open_ones += [member.value for member in node.members if member.key == MERGE]
    return False


def unknown_servers(root: Node, row: Row) -> dict[KeyPath, tuple[Node, str]]:
    """The places at which a client may find servers that do not stand there, each with why."""
    found: dict[KeyPath, tuple[Node, str]] = {}
    for keys in row.servers:
        for path, node, why in _on_the_way(root, (), keys, row):
            found.setdefault(path, (node, why))
    return found


def _on_the_way(
    node: Node, path: KeyPath, keys: tuple[str, ...], row: Row
) -> Iterator[tuple[KeyPath, Node, str]]:
    """From the top to the map of servers, and that map itself."""
    if path and not isinstance(node, Members | Items) and node.oddity:
        yield path, node, f"what stands here is {node.oddity}, and may be servers"
    if not isinstance(node, Members):
        return
    merged = merged_into(node, row)
    if merged and _may_add(node, merged, keys):
        whole = Items(node.start, node.end, merged)
        yield (*path, MERGE), whole, "servers may be merged in here from elsewhere (<<)"
    for member in node.members if keys else ():
        is_merge = bool(merged) and member.key == MERGE
        if keys[0] in {"*", member.key} and not is_merge:
            yield from _on_the_way(member.value, (*path, member.key), keys[1:], row)


def _may_add(node: Members, merged: Iterable[Node], keys: tuple[str, ...]) -> bool:
    """Whether a merge brings what leads to servers; what a map says itself counts more."""
    if not keys or keys[0] == "*":
        return True
    return node.get(keys[0]) is None and may_bring(merged, keys[:1])


def anchored(root: Node) -> tuple[Node, ...]:
    """All that a word elsewhere in a file may stand for."""
    return tuple(node for node in _all(root) if node.oddity.startswith("an anchor"))


def leads_elsewhere(node: Node) -> bool:
    """Whether a value says something only by what stands elsewhere."""
    return any(isinstance(each, Alias) for each in _all(node))


def _all(node: Node) -> Iterator[Node]:
    yield node
    deeper: tuple[Node, ...] = ()
    if isinstance(node, Items):
        deeper = node.items
    elif isinstance(node, Members):
        deeper = tuple(member.value for member in node.members)
    for each in deeper:
        yield from _all(each)
