"""What stands at a path, outside and in the jail's file tree: answers for `core.rules.paths`.

Outside, the kernel is asked. Inside, the plan's mounts say which directory of the host a path
leads to, and the kernel is asked there; the jail itself is never entered. Private places, which the
server can change at any moment, and the kernel's own trees (/proc, /dev, /sys) cannot be told: what
leads through them never resolves, so no path constraint holds there.

A path is judged before the server opens it. A server that swaps a file for a link in between gains
nothing: its jail bounds what the link can reach.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from typing import Final, assert_never

from mcp_jail.core.rules.outlook import DIRECTORY, FILE, MISSING, OPAQUE, Seen, SeenKind, Space
from mcp_jail.core.spec import Mount, MountKind, Plan
from mcp_jail.sandbox.straight import is_straight_below

# Trees in which a link leads to what is running, not to a place: `/proc/self/root`, `/dev/fd/3`.
KERNEL_TREES: Final = ("/proc", "/dev", "/sys")

# Does a pattern fit a whole text? None where that took too long.
FullMatch = Callable[[str, str], bool | None]


class View:
    """The outlook of one jail; asks the kernel anew each time, keeps nothing."""

    def __init__(self, plan: Plan, fullmatch: FullMatch) -> None:
        self._fullmatch = fullmatch
        # The last mount that covers a path is the one that shows: it was put over the others.
        mounts = tuple(enumerate(plan.mounts))
        self._mounts = {mount.destination: (order, mount) for order, mount in mounts}
        self._parents: dict[str, int] = {}
        for order, mount in mounts:
            for parent in _above(mount.destination):
                self._parents[parent] = order
        shown = [mount for _, mount in mounts if self._covering(mount.destination)[1] is mount]
        self._same = _same_in_both(shown)

    def look(self, space: Space, path: str) -> Seen:
        """What stands at a canonical absolute path whose parents are directories."""
        match space:
            case Space.HOST:
                return OPAQUE if _in_kernel_tree(path) else _look_at(path)
            case Space.JAIL:
                return self._look_inside(path)
            case _:
                assert_never(space)

    def is_straight(self, path: str) -> bool:
        """Whether a path below a directory that is bound to its own place has no link on it.

        The kernel is asked once for the whole path.
        """
        for top, others in self._same:
            if path.startswith(top) and path[len(top) :][:1] in ("", "/"):
                return not path.startswith(others) and is_straight_below(path, top)
        return False

    def fullmatch(self, pattern: str, text: str) -> bool | None:
        """Whether a pattern fits a whole text; None where that took too long."""
        return self._fullmatch(pattern, text)

    def _look_inside(self, path: str) -> Seen:
        order, mount = self._covering(path)
        if self._parents.get(path, -1) > order:
            return DIRECTORY  # made to hold a mount
        if mount is None:
            return OPAQUE
        below = path[len(mount.destination.rstrip("/")) :]
        match mount.kind:
            case MountKind.BIND_READ_ONLY | MountKind.BIND_READ_WRITE:
                source = mount.source or ""
                return _look_at(source.rstrip("/") + below) if below else _look_through(source)
            case MountKind.SYMLINK:
                return OPAQUE if below else Seen(SeenKind.LINK, mount.source)
            case MountKind.TMPFS | MountKind.TMPFS_READ_ONLY:
                return OPAQUE if below else DIRECTORY
            case MountKind.PROC | MountKind.DEV | MountKind.DATA:
                return OPAQUE
            case _:
                assert_never(mount.kind)

    def _covering(self, path: str) -> tuple[int, Mount | None]:
        """The last mount at or above a path with its order, or (-1, None)."""
        found: tuple[int, Mount | None] = (-1, None)
        for place in (path, *_above(path)):
            candidate = self._mounts.get(place)
            if candidate is not None and candidate[0] > found[0]:
                found = candidate
        return found


def _same_in_both(mounts: list[Mount]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Directories that are bound to their own place, the deepest first, with the mounts in them.

    Of mounts that cover one another only the uppermost may be given.
    """
    binds = (MountKind.BIND_READ_ONLY, MountKind.BIND_READ_WRITE)
    tops = {m.destination for m in mounts if m.kind in binds and m.source == m.destination}
    found = []
    for top in sorted(tops, key=len, reverse=True):
        others = tuple(m.destination for m in mounts if m.destination.startswith(f"{top}/"))
        if top != "/" and not _in_kernel_tree(top):
            found.append((top, others))
    return tuple(found)


def _above(path: str) -> Iterator[str]:
    """The directories above a path, from the nearest up to the root."""
    while path != "/":
        path = path[: path.rindex("/")] or "/"
        yield path


def _in_kernel_tree(path: str) -> bool:
    return any(path == tree or path.startswith(f"{tree}/") for tree in KERNEL_TREES)


def _look_at(path: str) -> Seen:
    try:
        mode = os.lstat(path).st_mode
        if stat.S_ISLNK(mode):
            return Seen(SeenKind.LINK, os.readlink(path))
    except FileNotFoundError:
        return MISSING
    except OSError:
        return OPAQUE  # no right to look, a name too long, a server gone: not told is not allowed
    return DIRECTORY if stat.S_ISDIR(mode) else FILE


def _look_through(path: str) -> Seen:
    """What a bind shows at its destination: links in its source were followed by the mount."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return OPAQUE
    return DIRECTORY if stat.S_ISDIR(mode) else FILE
