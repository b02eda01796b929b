"""What a process may see and use (`JailSpec`), and what that becomes on this machine (`Plan`).

A spec speaks in no operating system's terms. A plan is what `launch` executes and `show` prints:
one value for both, so that what is shown is what is done.
"""

from __future__ import annotations

from enum import Enum

import msgspec


class Value(msgspec.Struct, frozen=True, kw_only=True):
    """A frozen value of the jail's vocabulary."""


class Access(Enum):
    """What a server may do with a share."""

    READ_ONLY = "read only"
    READ_WRITE = "read and write"


class Share(Value, frozen=True):
    """A host path the server may see at the same path; `why` names the policy key or the reason."""

    path: str
    access: Access
    why: str


class JailSpec(Value, frozen=True):
    """All that the jail of one server is built from; paths absolute, `~` expanded, not resolved."""

    name: str
    command: tuple[str, ...]
    cwd: str | None
    shares: tuple[Share, ...]
    env: dict[str, str]
    secrets: dict[str, str] = {}  # variables whose values are fetched at the start: where from
    keep_home: str | None = None  # host directory that becomes HOME; None = a fresh tmpfs
    private_tmp: bool = True
    host_network: bool = False  # the jail has the host's network, and all that listens on it
    door: int | None = None  # port of the jail's own loopback at which a proxy of ours is spoken to
    is_alone: bool = False  # it may start no process beside the one it is


class MountKind(Enum):
    """What is put at a place of the jail's file tree, in the words `show` uses."""

    BIND_READ_ONLY = "read only"
    BIND_READ_WRITE = "read and write"
    TMPFS = "private"  # starts empty, gone with the jail, the server may write
    TMPFS_READ_ONLY = "masked"  # empty and read only
    PROC = "proc"
    DEV = "dev"
    DATA = "ours"  # a file whose content we give
    SYMLINK = "link"


class Mount(Value, frozen=True):
    """One thing put into the jail's file tree, in the order it is put there."""

    kind: MountKind
    destination: str
    why: str
    source: str | None = None  # host path of a bind, target of a symlink
    data: bytes | None = None  # content of DATA
    size: int | None = None  # bytes a TMPFS may hold
    mode: int = 0o755  # permissions of a TMPFS
    identity: tuple[int, int] | None = None  # device and inode a bind was judged by


class Gap(Value, frozen=True):
    """A promise of the policy that this machine cannot keep; a plan with one is not started."""

    promise: str
    cause: str
    cure: str


class Plan(Value, frozen=True):
    """A jail ready to be started: every mount with its reason, the environment, the command."""

    name: str
    bwrap: str
    mounts: tuple[Mount, ...]
    env: dict[str, str]
    command: tuple[str, ...]
    cwd: str
    uid: int
    gid: int
    hostname: str
    seccomp: bytes
    gaps: tuple[Gap, ...]
    secrets: dict[str, str] = {}  # variables of whom `launch` is given the values: where from
    interpreters: tuple[str, ...] = ()  # those that PATH chose for what the command names
    listening: tuple[str, ...] = ()  # socket files in shares; what listens there can be spoken to
    host_network: bool = False
    door: int | None = None
