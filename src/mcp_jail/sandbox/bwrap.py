"""A plan as bubblewrap's options. Pure: the launcher hands them over through a descriptor.

All options go through `--args FD`, so that neither the environment nor a secret stands on a command
line that other users can read. The starter and the command follow `--` on the command line
(CVE-2024-32462: a command that begins with `--` is not an option).
"""

from __future__ import annotations

from typing import Final, assert_never

from mcp_jail.core.spec import Mount, MountKind, Plan, Value
from mcp_jail.sandbox.starter import PLACE

# What holds whatever the policy says.
WALLS: Final = (
    # Named, although bwrap would imply it for an ordinary user: for root it does not, and 0.8.0
    # refuses --disable-userns without it.
    "--unshare-user",
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-net",
    "--unshare-cgroup-try",
    "--disable-userns",
    "--die-with-parent",
    "--new-session",
)


# Left out where the policy gives the jail the host's network.
NETWORK_WALL: Final = "--unshare-net"


class Descriptors(Value, frozen=True):
    """The numbers, in the child, of what bwrap reads beside the server's stdio.

    `starter` holds the program of `starter`; `data` has one number for each `MountKind.DATA` of the
    plan, in the plan's order.
    """

    seccomp: int
    block: int
    starter: int
    data: tuple[int, ...]


def arguments(plan: Plan, fds: Descriptors) -> list[str]:
    """Every option of the jail, in order, without the command."""
    return [
        *(wall for wall in WALLS if wall != NETWORK_WALL or not plan.host_network),
        *("--cap-drop", "ALL"),
        *("--uid", str(plan.uid), "--gid", str(plan.gid)),
        *("--hostname", plan.hostname),
        *_mounts(plan.mounts, fds),
        *_environment(plan.env),
        *("--chdir", plan.cwd),
        *("--seccomp", str(fds.seccomp)),
        *("--block-fd", str(fds.block)),
    ]


def encode(options: list[str]) -> bytes:
    """The options as `--args` reads them: each ended by a NUL. ValueError for a NUL inside one."""
    if any("\0" in option for option in options):
        raise ValueError("an option holds a NUL")
    return b"".join(option.encode("utf-8", "surrogateescape") + b"\0" for option in options)


def _mounts(mounts: tuple[Mount, ...], fds: Descriptors) -> list[str]:
    options: list[str] = []
    numbers = iter(fds.data)
    for mount in mounts:
        number = next(numbers) if mount.kind is MountKind.DATA else -1
        options += _mount(mount, number)
    options += ["--perms", "0555", "--file", str(fds.starter), PLACE]
    # Closed last and the deepest first, since something may be put into a masked directory.
    closing = [m.destination for m in mounts if m.kind is MountKind.TMPFS_READ_ONLY]
    for destination in sorted(closing, key=lambda path: path.count("/"), reverse=True):
        options += ["--remount-ro", destination]
    return [*options, "--remount-ro", "/dev", "--remount-ro", "/"]


def _mount(mount: Mount, number: int) -> list[str]:  # one arm for each kind
    source, destination = mount.source or "", mount.destination
    match mount.kind:
        case MountKind.BIND_READ_ONLY:
            return ["--ro-bind", source, destination]
        case MountKind.BIND_READ_WRITE:
            return ["--bind", source, destination]
        case MountKind.TMPFS:
            size = [] if mount.size is None else ["--size", str(mount.size)]
            return ["--perms", f"{mount.mode:04o}", *size, "--tmpfs", destination]
        case MountKind.TMPFS_READ_ONLY:
            return ["--perms", "0555", "--tmpfs", destination]
        case MountKind.PROC:
            return ["--proc", destination]
        case MountKind.DEV:
            return ["--dev", destination]
        case MountKind.DATA:
            return ["--perms", "0444", "--file", str(number), destination]
        case MountKind.SYMLINK:
            return ["--symlink", source, destination]
        case _:
            assert_never(mount.kind)


def _environment(env: dict[str, str]) -> list[str]:
    return ["--clearenv", *(word for name in env for word in ("--setenv", name, env[name]))]
