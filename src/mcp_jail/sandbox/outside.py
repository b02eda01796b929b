"""What can be seen of a jail from outside: the kernel's word, without entering."""

from __future__ import annotations

import contextlib
import os
import re
import signal
from collections.abc import Iterator
from typing import Final

from mcp_jail.core.spec import Mount, Value
from mcp_jail.errors import JailBuildError
from mcp_jail.sandbox.mountinfo import Point, differences, parse, strangers

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


def check_namespaces(pid: int, *, host_network: bool = False) -> None:
    """Refuse a jail that shares a namespace with us that it is not meant to share."""
    for name in NAMESPACES:
        if host_network and name == "net":
            continue
        ours, theirs = os.stat(f"/proc/self/ns/{name}"), os.stat(f"/proc/{pid}/ns/{name}")
        if ours.st_ino == theirs.st_ino:
            raise JailBuildError(f"the jail shares the host's '{name}' namespace")


def check_interfaces(pid: int) -> None:
    """Refuse a network with more than lo. /proc/PID/net is that process's own: no entering."""
    with open(f"/proc/{pid}/net/dev", encoding="ascii", errors="replace") as file:
        names = [line.partition(":")[0].strip() for line in file.readlines()[2:]]
    if names != ["lo"]:
        raise JailBuildError(f"the jail's network has interfaces beside lo: {', '.join(names)}")


_AGAIN: Final = "start again, unless something keeps replacing directories that are shared"


def check_mounts(pid: int, mounts: tuple[Mount, ...]) -> None:
    """Refuse a jail in which anything is mounted that was not planned, or not what was judged.

    Somebody who exchanges directories while bwrap follows paths in them has a mount land elsewhere.
    """
    points = read_mounts(pid)
    found = differences(mounts, points) or strangers(mounts, points, read_mounts(os.getpid()))
    if found:
        raise JailBuildError(f"the jail is not as it was planned: {'; '.join(found)}", hint=_AGAIN)


def read_mounts(pid: int) -> tuple[Point, ...]:
    """All that a process sees mounted."""
    with open(f"/proc/{pid}/mountinfo", "rb") as file:
        return parse(os.fsdecode(file.read()))


def check_identities(pid: int, mounts: tuple[Mount, ...]) -> None:
    """Refuse a bind that is not the very directory or file that was judged."""
    with _opened(f"/proc/{pid}/root") as root:
        for mount in mounts:
            if mount.identity is None:
                continue
            try:
                seen = _status_without_links(root, mount.destination)
            except OSError as error:
                raise JailBuildError(
                    f"'{mount.destination}' is not in the jail: {error}"
                ) from error
            if (seen.st_dev, seen.st_ino) != mount.identity:
                raise JailBuildError(
                    f"'{mount.destination}' was replaced while the jail was being built",
                    hint=_AGAIN,
                )


def _status_without_links(root: int, path: str) -> os.stat_result:
    """What stands at a path below an open directory; OSError where a link stands on the way."""
    with contextlib.ExitStack() as stack:
        here = root
        for part in filter(None, path.split("/")):
            here = stack.enter_context(_opened(part, here))  # a link is opened itself: a dead end
        return os.fstat(here)


@contextlib.contextmanager
def _opened(path: str, directory: int | None = None) -> Iterator[int]:
    flags = os.O_PATH | os.O_CLOEXEC | (os.O_NOFOLLOW if directory is not None else 0)
    fd = os.open(path, flags, dir_fd=directory)
    try:
        yield fd
    finally:
        os.close(fd)
