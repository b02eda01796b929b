"""The registry of running jails: one small file each, which the keeper removes.

A file whose guard is gone is a leftover; listing removes it. A process id alone does not say that:
it may be another process by now, so the guard's start time, the boot and the PID namespace stand
beside it.
"""

from __future__ import annotations

import os
from contextlib import suppress

import msgspec

from mcp_jail.errors import JailError
from mcp_jail.store.files import (
    FileError,
    create_private,
    make_private_folder,
    names_in,
    read_private,
)
from mcp_jail.store.places import Places

MAX_RUN_BYTES = 64 * 1024
SUFFIX = ".json"
SOCKET_SUFFIX = ".sock"


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """A running jail."""

    v: int = 1
    run: str
    name: str
    pid: int  # of the guard
    pid_started: int  # clock ticks after boot, field 22 of /proc/PID/stat
    boot: str
    pid_space: int  # inode of the PID namespace that its numbers are of
    started: int  # milliseconds since 1970, UTC
    policy: str = ""  # path of its policy file
    audit: str = ""  # path of its audit file
    clients: tuple[tuple[int, int], ...] = ()  # what started it: process ids and start times
    folder: str = ""  # where its file was found; what the file says of it does not count

    @property
    def socket(self) -> str:
        """Its control socket."""
        return os.path.join(self.folder, self.run + SOCKET_SUFFIX)


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
        pid_space=_pid_space(),
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


def running(places: Places) -> list[Run]:
    """The jails that run now, oldest first; removes what dead ones left.

    In either runtime directory: a guard that was started before the session had its own, as by a
    boot's service, is in the other. One of another PID namespace, such as the host's seen from a
    container with the same home, is neither listed nor removed.
    """
    runs: list[Run] = []
    boot, pid_space = _boot(), _pid_space()
    for run in (run for folder in places.runtimes for run in _all_in(folder)):
        if run.boot == boot and run.pid_space != pid_space:
            continue
        if run.boot == boot and process_start(run.pid) == run.pid_started:
            runs.append(run)
        else:
            _remove(run)
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


def _remove(run: Run) -> None:
    for path in (os.path.join(run.folder, run.run + SUFFIX), run.socket):
        with suppress(OSError):
            os.unlink(path)


def _all_in(folder: str) -> list[Run]:
    """The records of a directory, FileError; a file that is none is left alone."""
    files = (file for file in names_in(folder) if file.endswith(SUFFIX))
    found = (_read(folder, file[: -len(SUFFIX)]) for file in files)
    return [run for run in found if run is not None]


def _read(folder: str, run: str) -> Run | None:
    path = os.path.join(folder, run + SUFFIX)
    try:
        found = msgspec.json.decode(read_private(path, limit=MAX_RUN_BYTES), type=Run)
    except (FileNotFoundError, FileError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    is_one = found.run == run and found.v == 1
    return msgspec.structs.replace(found, folder=folder) if is_one else None


def _pid_space() -> int:
    return os.stat("/proc/self/ns/pid").st_ino


def _boot() -> str:
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return file.read().strip()
