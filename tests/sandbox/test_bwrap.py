"""A plan's options: complete, in order, and without a way to be read as something else."""

from __future__ import annotations

import pytest

from mcp_jail.core.spec import Mount, MountKind, Plan
from mcp_jail.sandbox.bwrap import Descriptors, arguments, encode

FDS = Descriptors(seccomp=4, block=5, starter=6, data=(8, 9))


def plan(*mounts: Mount, env: dict[str, str] | None = None) -> Plan:
    return Plan(
        name="t", bwrap="/usr/bin/bwrap", mounts=mounts, env=env or {}, command=("true",), cwd="/x",
        uid=7, gid=8, hostname="jail", seccomp=b"", gaps=(),
    )  # fmt: skip


def mount(kind: MountKind, destination: str, **more: object) -> Mount:
    return Mount(kind=kind, destination=destination, why="test", **more)  # type: ignore[arg-type]


# Said here again, so that a wall that is taken away is missed.
EXPECTED_WALLS = """--unshare-user --unshare-pid --unshare-ipc --unshare-uts --unshare-net
--unshare-cgroup-try --disable-userns --die-with-parent --new-session""".split()


def test_every_wall_is_there_whatever_the_plan() -> None:
    options = arguments(plan(), FDS)
    assert options[: len(EXPECTED_WALLS)] == EXPECTED_WALLS
    for pair in (["--cap-drop", "ALL"], ["--seccomp", "4"], ["--hostname", "jail"]):
        at = options.index(pair[0])
        assert options[at : at + 2] == pair
    assert "--clearenv" in options
    assert options[-6:] == "--chdir /x --seccomp 4 --block-fd 5".split()
    assert options[options.index("--uid") :][:4] == ["--uid", "7", "--gid", "8"]


def test_mounts_are_made_in_the_order_of_the_plan() -> None:
    options = arguments(
        plan(
            mount(MountKind.TMPFS, "/home", size=5, mode=0o700),
            mount(MountKind.BIND_READ_ONLY, "/home/a", source="/src/a"),
            mount(MountKind.BIND_READ_WRITE, "/home/b", source="/src/b"),
            mount(MountKind.DATA, "/etc/one", data=b"1"),
            mount(MountKind.SYMLINK, "/bin", source="usr/bin"),
            mount(MountKind.DATA, "/etc/two", data=b"2"),
            mount(MountKind.PROC, "/proc"),
            mount(MountKind.DEV, "/dev"),
        ),
        FDS,
    )
    start = options.index("--perms")
    expected = """--perms 0700 --size 5 --tmpfs /home --ro-bind /src/a /home/a --bind /src/b /home/b
    --perms 0444 --file 8 /etc/one --symlink usr/bin /bin --perms 0444 --file 9 /etc/two
    --proc /proc --dev /dev --perms 0555 --file 6 /.starter --remount-ro /dev --remount-ro /"""
    assert options[start : start + len(expected.split())] == expected.split()


def test_masks_are_closed_after_everything_is_mounted_and_the_deepest_first() -> None:
    options = arguments(
        plan(
            mount(MountKind.TMPFS_READ_ONLY, "/a"),
            mount(MountKind.TMPFS_READ_ONLY, "/a/b/c"),
            mount(MountKind.BIND_READ_ONLY, "/a/b", source="/a/b"),
        ),
        FDS,
    )
    closing = [options[i + 1] for i, word in enumerate(options) if word == "--remount-ro"]
    assert closing == ["/a/b/c", "/a", "/dev", "/"]
    assert options.index("--remount-ro") > options.index("--ro-bind")


def test_an_environment_is_set_by_name_and_value() -> None:
    options = arguments(plan(env={"A": "--bind", "B": "x\ny"}), FDS)
    at = options.index("--clearenv")
    assert options[at + 1 : at + 7] == ["--setenv", "A", "--bind", "--setenv", "B", "x\ny"]


def test_options_are_ended_by_a_nul_each() -> None:
    assert encode(["--a", "b c\n", "\udcff"]) == b"--a\0b c\n\0\xff\0"


def test_a_nul_inside_an_option_is_refused() -> None:
    with pytest.raises(ValueError, match="NUL"):
        encode(["a\0--bind"])
