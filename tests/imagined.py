"""An outlook answered from a dictionary: what a decision asks, without a file system."""

from __future__ import annotations

import re
from collections.abc import Mapping

from mcp_jail.core.rules.outlook import DIRECTORY, FILE, MISSING, OPAQUE, Seen, SeenKind, Space

HOME = "/home/me"


class Imagined:
    """Paths to what stands there: "dir", "file", "opaque", or "-> target"; parents are made.

    `jail` is the tree inside, the same as outside where none is given. A pattern in `slow` takes
    too long.
    """

    def __init__(
        self,
        host: Mapping[str, str],
        jail: Mapping[str, str] | None = None,
        *,
        slow: frozenset[str] = frozenset(),
    ) -> None:
        self._trees = {Space.HOST: _tree(host), Space.JAIL: _tree(host if jail is None else jail)}
        self._slow = slow
        self.asked: list[tuple[Space, str]] = []

    def look(self, space: Space, path: str) -> Seen:
        self.asked.append((space, path))
        return self._trees[space].get(path, MISSING)

    def is_straight(self, path: str) -> bool:
        """Answered from the same dictionary, honestly; not noted as asked."""
        parts = path.split("/")[1:]
        ways = ["/" + "/".join(parts[: count + 1]) for count in range(len(parts))]
        return all(
            tree.get(way, MISSING) in ((DIRECTORY,) if way != path else (DIRECTORY, FILE, MISSING))
            for tree in self._trees.values()
            for way in ways
        )

    def fullmatch(self, pattern: str, text: str) -> bool | None:
        return None if pattern in self._slow else re.fullmatch(pattern, text) is not None


def _tree(paths: Mapping[str, str]) -> dict[str, Seen]:
    tree: dict[str, Seen] = {}
    for path, what in paths.items():
        parent = path
        while parent := parent.rpartition("/")[0]:
            tree.setdefault(parent, DIRECTORY)
        tree[path] = _seen(what)
    return tree


def _seen(what: str) -> Seen:
    if what.startswith("-> "):
        return Seen(SeenKind.LINK, what.removeprefix("-> "))
    return {"dir": DIRECTORY, "file": FILE, "opaque": OPAQUE}[what]
