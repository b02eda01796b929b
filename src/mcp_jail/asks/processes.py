"""Processes as /proc tells of them: whose child, in which session, before which terminal."""

from __future__ import annotations

import os
import re
import stat
from typing import Final

import msgspec

# A flag of a process that is ending (include/linux/sched.h). Its variables, its namespaces and its
# control groups are given up one after the other, while it is no corpse yet.
_PF_EXITING: Final = 0x4

# Ancestors that are looked at. A deeper chain is made to tire out who looks, and does not end with
# the first process of all, which tells.
DEPTH_LIMIT: Final = 1_000


# Where programs lie that the system's packages brought.
_OF_THE_SYSTEM: Final = ("/usr/", "/bin/", "/opt/", "/snap/", "/nix/store/", "/gnu/store/")


class Mark(msgspec.Struct, frozen=True):
    """What tells a process from a later one of the same number: when it began, in clock ticks."""

    pid: int
    started: int


class Process(msgspec.Struct, frozen=True, kw_only=True):
    """One process, of /proc/PID/stat (proc_pid_stat(5))."""

    pid: int
    name: str  # 15 bytes at most, and the process may choose it
    parent: int
    group: int
    session: int
    terminal: int  # 0: it has none
    foreground: int  # the process group its terminal listens to
    started: int

    @property
    def mark(self) -> Mark:
        """What names this process for ever."""
        return Mark(self.pid, self.started)

    @property
    def leads_session(self) -> bool:
        """Whether it began its session, as a terminal's shell does."""
        return self.session == self.pid


def process(pid: int) -> Process | None:
    """A process as it is now; None if there is none, if it is ending or only its corpse."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            text = file.read(4096)
    except OSError:
        return None
    begin, end = text.find(b"("), text.rfind(b")")
    fields = text[end + 2 :].split()
    if fields[0] in {b"Z", b"X"} or int(fields[6]) & _PF_EXITING:
        return None
    return Process(
        pid=pid,
        name=text[begin + 1 : end].decode(errors="replace"),
        parent=int(fields[1]),
        group=int(fields[2]),
        session=int(fields[3]),
        terminal=int(fields[4]),
        foreground=int(fields[5]),
        started=int(fields[19]),
    )


def ancestors(pid: int) -> list[Process]:
    """The parents of a process, nearest first, up to the first of all."""
    found: list[Process] = []
    current = process(pid)
    while current is not None and current.parent > 0 and len(found) < DEPTH_LIMIT:
        current = process(current.parent)
        if current is not None:
            found.append(current)
    return found


def user_of(pid: int) -> int | None:
    """Who a process is (its real user id); None where that may not be seen."""
    try:
        with open(f"/proc/{pid}/status", "rb") as file:
            found = re.search(rb"^Uid:\t([0-9]+)", file.read(64 * 1024), re.MULTILINE)
    except OSError:
        return None
    return None if found is None else int(found[1])


def program_of(pid: int) -> str:
    """The name of the program a process runs, where it is the system's; else empty.

    A process chooses its own name, but not the file it runs: who is not root puts none there.
    """
    link = f"/proc/{pid}/exe"
    try:
        path, status = os.readlink(link), os.stat(link)
    except OSError:
        return ""
    is_ours_to_write = status.st_uid != 0 or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    if is_ours_to_write or not path.startswith(_OF_THE_SYSTEM):
        return ""
    return os.path.basename(path.removesuffix(" (deleted)"))  # it was upgraded meanwhile


def namespaces(pid: int) -> tuple[int, ...] | None:
    """What a process is inside of (user, pid, mount); None where that may not be seen."""
    try:
        return tuple(os.stat(f"/proc/{pid}/ns/{kind}").st_ino for kind in ("user", "pid", "mnt"))
    except OSError:
        return None


def control_group(pid: int) -> str:
    """The control groups of a process (cgroups(7)), empty where they may not be seen.

    A service manager gives each program of a desktop and each login one of its own, and whoever
    leaves its parent stays in it.
    """
    try:
        with open(f"/proc/{pid}/cgroup", "rb") as file:
            return file.read(64 * 1024).decode(errors="replace")
    except OSError:
        return ""


def environ_names(pid: int) -> frozenset[str]:
    """The names of the variables a process was started with; empty where they may not be seen."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            content = file.read(1024 * 1024)
    except OSError:
        return frozenset()
    return frozenset(
        part.partition(b"=")[0].decode(errors="replace") for part in content.split(b"\0")
    )
