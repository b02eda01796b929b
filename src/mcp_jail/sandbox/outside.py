"""What can be seen of a jail from outside: the kernel's word, without entering."""

from __future__ import annotations

import contextlib
import os
import re
import signal
from typing import Final

from mcp_jail.core.spec import Mount, Value
from mcp_jail.errors import JailBuildError

NAMESPACES: Final = ("user", "mnt", "pid", "ipc", "uts", "net")
FILTER_MODE: Final = 2  # SECCOMP_MODE_FILTER


class ServerStatus(Value, frozen=True):
    """What /proc/PID/status says of the running server."""

    pid: int
    no_new_privs: bool
    seccomp: int  # 2 = a filter is on
    effective: int  # capability sets as bit masks
    bounding: int

    @property
    def held(self) -> bool:
        """No new privileges, a filter on, not one capability."""
        return (
            self.no_new_privs
            and self.seccomp == FILTER_MODE
            and not (self.effective | self.bounding)
        )


def read_status(pid: int) -> ServerStatus | None:
    """What the kernel says of a process, None when it is gone."""
    try:
        with open(f"/proc/{pid}/status", "rb") as file:
            text = file.read()
    except OSError:
        return None

    def number(name: bytes, base: int) -> int:
        found = re.search(rb"^" + name + rb":\s*([0-9a-fA-F]+)", text, re.MULTILINE)
        return int(found[1], base) if found else -1

    return ServerStatus(
        pid=pid,
        no_new_privs=number(b"NoNewPrivs", 10) == 1,
        seccomp=number(b"Seccomp", 10),
        effective=number(b"CapEff", 16),
        bounding=number(b"CapBnd", 16),
    )


def children(parent: int) -> list[int]:
    """The host's numbers of a process's children, by the kernel's list or by asking everyone."""
    try:
        with open(f"/proc/{parent}/task/{parent}/children", "rb") as file:
            return [int(number) for number in file.read().split()]
    except OSError:  # a kernel without CONFIG_PROC_CHILDREN, or a process that is gone
        return [int(name) for name in os.listdir("/proc") if _parent(name) == parent]


def _parent(name: str) -> int | None:
    if not name.isdigit():
        return None
    try:
        with open(f"/proc/{name}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[1])
    except OSError:
        return None


def end_holders(pipe: int) -> None:
    """SIGKILL every other process that has a pipe of ours open, as far as we may look."""
    name = os.readlink(f"/proc/self/fd/{pipe}")
    for number in filter(str.isdigit, os.listdir("/proc")):
        if int(number) == os.getpid() or not _holds(number, name):
            continue
        try:
            pidfd = os.pidfd_open(int(number))
        except ProcessLookupError:
            continue
        if _holds(number, name):  # asked again, since the number cannot change hands any more
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(pidfd, signal.SIGKILL)
        os.close(pidfd)


def _holds(number: str, name: str) -> bool:
    try:
        fds = os.listdir(f"/proc/{number}/fd")
        return any(os.readlink(f"/proc/{number}/fd/{fd}") == name for fd in fds)
    except OSError:  # gone meanwhile, or another user's
        return False


def inside_number(pid: int) -> int | None:
    """The process's number in its own PID namespace."""
    try:
        with open(f"/proc/{pid}/status", "rb") as file:
            found = re.search(rb"^NSpid:.*?(\d+)$", file.read(), re.MULTILINE)
    except OSError:
        return None
    return int(found[1]) if found else None


def check_namespaces(pid: int) -> None:
    """Refuse a jail that shares a namespace with us."""
    for name in NAMESPACES:
        ours, theirs = os.stat(f"/proc/self/ns/{name}"), os.stat(f"/proc/{pid}/ns/{name}")
        if ours.st_ino == theirs.st_ino:
            raise JailBuildError(f"the jail shares the host's '{name}' namespace")


def check_interfaces(pid: int) -> None:
    """Refuse a network with more than lo. /proc/PID/net is that process's own: no entering."""
    with open(f"/proc/{pid}/net/dev", encoding="ascii", errors="replace") as file:
        names = [line.partition(":")[0].strip() for line in file.readlines()[2:]]
    if names != ["lo"]:
        raise JailBuildError(f"the jail's network has interfaces beside lo: {', '.join(names)}")


def check_binds(pid: int, mounts: tuple[Mount, ...]) -> None:
    """Refuse a bind that is not what was judged: somebody swapped a directory in between."""
    for mount in mounts:
        if mount.identity is None:
            continue
        try:
            seen = os.stat(f"/proc/{pid}/root{mount.destination}", follow_symlinks=False)
        except OSError as error:
            raise JailBuildError(f"'{mount.destination}' is not in the jail: {error}") from error
        if (seen.st_dev, seen.st_ino) != mount.identity:
            raise JailBuildError(
                f"'{mount.destination}' was replaced while the jail was being built"
            )
