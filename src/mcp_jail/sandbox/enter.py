"""A short errand of ours inside a jail's namespaces, while nothing of the jail runs it.

A fork enters and is gone afterwards; what it finds out comes back as bytes. The user namespace is
asked of the network namespace (NS_GET_USERNS, ioctl_ns(2)) and not read from /proc/PID/ns/user:
`--disable-userns` moves the process into a nested one, in which nobody outside has rights over the
other namespaces.
"""

from __future__ import annotations

import fcntl
import os
import signal
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Final, NoReturn

from mcp_jail.errors import JailBuildError


class Namespace(Enum):
    """A namespace to enter: its name under /proc/PID/ns and its CLONE_NEW* flag."""

    MOUNT = ("mnt", 0x00020000)
    CGROUP = ("cgroup", 0x02000000)
    UTS = ("uts", 0x04000000)
    IPC = ("ipc", 0x08000000)
    PID = ("pid", 0x20000000)
    NETWORK = ("net", 0x40000000)


_CLONE_NEWUSER: Final = 0x10000000
_NS_GET_USERNS: Final = 0xB701
_PR_SET_PDEATHSIG: Final = 1
_DONE, _FAILED = b"+", b"-"


def inside(pid: int, namespaces: Iterable[Namespace], action: Callable[[], bytes]) -> bytes:
    """Run `action` in a fork that has entered these namespaces of a process; what it returns.

    With `Namespace.PID` the action runs in a second fork, since only children live in an entered
    PID namespace (setns(2)). JailBuildError when the entering or the action fails.
    """
    guard = os.getpid()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _errand(guard, pid, tuple(namespaces), action, writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        answer = file.read()
    os.waitpid(child, 0)
    if not answer.startswith(_DONE):
        cause = answer[1:].decode(errors="replace") or "the errand was killed"
        raise JailBuildError(f"cannot look inside the jail: {cause}")
    return answer[1:]


def _errand(
    guard: int,
    pid: int,
    namespaces: tuple[Namespace, ...],
    action: Callable[[], bytes],
    writing: int,
) -> NoReturn:
    try:
        _enter(guard, pid, namespaces)
        if Namespace.PID in namespaces and (child := os.fork()):
            os.waitpid(child, 0)
            os._exit(0)
        answer = _DONE + action()
    except BaseException as error:  # noqa: BLE001  # whatever it is, it is told and not survived
        answer = _FAILED + f"{type(error).__name__}: {error}".encode()
    try:
        with os.fdopen(writing, "wb") as file:
            file.write(answer)
    finally:
        os._exit(0)


def _enter(guard: int, pid: int, namespaces: tuple[Namespace, ...]) -> None:
    """Everything is opened first: once inside, /proc may be another one."""
    import ctypes  # noqa: PLC0415  # 4 ms, only where an errand is run

    libc = ctypes.CDLL(None, use_errno=True)
    # Ends this fork with the guard. Relies on nothing newer than Linux 2.2.
    libc.prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != guard:
        os._exit(1)
    opened = [
        (os.open(f"/proc/{pid}/ns/{n.value[0]}", os.O_RDONLY), n.value[1]) for n in namespaces
    ]
    network = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
    user = fcntl.ioctl(network, _NS_GET_USERNS)
    for fd, flag in [(user, _CLONE_NEWUSER), *opened]:
        # setns(2), Linux >= 3.8. We own the user namespace, so entering it gives every right in it
        # and none outside. A kernel that refuses gives an error here, and the jail is not started.
        if libc.setns(fd, flag):
            number = ctypes.get_errno()
            raise OSError(number, f"setns: {os.strerror(number)}")
