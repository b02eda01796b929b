"""Which members of an item are not as they were approved, by their paths. For people, not models.

The names are a server's own, so whoever prints them makes them inert.
"""

from __future__ import annotations

from typing import Any, Final

from mcp_jail.core.approved.lock import Drift, canonical

# Members that are named: enough to see what it is about; `diff` shows all.
MEMBERS_NAMED: Final = 10

# Characters of a path; each name in it is a server's to choose.
PATH_LENGTH: Final = 200


def changed_members(drift: Drift) -> tuple[str, ...]:
    """The paths of what is other, come or gone (`inputSchema.properties.path`)."""
    if drift.approved is None or drift.seen is None:
        return ()
    found: list[str] = []
    _compare(drift.approved.value, drift.seen.value, "", found)
    return tuple(path[:PATH_LENGTH] for path in found[:MEMBERS_NAMED])


def _compare(old: Any, new: Any, path: str, found: list[str]) -> None:
    """Descend into what are objects on both sides; a server's nesting was bounded before."""
    if type(old) is not dict or type(new) is not dict:
        if canonical(old) != canonical(new):
            found.append(path)
        return
    for name in sorted(old.keys() | new.keys()):
        inner = f"{path}.{name}" if path else name
        if name in old and name in new:
            _compare(old[name], new[name], inner, found)
        else:
            found.append(inner)
