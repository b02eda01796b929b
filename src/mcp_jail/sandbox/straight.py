"""Whether a path is opened without following a single link: one question to the kernel."""

from __future__ import annotations

import errno
import os
import stat
import struct
from collections.abc import Callable
from functools import cache
from typing import Final, Protocol

# openat2(2), the same number on every architecture, since Linux 5.6.
_OPENAT2: Final = 437
_RESOLVE_NO_SYMLINKS: Final = 0x04
_AT_FDCWD: Final = -100
# Without O_NOFOLLOW: with it, a link at the end is opened itself instead of being refused.
_HOW: Final = struct.pack("QQQ", os.O_PATH | os.O_CLOEXEC, 0, _RESOLVE_NO_SYMLINKS)


class _Syscall(Protocol):
    def __call__(self, number: int, at: int, path: bytes, how: bytes, size: int) -> int: ...


def is_straight(path: str) -> bool:
    """Whether no component of an absolute path is a link; FileNotFoundError where one is missing.

    False too where the kernel does not let us look.
    """
    number = _error_of_opening(path)
    if number == errno.ENOENT:
        raise FileNotFoundError(path)
    if number in _NOT_KNOWN:
        return is_called_so(path)
    return number == 0


def is_straight_below(path: str, top: str) -> bool:
    """Whether an absolute path, or what exists of it at or below `top`, has no link on it."""
    while path.startswith(top):
        number = _error_of_opening(path)
        if number in _NOT_KNOWN:
            try:
                return is_called_so(path)
            except FileNotFoundError:
                number = errno.ENOENT
        if number != errno.ENOENT:
            return number == 0
        path = path[: path.rindex("/")]
    return False


def is_called_so(path: str) -> bool:
    """The same without openat2: what a descriptor opened by a path says it is called.

    That is the path itself exactly when nothing on it was a link (proc_pid_fd(5)).
    """
    try:
        descriptor = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        raise
    except OSError:
        return False
    try:
        is_link = stat.S_ISLNK(os.fstat(descriptor).st_mode)
        return not is_link and os.readlink(f"/proc/self/fd/{descriptor}") == path
    finally:
        os.close(descriptor)


# What openat2 answers where the kernel lacks it; a seccomp filter around us may say EPERM.
_NOT_KNOWN: Final = (errno.ENOSYS, errno.EPERM)


def _error_of_opening(path: str) -> int:
    """The errno of opening a path without links on it; 0 where there is no link."""
    calls = _calls()
    if calls is None:
        return errno.ENOSYS
    syscall, last_errno = calls
    descriptor = syscall(_OPENAT2, _AT_FDCWD, os.fsencode(path), _HOW, len(_HOW))
    if descriptor < 0:
        return last_errno()
    os.close(descriptor)
    return 0


@cache
def _calls() -> tuple[_Syscall, Callable[[], int]] | None:
    """The C library's syscall(2) and its errno; None where it cannot be loaded."""
    try:
        import ctypes  # noqa: PLC0415  # 4 ms that only a path constraint pays

        # Relies on syscall(2) of the C library; a kernel before 5.6 answers ENOSYS, and then
        # `is_called_so` is asked instead.
        function = ctypes.CDLL(None, use_errno=True).syscall
        function.restype = ctypes.c_long
        function.argtypes = (
            ctypes.c_long,
            ctypes.c_int,
            ctypes.c_char_p,
            ctypes.c_char_p,
            ctypes.c_size_t,
        )
    except (ImportError, OSError, AttributeError):
        return None
    return function, ctypes.get_errno
