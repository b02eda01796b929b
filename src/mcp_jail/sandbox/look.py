"""The looks at the file system that a plan needs, gathered once, so that the plan can be pure."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from typing import Final

from mcp_jail.core.spec import Access, JailSpec, Value
from mcp_jail.sandbox.protected import (
    CLIENT_CONFIGS,
    COMMANDING_SOCKETS,
    CREDENTIAL_DIRECTORIES,
    CREDENTIAL_FILES,
    DRAWERS,
    PROJECT_CONFIGS,
    SOCKET_DIRECTORIES,
    Guarded,
    below_home,
    lies_in,
    too_much,
)
from mcp_jail.sandbox.sockets import sockets_below
from mcp_jail.sandbox.system import System, look_at_system
from mcp_jail.sandbox.toolchain import SCRIPTS, Toolchain
from mcp_jail.sandbox.walk import Kind, Seen, see

# Entries of a directory of ours that are known again under another path.
OURS_LIMIT: Final = 4096

# Entries of a writable share that are asked whether they are projects with a client's settings.
PROJECTS_LIMIT: Final = 1024

_SECRET: Final = (*CREDENTIAL_DIRECTORIES, *CREDENTIAL_FILES, *SOCKET_DIRECTORIES)
HOME_SIGNS: Final = (".bashrc", ".bash_history", ".profile", ".ssh", ".zshrc", ".gnupg")


class Looks(Value, frozen=True):
    """All that a plan knows of the file system."""

    system: System
    seen: dict[str, Seen]  # by the path as it was given: shares, homes, cwd, programs
    ours: dict[str, Seen]
    ours_elsewhere: dict[str, str]  # shares by a bind or a hard link, and what of ours they lead to
    credentials: tuple[Seen, ...]  # those that exist below a share, directories and files
    secrets: tuple[str, ...]  # where credentials of a home really lie, if a link leads there
    drawers: tuple[str, ...]  # where the parents of credentials really lie
    sockets: tuple[Seen, ...]  # those that command the host and lie in a share
    listening: tuple[str, ...]  # other socket files in what the policy shares
    client_configs: tuple[str, ...]  # settings of MCP clients in writable shares
    scripts: tuple[Seen, ...]  # programs that the command names among its arguments
    home_links: tuple[str, ...]  # links in a kept home where a mount would have to go


def look(spec: JailSpec, toolchain: Toolchain, guarded: Guarded, *, home: str, uid: int) -> Looks:
    """Look at everything the plan of this spec depends on; `home` as it is spelled inside."""
    shares = [share.path for share in (*spec.shares, *toolchain.shares)]
    others = [spec.cwd, spec.keep_home, home, *guarded.homes, *toolchain.programs]
    seen = {path: see(path) for path in dict.fromkeys((*shares, *others)) if path}
    roots = [seen[path].real for path in shares if seen[path].kind is Kind.DIRECTORY]
    writable = [seen[s.path].real for s in spec.shares if s.access is Access.READ_WRITE]
    given = [seen[s.path].real for s in spec.shares if seen[s.path].kind is Kind.DIRECTORY]
    homes = [seen[path].real for path in guarded.homes]
    walked = [r for r in given if not too_much(r) and not any(lies_in(h, r) for h in homes)]
    sockets = tuple(sockets_below(walked))
    ours = {each.path: see(each.path) for each in guarded.ours}
    return Looks(
        system=look_at_system(uid),
        seen=seen,
        ours=ours,
        ours_elsewhere=dict(_elsewhere((seen[s.path] for s in spec.shares), guarded, ours)),
        credentials=tuple(_credentials(guarded.homes, roots)),
        secrets=tuple(_behind_links(guarded.homes, _SECRET)),
        drawers=tuple(seen.real for seen in _in_homes(guarded.homes, DRAWERS)),
        sockets=tuple({seen.path: seen for seen in _commanding(roots, sockets)}.values()),
        listening=sockets,
        client_configs=tuple(found for root in writable for found in _client_configs(root)),
        scripts=tuple(see(path) for path in _scripts(spec)),
        home_links=tuple(_home_links(spec.keep_home, seen[home].real, [*roots])),
    )


def _elsewhere(
    shares: Iterable[Seen], guarded: Guarded, ours: dict[str, Seen]
) -> Iterator[tuple[str, str]]:
    """Shares that are ours, or lie in it, though no path of theirs says so."""
    shown = {ours[each.path].real for each in guarded.ours if not each.mask}
    known: dict[tuple[int, int], str] = {}
    for each in guarded.ours:
        top = ours[each.path]
        if each.mask and top.kind is Kind.DIRECTORY:
            below = sorted(_names_in(top.real))[:OURS_LIMIT]
            paths = [top.real, *(os.path.join(top.real, name) for name in below)]
            known |= {found: path for path in paths if path not in shown for found in _at(path)}
    for share in shares:
        place = share.real
        while place != "/" and share.identity is not None:
            named = (known[found] for found in _at(place) if found in known)
            yield from ((share.path, path) for path in named if path != place)
            place = os.path.dirname(place)


def _at(path: str) -> Iterator[tuple[int, int]]:
    """What stands at a path: device and inode, whatever the path is called."""
    with suppress(OSError):
        status = os.lstat(path)
        yield (status.st_dev, status.st_ino)


def _credentials(homes: Iterable[str], roots: list[str]) -> Iterable[Seen]:
    """Known credentials below a shared root: of these homes, and of roots that look like one."""
    likely = [root for root in roots if _looks_like_a_home(root)]
    found: dict[str, Seen] = {}
    for home in dict.fromkeys((*homes, *likely)):
        for path in below_home(home, _SECRET):
            if os.path.lexists(path):
                seen = see(path)
                if any(lies_in(place, root) for root in roots for place in (seen.real, path)):
                    found[path] = seen
    return found.values()


def _looks_like_a_home(root: str) -> bool:
    return any(os.path.lexists(os.path.join(root, name)) for name in HOME_SIGNS)


def _in_homes(homes: Iterable[str], names: tuple[str, ...]) -> Iterator[Seen]:
    for home in homes:
        yield from (see(path) for path in below_home(home, names) if os.path.lexists(path))


def _behind_links(homes: Iterable[str], names: tuple[str, ...]) -> Iterator[str]:
    return (seen.real for seen in _in_homes(homes, names) if seen.real != seen.path)


def _commanding(roots: list[str], found: tuple[str, ...]) -> Iterator[Seen]:
    """Known sockets directly in a share, whoever shares it, and those that were found deeper."""
    known = [os.path.join(root, name) for root in roots for name in COMMANDING_SOCKETS]
    known += [path for path in found if os.path.basename(path) in COMMANDING_SOCKETS]
    yield from (seen for seen in map(see, known) if seen.kind is Kind.SOCKET)


def _client_configs(root: str) -> Iterator[str]:
    """Settings of MCP clients in a directory that is a project, a home, or full of projects."""
    names = dict.fromkeys((*PROJECT_CONFIGS, *CLIENT_CONFIGS))
    yield from (path for path in below_home(root, tuple(names)) if os.path.lexists(path))
    first = {name.partition("/")[0] for name in PROJECT_CONFIGS}
    try:
        with os.scandir(root) as entries:
            some = [e.path for e in islice(entries, PROJECTS_LIMIT) if e.is_dir()]
    except OSError:
        return  # a file, or closed to us and so to the server
    for place in some:
        if first & _names_in(place):
            configs = below_home(place, PROJECT_CONFIGS)
            yield from (path for path in configs if os.path.lexists(path))


def _names_in(directory: str) -> set[str]:
    try:
        return set(os.listdir(directory))
    except OSError:
        return set()


def _scripts(spec: JailSpec) -> Iterator[str]:
    for word in spec.command[1:]:
        place = os.path.normpath(os.path.join(spec.cwd or os.getcwd(), word))
        if word.endswith(SCRIPTS) and os.path.isfile(place):
            yield place


def _home_links(keep_home: str | None, home: str, roots: list[str]) -> Iterable[str]:
    """Links a server left in its kept home where a share below HOME is to be mounted.

    bwrap before 0.12 follows them out of the jail (CVE-2026-87766).
    """
    for root in roots if keep_home else ():
        if not lies_in(root, home) or root == home:
            continue
        place = keep_home or ""
        for part in root[len(home) :].strip("/").split("/"):
            place = os.path.join(place, part)
            if os.path.islink(place):
                yield place
                break
