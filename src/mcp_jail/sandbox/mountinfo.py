"""A process's mounts as the kernel lists them, and whether they are those of a plan. Pure.

Two questions: is everything mounted where and how it was planned (`differences`), and is each mount
a mount of what was judged (`strangers`)? Whoever exchanges directories of a writable share while
bubblewrap follows paths in it can have a mount land elsewhere, so nothing that was not planned is
let pass. What bwrap mounts by itself is known by name; what the host has mounted inside a share is
looked up in the host's own list.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from mcp_jail.core.spec import Mount, MountKind, Value


class Point(Value, frozen=True):
    """One line of /proc/PID/mountinfo (proc_pid_mountinfo(5))."""

    number: int
    parent: int  # the number of the mount it is mounted on
    device: str
    place: str
    root: str  # the part of its file system that is mounted
    kind: str  # the file system's type
    read_only: bool
    options: frozenset[str]


def parse(text: str) -> tuple[Point, ...]:
    """The mounts in the order the kernel lists them."""
    return tuple(_point(line) for line in text.split("\n") if line)  # no other sign ends a line


def differences(mounts: Iterable[Mount], points: Iterable[Point]) -> tuple[str, ...]:
    """How a jail's mounts differ from what was planned, in words; nothing when they do not."""
    planned = _planned(mounts)
    stacks = _stacks(points)
    found = [f"'{place}' is not mounted" for place in planned if place not in stacks]
    for place, stack in stacks.items():
        kind = planned.get(place) or _brought_along(place, planned)
        top = stack[-1]
        if kind is None:
            found.append(f"'{place}' is mounted and was not planned")
        elif top.read_only != _READ_ONLY[kind]:
            found.append(f"'{place}' is {'' if top.read_only else 'not '}read-only")
        if "nosuid" not in top.options:
            found.append(f"'{place}' honours set-user-id programs")
        if "nodev" not in top.options and not _OWN_DEVICE.fullmatch(place):
            found.append(f"'{place}' honours device files")
        above = stacks.get(_above(place, stacks))
        if place != "/" and above and stack[0].parent != above[-1].number:
            found.append(f"'{place}' lies below another mount")
    return tuple(found)


def strangers(
    mounts: Iterable[Mount], points: Iterable[Point], host: Iterable[Point]
) -> tuple[str, ...]:
    """Which of a jail's mounts are not of what was judged, in words; `host` are the host's mounts.

    A bind shows the judged path, what is private is a file system of its own, and anything else is
    bwrap's or stands at the same place inside the share on the host.
    """
    mounts = tuple(mounts)
    tree = _Tree(host)
    kinds = _planned(mounts)
    binds = {m.destination: m.source or "" for m in mounts if m.kind in _BINDS}
    found = []
    for place, stack in _stacks(points).items():
        below = stack
        if place in kinds:
            *below, top = stack
            source = binds.get(place)
            if source is None and not tree.is_fresh(top, kinds[place]):
                found.append(f"'{place}' is not a file system of the jail's own")
            elif source is not None and not tree.shows(top, source):
                found.append(f"'{place}' is not the host's '{source}'")
        if below and not _explained(place, below, binds, tree):
            found.append(f"'{place}' is mounted and was not planned")
    return tuple(found)


_BINDS: Final = (MountKind.BIND_READ_ONLY, MountKind.BIND_READ_WRITE)
_READ_ONLY: Final = {
    MountKind.BIND_READ_ONLY: True,
    MountKind.BIND_READ_WRITE: False,
    MountKind.TMPFS: False,
    MountKind.TMPFS_READ_ONLY: True,
    MountKind.PROC: False,
    MountKind.DEV: True,
}

# What bwrap mounts by itself for `--dev` and `--proc`.
_OWN_DEVICE: Final = re.compile(r"/dev/(null|zero|full|random|urandom|tty|pts)")
_OWN_PROC: Final = re.compile(r"/proc/(sys|sysrq-trigger|irq|bus)")


def _planned(mounts: Iterable[Mount]) -> dict[str, MountKind]:
    """What is mounted where; `bwrap.arguments` closes the root."""
    planned = {m.destination: m.kind for m in mounts if m.kind in _READ_ONLY}
    planned["/"] = MountKind.TMPFS_READ_ONLY
    return planned


def _brought_along(place: str, planned: dict[str, MountKind]) -> MountKind | None:
    """What holds for a mount nobody named: bwrap's own, or one of the host's inside a share."""
    if _OWN_DEVICE.fullmatch(place):
        return MountKind.BIND_READ_WRITE
    if _OWN_PROC.fullmatch(place):
        return MountKind.BIND_READ_ONLY
    kind = planned[_above(place, planned)]
    return kind if kind in _BINDS else None


def _explained(place: str, stack: list[Point], binds: dict[str, str], tree: _Tree) -> bool:
    """Whether mounts that nobody planned are bwrap's own or the host's inside a share."""
    if place == "/":
        return False
    if _OWN_PROC.fullmatch(place):
        return len(stack) == 1 and stack[0].kind == "proc" and stack[0].root == place[5:]
    if place == "/dev/pts":
        return len(stack) == 1 and stack[0].kind == "devpts"
    if _OWN_DEVICE.fullmatch(place):
        return len(stack) == 1 and tree.shows(stack[0], place)
    share = next((above for above in _parents(place) if above in binds), None)
    if share is None:
        return False
    there = tree.mounted_at(binds[share].rstrip("/") + place[len(share.rstrip("/")) :])
    return [(p.device, p.root) for p in stack] == [(p.device, p.root) for p in there]


class _Tree:
    """The host's mounts, by the path under which they can be reached."""

    def __init__(self, points: Iterable[Point]) -> None:
        points = tuple(points)
        self._stacks = _stacks(points)
        self._on = {(point.parent, point.place): point for point in points}
        self._devices = {point.device for point in points}

    def is_fresh(self, point: Point, kind: MountKind) -> bool:
        """Whether a mount is of a file system that the host has not mounted anywhere."""
        wanted = "proc" if kind is MountKind.PROC else "tmpfs"
        whole = point.root == "/" or point.place == "/"  # bwrap's root is a directory of a tmpfs
        return point.kind == wanted and whole and point.device not in self._devices

    def shows(self, point: Point, path: str) -> bool:
        """Whether a mount shows what the host has at a path without links."""
        holder = self._holder(path)
        if holder is None or point.device != holder.device:
            return False
        if holder.kind.startswith("nfs"):  # which always says its root is `/`
            return point.root == holder.root
        below = path if holder.place == "/" else path[len(holder.place) :]
        return point.root == (holder.root.rstrip("/") + below.rstrip("/") or "/")

    def mounted_at(self, path: str) -> list[Point]:
        """The mounts at this very place, if they can be reached by its path."""
        stack = self._stacks.get(path, [])
        return stack if stack and self._holder(path) == stack[-1] else []

    def _holder(self, path: str) -> Point | None:
        """The mount in which a path ends: as the kernel walks, from mount to mount."""
        holder = self._stacks["/"][0] if "/" in self._stacks else None
        for place in ("/", *reversed([*_parents(path)][:-1]), path):
            while holder and (further := self._on.get((holder.number, place))):
                holder = further
        return holder


def _stacks(points: Iterable[Point]) -> dict[str, list[Point]]:
    """The mounts by place; of several at one place the last one is the one that shows."""
    stacks: dict[str, list[Point]] = {}
    for point in points:
        stacks.setdefault(point.place, []).append(point)
    for place, stack in stacks.items():
        if len(stack) > 1:
            stacks[place] = _in_order(stack)
    return stacks


def _in_order(stack: list[Point]) -> list[Point]:
    """Each mount after the one it is mounted on, whatever order the kernel lists them in."""
    numbers = {point.number for point in stack}
    on = {point.parent: point for point in stack}
    ordered = [point for point in stack if point.parent not in numbers][:1]
    while ordered and (further := on.get(ordered[-1].number)):
        ordered.append(further)
    return ordered if len(ordered) == len(stack) else stack


def _above(place: str, places: Iterable[str]) -> str:
    """The deepest of some places above one; the root at last, whether it is among them or not."""
    return next((above for above in _parents(place) if above in places), "/")


def _parents(place: str) -> Iterator[str]:
    """The directories above a place, from the nearest up to the root."""
    while place != "/":
        place = place[: place.rindex("/")] or "/"
        yield place


def _point(line: str) -> Point:
    before, _, after = line.partition(" - ")
    number, parent, device, root, place, options, *_ = before.split(" ")
    words = frozenset(options.split(","))
    return Point(
        number=int(number),
        parent=int(parent),
        device=device,
        place=_plain(place),
        root=_plain(root),
        kind=after[: after.index(" ")],
        read_only="ro" in words,
        options=words,
    )


def _plain(field: str) -> str:
    """Undo the kernel's escapes for space, tab, newline and backslash."""
    if "\\" not in field:
        return field
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), field)
