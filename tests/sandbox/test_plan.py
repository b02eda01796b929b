"""What is mounted where, and what the server is told."""

from __future__ import annotations

import os
from pathlib import Path

from mcp_jail.core.spec import Mount, MountKind, Plan
from mcp_jail.sandbox.protected import Ours
from mcp_jail.sandbox.system import look_at_system
from sandbox.conftest import Planner


def at(plan: Plan, place: Path | str) -> Mount | None:
    return next((m for m in plan.mounts if m.destination == str(place)), None)


def kind_at(plan: Plan, place: Path | str) -> MountKind | None:
    found = at(plan, place)
    return found.kind if found else None


def test_a_plan_shares_what_is_named_and_nothing_beside_it(home: Path, make: Planner) -> None:
    for name in ("read", "write", "other"):
        (home / name).mkdir()
    plan = make(read=(home / "read",), write=(home / "write",))
    assert kind_at(plan, home / "read") is MountKind.BIND_READ_ONLY
    assert kind_at(plan, home / "write") is MountKind.BIND_READ_WRITE
    assert kind_at(plan, home) is MountKind.TMPFS
    binds = [m for m in plan.mounts if m.source and m.source.startswith(str(home))]
    assert {m.source for m in binds} == {str(home / "read"), str(home / "write")}


def test_every_mount_says_why_it_is_there(home: Path, make: Planner) -> None:
    assert all(mount.why for mount in make().mounts)


def test_a_directory_is_mounted_before_what_lies_in_it(home: Path, make: Planner) -> None:
    (home / "a/b").mkdir(parents=True)
    (home / "a.b").mkdir()
    places = [m.destination for m in make(read=(home / "a",), write=(home / "a/b",)).mounts]
    for inner in places:
        for outer in places:
            if inner.startswith(outer + "/"):
                assert places.index(outer) < places.index(inner)


def test_the_same_spec_gives_the_same_plan(home: Path, make: Planner) -> None:
    (home / "a").mkdir()
    assert make(read=(home / "a",)) == make(read=(home / "a",))


def test_a_link_in_the_spelling_becomes_a_link_inside(
    home: Path, tmp_path: Path, make: Planner
) -> None:
    real = tmp_path / "var-home/project"
    real.mkdir(parents=True)
    (home / "link").symlink_to(tmp_path / "var-home")
    plan = make(read=(home / "link/project",))
    assert kind_at(plan, real) is MountKind.BIND_READ_ONLY
    link = at(plan, home / "link")
    assert link is not None
    assert link.kind is MountKind.SYMLINK
    assert link.source == str(tmp_path / "var-home")


def a_backup(home: Path) -> Path:
    """A copy of a home: its own credentials are known by their names there."""
    place = home / "backup"
    place.mkdir()
    (place / ".profile").write_text("")
    return place


def test_credentials_inside_a_share_are_masked(home: Path, make: Planner) -> None:
    backup = a_backup(home)
    for name in ("gh", "gcloud", "app"):
        (backup / ".config" / name).mkdir(parents=True)
    plan = make(read=(backup,))
    assert kind_at(plan, backup / ".config/gh") is MountKind.TMPFS_READ_ONLY
    assert kind_at(plan, backup / ".config/gcloud") is MountKind.TMPFS_READ_ONLY
    assert at(plan, backup / ".config/app") is None


def test_credentials_that_are_named_themselves_are_shared(home: Path, make: Planner) -> None:
    backup = a_backup(home)
    (backup / ".config/gh/deep").mkdir(parents=True)
    (home / ".aws").mkdir()
    plan = make(read=(backup, backup / ".config/gh", home / ".aws"))
    assert kind_at(plan, backup / ".config/gh") is MountKind.BIND_READ_ONLY
    assert kind_at(plan, home / ".aws") is MountKind.BIND_READ_ONLY


def test_a_part_of_a_credential_directory_opens_only_that_part(home: Path, make: Planner) -> None:
    backup = a_backup(home)
    (backup / ".config/gh/deep").mkdir(parents=True)
    plan = make(read=(backup, backup / ".config/gh/deep"))
    assert kind_at(plan, backup / ".config/gh") is MountKind.TMPFS_READ_ONLY
    assert kind_at(plan, backup / ".config/gh/deep") is MountKind.BIND_READ_ONLY


def test_credentials_behind_a_link_are_masked_where_they_really_lie(
    home: Path, make: Planner
) -> None:
    (home / "dotfiles/ssh").mkdir(parents=True)
    (home / ".ssh").symlink_to("dotfiles/ssh")
    plan = make(read=(home / "dotfiles",))
    assert kind_at(plan, home / "dotfiles/ssh") is MountKind.TMPFS_READ_ONLY


def test_another_users_home_is_masked_as_one(home: Path, tmp_path: Path, make: Planner) -> None:
    other = tmp_path / "alice"
    (other / ".ssh").mkdir(parents=True)
    assert kind_at(make(read=(other,)), other / ".ssh") is MountKind.TMPFS_READ_ONLY


def test_ours_inside_a_read_only_share_is_masked(home: Path, make: Planner) -> None:
    backup = a_backup(home)
    (backup / ".config/mcp-jail").mkdir(parents=True)
    ours = Ours(path=str(backup / ".config/mcp-jail"), what="our policies", mask=True)
    plan = make(read=(backup,), ours=(ours,))
    assert kind_at(plan, backup / ".config/mcp-jail") is MountKind.TMPFS_READ_ONLY


def test_nothing_is_mounted_on_what_is_not_there(home: Path, make: Planner) -> None:
    (home / "read").mkdir()
    plan = make(read=(home / "read",))
    inside = [m for m in plan.mounts if m.destination.startswith(f"{home}/read/")]
    assert inside == []


def test_what_every_jail_has_of_its_own_has_a_bound(make: Planner) -> None:
    plan = make()
    own = {m.destination: (m.size, m.mode) for m in plan.mounts if m.kind is MountKind.TMPFS}
    home = own.pop(plan.env["HOME"])
    assert home == (1 << 30, 0o700)
    assert own == {
        "/dev/shm": (256 << 20, 0o1777),
        "/run": (16 << 20, 0o755),
        "/tmp": (1 << 30, 0o1777),
        "/var/tmp": (1 << 30, 0o1777),
    }
    assert kind_at(plan, "/proc") is MountKind.PROC
    assert kind_at(plan, "/dev") is MountKind.DEV


def test_every_mask_over_proc_is_in_the_plan(make: Planner) -> None:
    plan, system = make(), look_at_system(os.getuid())
    for seen in system.proc_read_only:
        assert kind_at(plan, seen.path) is MountKind.BIND_READ_ONLY
    for seen in system.proc_hidden:
        mask = at(plan, seen.path)
        assert mask is not None
        assert mask.kind is MountKind.TMPFS_READ_ONLY or mask.source == "/dev/null"


def test_the_environment_is_built_and_not_passed_on(
    home: Path, make: Planner, monkeypatch: object
) -> None:
    plan = make(env={"GIVEN": "1"})
    assert set(plan.env) == {
        "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TERM", "TMPDIR", "GIVEN",
    }  # fmt: skip
    assert plan.env["HOME"] == str(home)


def test_the_policy_has_the_last_word_on_the_environment(make: Planner) -> None:
    assert make(env={"LANG": "de_AT.UTF-8"}).env["LANG"] == "de_AT.UTF-8"


def test_the_working_directory_is_kept_where_it_is_visible(home: Path, make: Planner) -> None:
    (home / "a/b").mkdir(parents=True)
    assert make(read=(home / "a",), cwd=str(home / "a/b")).cwd == str(home / "a/b")


def test_a_directory_of_the_host_s_home_is_none_of_a_kept_one(home: Path, make: Planner) -> None:
    kept = home.parent / "kept"
    kept.mkdir()
    (home / "projects").mkdir(exist_ok=True)
    assert make(keep_home=str(kept), cwd=str(home / "projects")).cwd == str(home)


def test_a_working_directory_never_makes_anything_visible(home: Path, make: Planner) -> None:
    backup = a_backup(home)
    (home / "a").mkdir()
    (backup / ".config/gh").mkdir(parents=True)
    plan = make(cwd=str(home / "a"))
    assert plan.cwd == str(home)
    assert at(plan, home / "a") is None
    masked = make(read=(backup,), cwd=str(backup / ".config/gh"))
    assert masked.cwd == str(home)


def test_a_kept_home_becomes_home(home: Path, tmp_path: Path, make: Planner) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    mount = at(make(keep_home=str(kept)), home)
    assert mount is not None
    assert (mount.kind, mount.source) == (MountKind.BIND_READ_WRITE, str(kept))


def test_without_a_private_tmp_there_is_none(make: Planner) -> None:
    plan = make(private_tmp=False)
    assert at(plan, "/tmp") is None
    assert "TMPDIR" not in plan.env


def test_files_keep_their_owner(make: Planner) -> None:
    plan = make()
    assert (plan.uid, plan.gid) == (os.getuid(), os.getgid())


def test_no_secret_of_the_system_is_among_its_settings(make: Planner) -> None:
    places = {m.destination for m in make().mounts}
    for name in (
        "shadow",
        "gshadow",
        "machine-id",
        "ssh",
        "ssl",
        "ssl/private",
        "sudoers",
        "hostname",
    ):
        assert f"/etc/{name}" not in places


def test_settings_that_name_the_real_machine_are_ours(make: Planner) -> None:
    plan = make()
    for name in ("hosts", "resolv.conf", "nsswitch.conf", "passwd", "group"):
        mount = at(plan, f"/etc/{name}")
        assert mount is not None
        assert mount.kind is MountKind.DATA
    hosts = at(plan, "/etc/hosts")
    assert hosts is not None
    assert os.uname().nodename.encode() not in (hosts.data or b"").replace(b"localhost", b"")


def test_a_path_with_a_newline_or_quotes_is_only_a_path(home: Path, make: Planner) -> None:
    odd = home / "a\n--bind / / \"'`$(x)) (allow network*)"
    odd.mkdir(parents=True)
    assert kind_at(make(read=(odd,)), odd) is MountKind.BIND_READ_ONLY


def test_a_bind_remembers_what_it_was_judged_by(home: Path, make: Planner) -> None:
    (home / "a").mkdir()
    mount = at(make(read=(home / "a",)), home / "a")
    status = (home / "a").stat()
    assert mount is not None
    assert mount.identity == (status.st_dev, status.st_ino)
