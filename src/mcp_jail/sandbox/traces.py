"""What a running server has left in its jail so far: files in private places, processes.

Seen from outside, without entering. A server chooses its file names and may plant links, so the way
down goes by open directories and follows none; a link of its own leads to our root, not to its.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from typing import Final

from mcp_jail.core.spec import MountKind, Plan, Value
from mcp_jail.sandbox.outside import children

# Files that are looked at; a server may make any number.
FILES_LIMIT: Final = 10_000

# Directories below each other.
DEPTH_LIMIT: Final = 40

# Processes that are looked at.
PROCESSES_LIMIT: Final = 1_000

# Bytes of a command line that are kept.
LINE_LIMIT: Final = 4_096


class Trace(Value, frozen=True):
    """One thing in a private place: its path inside, what it is, its size in bytes."""

    path: str
    kind: str
    size: int


class Traces(Value, frozen=True):
    """What was found; `is_cut` where there was more than is looked at."""

    files: tuple[Trace, ...]
    processes: tuple[tuple[str, ...], ...]
    is_cut: bool = False


def traces(plan: Plan, server: int, init: int) -> Traces:
    """What a server made in the private places of its jail, and what runs there beside bwrap.

    `server` and `init` are host numbers. OSError when the server is gone.
    """
    files: list[Trace] = []
    places = [mount.destination for mount in plan.mounts if mount.kind is MountKind.TMPFS]
    ours = _ours(plan)
    root = os.open(f"/proc/{server}/root", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for place in places:
            for found in _below(root, place, ours):
                files.append(found)
                if len(files) >= FILES_LIMIT:
                    return Traces(files=tuple(files), processes=_running(init), is_cut=True)
    finally:
        os.close(root)
    return Traces(files=tuple(files), processes=_running(init))


def _ours(plan: Plan) -> frozenset[str]:
    """The paths that the jail itself made: where something is mounted, and the way there."""
    found: set[str] = set()
    for mount in plan.mounts:
        path = mount.destination
        while path != "/":
            found.add(path)
            path = os.path.dirname(path)
    return frozenset(found)


def _below(root: int, place: str, ours: frozenset[str]) -> Iterator[Trace]:
    here = os.open(".", _DIRECTORY, dir_fd=root)
    try:
        for part in filter(None, place.split("/")):
            deeper = os.open(part, _DIRECTORY, dir_fd=here)
            os.close(here)
            here = deeper
        yield from _walk(here, place, os.fstat(here).st_dev, ours, 0)
    finally:
        os.close(here)


_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def _walk(folder: int, path: str, device: int, ours: frozenset[str], depth: int) -> Iterator[Trace]:
    """What lies in an open directory, other file systems left out."""
    for name in sorted(os.listdir(folder)):
        inner = os.path.join(path, name)
        try:
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except OSError:
            continue  # gone meanwhile
        if status.st_dev != device:
            continue  # mounted there, by the plan
        is_folder = stat.S_ISDIR(status.st_mode)
        if inner not in ours:
            yield Trace(path=inner, kind=_kind(status.st_mode), size=status.st_size)
        if not is_folder or depth >= DEPTH_LIMIT:
            continue
        try:
            deeper = os.open(name, _DIRECTORY, dir_fd=folder)
        except OSError:
            continue  # replaced meanwhile, or closed to us
        try:
            yield from _walk(deeper, inner, device, ours, depth + 1)
        finally:
            os.close(deeper)


def _kind(mode: int) -> str:
    for is_kind, word in _KINDS:
        if is_kind(mode):
            return word
    return "other"


_KINDS: Final = (
    (stat.S_ISREG, "file"),
    (stat.S_ISDIR, "directory"),
    (stat.S_ISLNK, "link"),
    (stat.S_ISSOCK, "socket"),
    (stat.S_ISFIFO, "pipe"),
)


def _running(init: int) -> tuple[tuple[str, ...], ...]:
    """The command lines of a jail's processes; they have chosen them themselves."""
    waiting = children(init)
    lines: list[tuple[str, ...]] = []
    while waiting and len(lines) < PROCESSES_LIMIT:
        pid = waiting.pop(0)
        waiting += children(pid)
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read(LINE_LIMIT).rstrip(b"\0").split(b"\0")
        except OSError:
            continue  # ended meanwhile
        if words == [b""]:  # it is dead and not reaped yet, or hides its words
            words = _name_of(pid)
        if words:
            lines.append(tuple(word.decode(errors="replace") for word in words))
    return tuple(lines)


def _name_of(pid: int) -> list[bytes]:
    """What the kernel calls a process that has no command line; nothing for a dead one."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            name, _, rest = file.read(LINE_LIMIT).partition(b"(")[2].rpartition(b")")
    except OSError:
        return []
    return [] if rest.split()[:1] in ([b"Z"], [b"X"]) else [b"(" + name + b")"]
