"""Whether a path is opened without following a single link: one question to the kernel."""

from __future__ import annotations

import errno
import os
import stat
import struct
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
    call = _syscall()
    if call is None:
        return is_called_so(path)
    descriptor = call(_OPENAT2, _AT_FDCWD, os.fsencode(path), _HOW, len(_HOW))
    if descriptor >= 0:
        os.close(descriptor)
        return True
    number = _errno()
    if number == errno.ENOENT:
        raise FileNotFoundError(path)
    # A seccomp filter around us may answer EPERM for what it does not know.
    return number in (errno.ENOSYS, errno.EPERM) and is_called_so(path)


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


@cache
def _syscall() -> _Syscall | None:
    """The C library's syscall(2), None where it cannot be loaded."""
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
    return function


def _errno() -> int:
    import ctypes  # noqa: PLC0415  # loaded by `_syscall`

    return ctypes.get_errno()
