"""Sockets that have a path: made for one user alone, and reached however long the path is.

The kernel takes 107 bytes of a socket's path (unix(7)), and a home may be deeper. So the folder is
opened, and the socket named from there.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from mcp_jail.errors import JailError

# What nobody but the user may do: connect.
_PRIVATE = 0o177


def listen(path: str, *, backlog: int) -> socket.socket:
    """A non-blocking socket that only this user can connect to, from its first moment on."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
    before = os.umask(_PRIVATE)
    try:
        with _short(path) as short:
            with suppress(FileNotFoundError):
                os.unlink(short)
            listener.bind(short)
        listener.listen(backlog)
    except OSError as error:
        listener.close()
        raise JailError(f"cannot listen at '{path}': {error.strerror or error}") from error
    finally:
        os.umask(before)
    return listener


def connect(path: str, *, timeout: float) -> socket.socket:
    """A connection to such a socket; OSError where nobody listens."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(timeout)
        with _short(path) as short:
            connection.connect(short)
    except OSError:
        connection.close()
        raise
    return connection


@contextmanager
def _short(path: str) -> Iterator[str]:
    """Another name of a path, short however deep its folder lies."""
    folder = os.open(os.path.dirname(path), os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{os.path.basename(path)}"
    finally:
        os.close(folder)
