"""The looks from outside tell a jail from a process that is none."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import msgspec
import pytest

from mcp_jail.core.spec import Mount, MountKind
from mcp_jail.errors import JailBuildError
from mcp_jail.sandbox.outside import (
    NAMESPACES,
    ServerStatus,
    check_identities,
    check_mounts,
    check_namespaces,
    children,
    end_holders,
    inside_number,
    read_status,
)


def test_a_process_of_the_host_shares_its_namespaces() -> None:
    with pytest.raises(JailBuildError, match="shares the host's"):
        check_namespaces(os.getpid())


def test_a_process_of_the_host_is_not_held() -> None:
    status = read_status(os.getpid())
    assert status is not None
    assert not status.held


HELD = ServerStatus(pid=2, no_new_privs=True, seccomp=2, effective=0, bounding=0)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("no_new_privs", False),
        ("seccomp", 0),
        ("seccomp", 1),
        ("seccomp", -1),  # a kernel that says nothing of it
        ("effective", 1),
        ("bounding", 1 << 40),
        ("effective", -1),
        ("bounding", -1),
    ],
)
def test_a_server_is_held_by_all_of_it_or_not_at_all(field: str, value: int) -> None:
    assert HELD.held
    assert not msgspec.structs.replace(HELD, **{field: value}).held


def test_a_process_has_the_status_it_has() -> None:
    words = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    assert read_status(os.getpid()) == ServerStatus(
        pid=os.getpid(),
        no_new_privs=words["NoNewPrivs"].strip() == "1",
        seccomp=int(words["Seccomp"]),
        effective=int(words["CapEff"], 16),
        bounding=int(words["CapBnd"], 16),
    )


@pytest.mark.parametrize("name", ["user", "mnt", "pid", "ipc", "uts", "net"])
def test_each_kind_of_namespace_is_compared(name: str) -> None:
    assert name in NAMESPACES


def test_a_process_that_is_gone_has_no_status() -> None:
    assert read_status(2**22 + 1) is None
    assert inside_number(2**22 + 1) is None
    assert children(2**22 + 1) == []


def test_children_are_found() -> None:
    with subprocess.Popen(["sleep", "1000"]) as child:
        assert child.pid in children(os.getpid())
        assert inside_number(child.pid) == child.pid
        child.kill()


def test_who_holds_a_pipe_of_ours_is_ended_and_nobody_else() -> None:
    reading, writing = os.pipe()
    with (
        subprocess.Popen(["sleep", "1000"], pass_fds=[writing]) as holder,
        subprocess.Popen(["sleep", "1000"]) as other,
    ):
        end_holders(reading)
        assert holder.wait() == -9
        assert other.poll() is None
        other.kill()
    for fd in (reading, writing):
        os.close(fd)


def test_a_bind_that_is_another_is_refused() -> None:
    def bind(identity: tuple[int, int] | None, place: str = "/usr") -> tuple[Mount, ...]:
        kind = MountKind.BIND_READ_ONLY
        return (Mount(kind=kind, destination=place, source="/usr", why="t", identity=identity),)

    status = os.stat("/usr")
    check_identities(os.getpid(), bind((status.st_dev, status.st_ino)))
    check_identities(os.getpid(), bind(None))
    with pytest.raises(JailBuildError, match="was replaced"):
        check_identities(os.getpid(), bind((status.st_dev, status.st_ino + 1)))
    with pytest.raises(JailBuildError, match="is not in the jail"):
        check_identities(os.getpid(), bind((1, 1), "/nothing/here"))


def test_a_bind_is_not_looked_for_behind_a_link(tmp_path: Path) -> None:
    (tmp_path / "real/share").mkdir(parents=True)
    (tmp_path / "link").symlink_to("real")
    status = os.stat(tmp_path / "real/share")
    for place in ("real/share", "link/share"):
        mount = Mount(
            kind=MountKind.BIND_READ_ONLY,
            destination=str(tmp_path / place),
            source="/x",
            why="t",
            identity=(status.st_dev, status.st_ino),
        )
        if place == "real/share":
            check_identities(os.getpid(), (mount,))
        else:
            with pytest.raises(JailBuildError, match="is not in the jail"):
                check_identities(os.getpid(), (mount,))


def test_the_hosts_own_mounts_are_no_jail() -> None:
    with pytest.raises(JailBuildError, match="not as it was planned"):
        check_mounts(os.getpid(), ())
