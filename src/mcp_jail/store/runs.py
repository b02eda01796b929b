"""The registry of running jails: one small file each, which the keeper removes.

A file whose guard is gone is a leftover; listing removes it. A process id alone does not say that:
it may be another process by now, so the guard's start time and the boot stand beside it.
"""

from __future__ import annotations

import os
from contextlib import suppress

import msgspec

from mcp_jail.errors import JailError
from mcp_jail.store.files import FileError, create_private, make_private_folder, read_private
from mcp_jail.store.places import Places

MAX_RUN_BYTES = 64 * 1024
SUFFIX = ".json"


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """A running jail."""

    v: int = 1
    run: str
    name: str
    pid: int  # of the guard
    pid_started: int  # clock ticks after boot, field 22 of /proc/PID/stat
    boot: str
    started: int  # milliseconds since 1970, UTC
    policy: str = ""  # path of its policy file
    audit: str = ""  # path of its audit file
    clients: tuple[tuple[int, int], ...] = ()  # what started it: process ids and start times


def this_run(
    *,
    run: str,
    name: str,
    started: int,
    policy: str = "",
    audit: str = "",
    clients: tuple[tuple[int, int], ...] = (),
) -> Run:
    """The record of a run whose guard is this process."""
    pid = os.getpid()
    pid_started = process_start(pid)
    if pid_started is None:
        raise JailError("this process does not find itself in /proc")
    return Run(
        run=run,
        name=name,
        pid=pid,
        pid_started=pid_started,
        boot=_boot(),
        started=started,
        policy=policy,
        audit=audit,
        clients=clients,
    )


def register(places: Places, run: Run) -> None:
    """Make a run's file; JailError if there is one of the same id."""
    make_private_folder(places.runtime)
    if not create_private(places.run(run.run), msgspec.json.encode(run), durable=False):
        raise JailError(f"there is a run '{run.run}' already")


def unregister(places: Places, run: str) -> None:
    """Remove a run's file and socket; it does not matter if they are gone."""
    for path in (places.run(run), places.socket(run)):
        with suppress(FileNotFoundError):
            os.unlink(path)


def running(places: Places) -> list[Run]:
    """The jails that run now, oldest first; removes what dead ones left."""
    try:
        files = os.listdir(places.runtime)
    except FileNotFoundError:
        return []
    runs: list[Run] = []
    for file in files:
        run = _read(places, file[: -len(SUFFIX)]) if file.endswith(SUFFIX) else None
        if run is None:
            continue
        if run.boot == _boot() and process_start(run.pid) == run.pid_started:
            runs.append(run)
        else:
            unregister(places, run.run)
    return sorted(runs, key=lambda run: (run.started, run.run))


def process_start(pid: int) -> int | None:
    """When a process began, in clock ticks after boot; None if there is none or only its corpse."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read(4096).rpartition(b")")[2].split()
    except OSError:
        return None
    state, started = fields[0], int(fields[19])
    return None if state in (b"Z", b"X") else started


def _read(places: Places, run: str) -> Run | None:
    """A run's record; None for a file that is not one (it is left alone)."""
    try:
        found = msgspec.json.decode(read_private(places.run(run), limit=MAX_RUN_BYTES), type=Run)
    except (FileNotFoundError, FileError, msgspec.MsgspecError, UnicodeDecodeError):
        return None
    return found if found.run == run and found.v == 1 else None


def _boot() -> str:
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return file.read().strip()
