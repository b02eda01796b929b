"""The relay closes itself in: it reads what a hostile server sends, and dials for it.

Landlock leaves it what resolving a name reads and nothing to write or execute; a system-call filter
takes away what it never calls, and another one UNIX sockets, where names are resolved without. None
can be put off again, and processes forked later inherit them. A kernel without one of them is told
as such: the walls around the server do not rest on them.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import struct
from typing import Final

from mcp_jail.core.rules.hosts import is_address
from mcp_jail.gate.allow import Allow
from mcp_jail.gate.name_services import NSSWITCH, needs_unix_sockets
from mcp_jail.gate.process import ClosedIn

# What getaddrinfo(3) reads: its configuration, the modules that nsswitch.conf names, and sockets of
# resolvers (nscd, systemd-resolved, sssd). Directories, since such files are replaced as they lie.
READABLE: Final = (
    *("/etc", "/usr", "/lib", "/lib64", "/run", "/var/run", "/var/lib/sss", "/dev"),
    *("/nix/store", "/gnu/store"),
)

# The same, where a link leads elsewhere (WSL2 has its resolv.conf under /mnt).
READABLE_FILES: Final = ("/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf")

# Numbers of the generic table, the same on every architecture.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_GET_VERSION: Final = 1
_PATH_BENEATH: Final = 1
_READ_FILE, _READ_DIRECTORY = 1 << 2, 1 << 3
# File rights that a version of Landlock knows, as a bit mask; all are handled.
_FILE_RIGHTS: Final = {1: 0x1FFF, 2: 0x3FFF, 3: 0x7FFF, 4: 0x7FFF, 5: 0xFFFF}
_BIND_TCP: Final = 1
_WITH_PORTS: Final = 4
_SCOPES: Final = 3  # abstract sockets, and signals to others
_WITH_SCOPES: Final = 6

_SET_NO_NEW_PRIVS, _SET_SECCOMP, _SECCOMP_FILTER = 38, 22, 2


def must_keep_unix_sockets(allow: Allow) -> bool:
    """Whether names of a policy are resolved here by a daemon behind a UNIX socket alone."""
    names = {rule.host for rule in allow.openings}
    if allow.upstream is not None:
        names.add(allow.upstream.host)
    try:
        with open(NSSWITCH, encoding="utf-8", errors="replace") as file:
            text = file.read()
    except OSError:
        text = ""
    return needs_unix_sockets(text, {name for name in names if not is_address(name)})


def close_in(seccomp: bytes, no_unix: bytes = b"") -> ClosedIn:
    """Close this process in, for ever; both are filters in classic BPF (empty: none).

    The second takes UNIX sockets away, which Landlock does not hold: any program's could be asked.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    # Relies on Linux >= 3.5; without it neither of the others is taken, and that is told.
    libc.prctl(_SET_NO_NEW_PRIVS, ctypes.c_ulong(1), 0, 0, 0)
    return ClosedIn(
        landlock=_landlock(libc), seccomp=_filter(libc, seccomp), no_unix=_filter(libc, no_unix)
    )


def _landlock(libc: ctypes.CDLL) -> int:
    version: int = libc.syscall(_CREATE_RULESET, None, 0, _GET_VERSION)
    if version < 1:  # a kernel before 5.13, or with Landlock switched off
        return 0
    rights = _FILE_RIGHTS[min(version, max(_FILE_RIGHTS))]
    # struct landlock_ruleset_attr; each of its three fields came with a version.
    fields = [rights]
    if version >= _WITH_PORTS:
        fields.append(_BIND_TCP)
    if version >= _WITH_SCOPES:
        fields.append(_SCOPES)
    attributes = struct.pack(f"={len(fields)}Q", *fields)
    size = ctypes.c_size_t(len(attributes))
    ruleset = libc.syscall(_CREATE_RULESET, attributes, size, 0)
    if ruleset < 0:
        return 0
    try:
        for path in READABLE:
            _allow(libc, ruleset, path, _READ_FILE | _READ_DIRECTORY)
        for path in READABLE_FILES:
            _allow(libc, ruleset, path, _READ_FILE)
        return 0 if libc.syscall(_RESTRICT_SELF, ruleset, 0) else version
    finally:
        os.close(ruleset)


def _allow(libc: ctypes.CDLL, ruleset: int, path: str, rights: int) -> None:
    """What is not there, or cannot be allowed, stays closed."""
    with contextlib.suppress(OSError):
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            # struct landlock_path_beneath_attr, packed
            rule = struct.pack("=Qi", rights, fd)
            libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, rule, 0)
        finally:
            os.close(fd)


def _filter(libc: ctypes.CDLL, code: bytes) -> bool:
    if not code:
        return False
    held = ctypes.create_string_buffer(code, len(code))
    # struct sock_fprog: the number of instructions, and where they are.
    program = struct.pack("HL", len(code) // 8, ctypes.addressof(held))
    return not libc.prctl(_SET_SECCOMP, ctypes.c_ulong(_SECCOMP_FILTER), program, 0, 0)
