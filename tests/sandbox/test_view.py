"""What the view says stands at a path, outside and inside a jail."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mcp_jail.core.rules.outlook import DIRECTORY, FILE, MISSING, OPAQUE, Seen, SeenKind, Space
from mcp_jail.core.rules.paths import lies_under
from mcp_jail.core.spec import Mount, MountKind, Plan
from mcp_jail.sandbox.view import View


def mount(kind: MountKind, destination: str | Path, source: str | Path | None = None) -> Mount:
    return Mount(
        kind=kind,
        destination=str(destination),
        source=None if source is None else str(source),
        why="test",
    )


def view(*mounts: Mount) -> View:
    plan = Plan(
        name="p",
        bwrap="",
        mounts=mounts,
        env={},
        command=(),
        cwd="/",
        uid=0,
        gid=0,
        hostname="",
        seccomp=b"",
        gaps=(),
    )
    return View(plan, lambda _pattern, _text: None)


@pytest.fixture
def projects(tmp_path: Path) -> Path:
    root = Path(os.path.realpath(tmp_path)) / "projects"
    (root / "sub").mkdir(parents=True)
    (root / "file").write_text("x")
    (root / "link").symlink_to("../secret")
    return root


BIND = MountKind.BIND_READ_WRITE


@pytest.mark.parametrize(
    "path", ["/proc", "/proc/self/root", "/dev/fd", "/dev", "/sys/kernel", "/proc/self/cwd"]
)
def test_trees_of_the_kernel_cannot_be_told(path: str) -> None:
    inside = view(mount(MountKind.PROC, "/proc"), mount(MountKind.DEV, "/dev"))
    for space in Space:
        assert inside.look(space, path) == OPAQUE


def test_the_host_is_asked_without_following_links(projects: Path) -> None:
    outside = view()
    assert outside.look(Space.HOST, str(projects)) == DIRECTORY
    assert outside.look(Space.HOST, f"{projects}/file") == FILE
    assert outside.look(Space.HOST, f"{projects}/none") == MISSING
    assert outside.look(Space.HOST, f"{projects}/link") == Seen(SeenKind.LINK, "../secret")
    assert outside.look(Space.HOST, "/procession-that-is-not-there") == MISSING


def test_what_cannot_be_looked_at_is_opaque(projects: Path) -> None:
    assert view().look(Space.HOST, f"{projects}/file/below") == OPAQUE
    assert view().look(Space.HOST, f"{projects}/{'x' * 300}") == OPAQUE


def test_a_private_place_is_a_directory_and_all_below_it_is_opaque(projects: Path) -> None:
    for kind in (MountKind.TMPFS, MountKind.TMPFS_READ_ONLY):
        inside = view(mount(kind, projects))
        assert inside.look(Space.JAIL, str(projects)) == DIRECTORY
        assert inside.look(Space.JAIL, f"{projects}/file") == OPAQUE


def test_what_no_mount_covers_is_opaque(projects: Path) -> None:
    inside = view(mount(BIND, projects / "sub", projects / "sub"))
    assert inside.look(Space.JAIL, f"{projects}/file") == OPAQUE
    assert inside.look(Space.JAIL, "/etc") == OPAQUE


def test_a_bind_shows_its_source(projects: Path) -> None:
    inside = view(mount(BIND, "/elsewhere/p", projects))
    assert inside.look(Space.JAIL, "/elsewhere") == DIRECTORY
    assert inside.look(Space.JAIL, "/elsewhere/p") == DIRECTORY
    assert inside.look(Space.JAIL, "/elsewhere/p/file") == FILE
    assert inside.look(Space.JAIL, "/elsewhere/p/none") == MISSING
    assert inside.look(Space.JAIL, "/elsewhere/p/link") == Seen(SeenKind.LINK, "../secret")
    assert inside.look(Space.JAIL, "/elsewhere/px") == OPAQUE


def test_a_bind_of_a_link_shows_what_the_link_led_to(projects: Path) -> None:
    (projects / "to-sub").symlink_to("sub")
    inside = view(mount(BIND, "/p", projects / "to-sub"), mount(BIND, "/f", projects / "file"))
    assert inside.look(Space.JAIL, "/p") == DIRECTORY
    assert inside.look(Space.JAIL, "/f") == FILE
    assert inside.look(Space.JAIL, "/p/none") == MISSING


def test_a_bind_whose_source_is_gone_is_opaque(projects: Path) -> None:
    assert view(mount(BIND, "/p", projects / "gone")).look(Space.JAIL, "/p") == OPAQUE


def test_a_later_mount_covers_an_earlier_one(projects: Path) -> None:
    bind, deeper = mount(BIND, "/p", projects), mount(MountKind.TMPFS, "/p/sub")
    assert view(bind, deeper).look(Space.JAIL, "/p/sub/x") == OPAQUE
    assert view(deeper, bind).look(Space.JAIL, "/p/sub") == DIRECTORY
    assert view(deeper, bind).look(Space.JAIL, "/p/sub/x") == MISSING


def test_directories_that_hold_a_mount_inside_a_private_place_are_directories() -> None:
    inside = view(mount(MountKind.TMPFS, "/home/me"), mount(BIND, "/home/me/a/b", "/usr"))
    assert inside.look(Space.JAIL, "/home/me/a") == DIRECTORY
    assert inside.look(Space.JAIL, "/home/me/a/b") == DIRECTORY
    assert inside.look(Space.JAIL, "/home/me/a/c") == OPAQUE
    covered = view(mount(BIND, "/home/me/a/b", "/usr"), mount(MountKind.TMPFS, "/home/me"))
    assert covered.look(Space.JAIL, "/home/me/a") == OPAQUE


def test_a_link_of_the_plan_is_a_link() -> None:
    inside = view(mount(MountKind.SYMLINK, "/lib", "usr/lib"))
    assert inside.look(Space.JAIL, "/lib") == Seen(SeenKind.LINK, "usr/lib")
    assert inside.look(Space.JAIL, "/lib/x") == OPAQUE


def test_a_file_of_ours_is_opaque() -> None:
    assert view(mount(MountKind.DATA, "/etc/hosts")).look(Space.JAIL, "/etc/hosts") == OPAQUE


def test_a_path_through_a_private_place_never_lies_under(projects: Path) -> None:
    inside = view(mount(MountKind.TMPFS, projects), mount(BIND, projects / "sub", projects / "sub"))
    root = (str(projects),)
    assert not lies_under(f"{projects}/file", root, None, inside)
    assert lies_under(f"{projects}/sub/new", root, None, inside)
    assert not lies_under(f"{projects}/sub/../file", root, None, inside)


def test_a_path_without_links_below_a_shared_directory_is_straight(projects: Path) -> None:
    inside = view(mount(BIND, projects, projects))
    for path in ("", "/sub", "/file", "/new", "/sub/new/deep"):
        assert inside.is_straight(f"{projects}{path}")


def test_a_path_that_is_not_the_same_in_both_trees_is_not_straight(projects: Path) -> None:
    (projects / "dangling").symlink_to("nowhere")
    (projects / "to-sub").symlink_to("sub")
    bind = mount(BIND, projects, projects)
    for path in (
        "/link",
        "/link/x",
        "/dangling",
        "/dangling/x",
        "/to-sub",
        "/to-sub/new",
        "/file/x",
    ):
        assert not view(bind).is_straight(f"{projects}{path}")
    assert not view(bind).is_straight(f"{projects}-evil")
    assert not view(bind).is_straight(str(projects.parent))
    elsewhere = mount(BIND, "/elsewhere", projects)
    assert not view(elsewhere).is_straight("/elsewhere/file")
    masked = mount(MountKind.TMPFS_READ_ONLY, projects / "sub")
    assert not view(bind, masked).is_straight(f"{projects}/sub/x")
    for over in (projects, projects.parent):
        covered = view(bind, mount(MountKind.TMPFS, over))
        assert not covered.is_straight(f"{projects}/file")
        assert not lies_under(f"{projects}/file", (str(projects),), None, covered)


def test_patterns_are_passed_on() -> None:
    assert view().fullmatch("a", "a") is None
