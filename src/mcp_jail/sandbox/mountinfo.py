"""A process's mounts as the kernel lists them, and whether they are those of a plan. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from mcp_jail.core.spec import Mount, MountKind, Value
from mcp_jail.sandbox.protected import lies_in


class Point(Value, frozen=True):
    """One line of /proc/PID/mountinfo (proc_pid_mountinfo(5))."""

    place: str
    root: str  # the part of its file system that is mounted
    kind: str  # the file system's type
    read_only: bool
    options: frozenset[str]


# What bwrap mounts by itself for `--dev` and `--proc`.
_OWN: Final = re.compile(
    r"/dev/(null|zero|full|random|urandom|tty|pts|console|shm|mqueue)|/proc/(sys|sysrq-trigger|irq|bus)"
)


def parse(text: str) -> tuple[Point, ...]:
    """The mounts in the order the kernel lists them: a later one at the same place hides it."""
    points = []
    for line in text.splitlines():
        before, _, after = line.partition(" - ")
        fields = before.split()
        options = frozenset(fields[5].split(","))
        points.append(
            Point(
                place=_plain(fields[4]),
                root=_plain(fields[3]),
                kind=after.split()[0],
                read_only="ro" in options,
                options=options,
            )
        )
    return tuple(points)


def differences(mounts: Iterable[Mount], points: Iterable[Point]) -> tuple[str, ...]:
    """How a jail's mounts differ from what was planned, in words; nothing when they do not."""
    planned = {m.destination: m.kind for m in mounts if m.kind in _READ_ONLY}
    planned["/"] = MountKind.TMPFS_READ_ONLY
    there = {point.place: point for point in points}
    found = [f"'{place}' is not mounted" for place in planned if place not in there]
    for place, point in there.items():
        kind = planned.get(place) or _brought_along(place, planned)
        if kind is None:
            found.append(f"'{place}' is mounted and was not planned")
        elif point.read_only != _READ_ONLY[kind]:
            found.append(f"'{place}' is {'' if point.read_only else 'not '}read-only")
        if "nosuid" not in point.options:
            found.append(f"'{place}' honours set-user-id programs")
    return tuple(found)


_READ_ONLY: Final = {
    MountKind.BIND_READ_ONLY: True,
    MountKind.BIND_READ_WRITE: False,
    MountKind.TMPFS: False,
    MountKind.TMPFS_READ_ONLY: True,
    MountKind.PROC: False,
    MountKind.DEV: True,
}


def _brought_along(place: str, planned: dict[str, MountKind]) -> MountKind | None:
    """What holds for a mount nobody named: bwrap's own, or one of the host's inside a share."""
    if _OWN.fullmatch(place):
        return MountKind.BIND_READ_WRITE if place.startswith("/dev/") else MountKind.BIND_READ_ONLY
    holder = max((root for root in planned if lies_in(place, root)), key=len)
    kind = planned[holder]
    return kind if kind in {MountKind.BIND_READ_ONLY, MountKind.BIND_READ_WRITE} else None


def _plain(field: str) -> str:
    """Undo the kernel's escapes for space, tab, newline and backslash."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), field)
