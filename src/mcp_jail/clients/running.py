"""Clients that run right now, and would write their own copy of a file over ours."""

from __future__ import annotations

import os
from collections.abc import Iterable

import msgspec

from mcp_jail.clients.catalogue import Row


class Running(msgspec.Struct, frozen=True):
    """A process of a client."""

    program: str
    pid: int


def running(rows: Iterable[Row]) -> list[Running]:
    """Processes of this user whose program is one of these clients'."""
    names = {name for row in rows if row.rewrites for name in row.processes}
    found = [] if not names else [(_program(pid, names), pid) for pid in _own_processes()]
    return [Running(program, pid) for program, pid in found if program]


def _own_processes() -> list[int]:
    pids = []
    try:
        entries = os.listdir("/proc")
    except FileNotFoundError:  # macOS
        return []
    for entry in entries:
        try:
            if entry.isdecimal() and os.stat(f"/proc/{entry}").st_uid == os.geteuid():
                pids.append(int(entry))
        except FileNotFoundError:
            continue
    return sorted(pids)


def _program(pid: int, names: set[str]) -> str:
    """The name a process was started under; a script counts by its own name, not by node's."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            words = os.fsdecode(file.read(4096)).split("\0")
    except OSError:
        return ""
    shown = {os.path.basename(word) for word in words[:2]}
    return next(iter(sorted(shown & names)), "")
