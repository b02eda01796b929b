"""A path, walked component by component, with every link that is passed on the way.

A link is written down with where it stands, because a link that a server could have planted must
not decide what is shared next time (CVE-2024-42472, CVE-2026-87766).
"""

from __future__ import annotations

import os
import stat
from enum import Enum
from typing import Final

from mcp_jail.core.spec import Value

LINKS_LIMIT: Final = 40  # links in one path, as the kernel counts (path_resolution(7))


class Kind(Enum):
    """What stands at the end of a path."""

    DIRECTORY = "directory"
    FILE = "file"
    SOCKET = "socket"
    OTHER = "device or pipe"
    MISSING = "missing"


class Link(Value, frozen=True):
    """A symbolic link that was passed: where it really stands, and its text."""

    path: str
    target: str


class Seen(Value, frozen=True):
    """A path as the host resolves it. `identity` is device and inode of what it ends in."""

    path: str
    real: str
    kind: Kind
    links: tuple[Link, ...] = ()
    identity: tuple[int, int] | None = None


def see(path: str) -> Seen:
    """Walk one absolute path, following links as the kernel does, and note each of them."""
    todo = [part for part in reversed(path.split("/")) if part and part != "."]
    done = "/"
    links: list[Link] = []
    status: os.stat_result | None = None
    while todo:
        part = todo.pop()
        if part == "..":
            done = os.path.dirname(done)
            continue
        here = os.path.join(done, part)
        try:
            status = os.lstat(here)
            target = os.readlink(here) if stat.S_ISLNK(status.st_mode) else None
        except OSError:
            rest = "/".join([here, *reversed(todo)])
            return Seen(path=path, real=rest, kind=Kind.MISSING, links=tuple(links))
        if target is None:
            done = here
            continue
        links.append(Link(path=here, target=target))
        if len(links) > LINKS_LIMIT:
            return Seen(path=path, real=here, kind=Kind.MISSING, links=tuple(links))
        if target.startswith("/"):
            done = "/"
        todo += [part for part in reversed(target.split("/")) if part and part != "."]
    status = os.lstat(done)
    return Seen(
        path=path,
        real=done,
        kind=_kind(status.st_mode),
        links=tuple(links),
        identity=(status.st_dev, status.st_ino),
    )


def _kind(mode: int) -> Kind:
    if stat.S_ISDIR(mode):
        return Kind.DIRECTORY
    if stat.S_ISREG(mode):
        return Kind.FILE
    return Kind.SOCKET if stat.S_ISSOCK(mode) else Kind.OTHER
