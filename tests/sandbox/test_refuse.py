"""What a policy may ask for and never gets."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from mcp_jail.core.spec import MountKind
from mcp_jail.errors import ExitCode, JailBuildError, ShareError
from mcp_jail.sandbox.protected import Ours
from sandbox.conftest import Planner

WHOLE = ("/", "/etc", "/proc", "/sys", "/dev", "/run", "/home", "/var", "/tmp", "/var/tmp")


@pytest.mark.parametrize("path", WHOLE)
@pytest.mark.parametrize("how", ["read", "write"])
def test_a_whole_part_of_the_system_is_refused(path: str, how: str, make: Planner) -> None:
    with pytest.raises(ShareError) as caught:
        make(**{how: (path,)})
    assert f"'{path}'" in caught.value.message
    assert caught.value.exit_code is ExitCode.USAGE


@pytest.mark.parametrize("path", ["/proc/self", "/sys/kernel", "/dev/shm", "/proc/1/root"])
def test_a_part_of_the_kernels_own_trees_is_refused(path: str, make: Planner) -> None:
    with pytest.raises(ShareError):
        make(read=(path,))


@pytest.mark.parametrize("how", ["read", "write"])
def test_a_whole_home_is_refused(how: str, home: Path, make: Planner) -> None:
    with pytest.raises(ShareError, match="holds the home"):
        make(**{how: (home,)})


def test_what_holds_a_home_is_refused(home: Path, make: Planner) -> None:
    with pytest.raises(ShareError, match="holds the home"):
        make(read=(home.parent,))


def test_a_home_is_refused_under_another_name(home: Path, tmp_path: Path, make: Planner) -> None:
    link = tmp_path / "innocent"
    link.symlink_to(home)
    with pytest.raises(ShareError, match="holds the home"):
        make(read=(link,))


def test_a_home_is_refused_by_way_of_dots(home: Path, make: Planner) -> None:
    (home / "a").mkdir()
    with pytest.raises(ShareError, match="holds the home"):
        make(read=(f"{home}/a/..",))


@pytest.mark.parametrize("path", ["/usr", "/usr/bin", "/usr/local", "/etc/ssl"])
def test_what_the_machine_runs_cannot_be_written(path: str, make: Planner) -> None:
    with pytest.raises(ShareError, match="cannot be written"):
        make(write=(path,))


@pytest.mark.parametrize("relation", ["holds", "is", "lies in"])
@pytest.mark.parametrize("what", ["policy", "lock", "audit", "our state"])
def test_nothing_of_ours_can_be_written(
    relation: str, what: str, home: Path, make: Planner
) -> None:
    inner = home / "state/inner"
    inner.mkdir(parents=True)
    share = {"holds": home / "state", "is": inner, "lies in": inner / "deep"}[relation]
    share.mkdir(exist_ok=True)
    with pytest.raises(ShareError) as caught:
        make(write=(share,), ours=(Ours(path=str(inner), what=what),))
    assert what in caught.value.message
    assert str(share) in caught.value.message
    assert str(inner) in caught.value.message


def test_ours_that_does_not_exist_yet_cannot_be_written_either(home: Path, make: Planner) -> None:
    (home / "state").mkdir()
    ours = Ours(path=str(home / "state/later/policy.yaml"), what="policy")
    with pytest.raises(ShareError, match="policy"):
        make(write=(home / "state",), ours=(ours,))


def test_ours_behind_a_link_cannot_be_written(home: Path, make: Planner) -> None:
    (home / "real").mkdir()
    (home / "config").symlink_to(home / "real")
    with pytest.raises(ShareError, match="policy"):
        make(write=(home / "real",), ours=(Ours(path=f"{home}/config/x.yaml", what="policy"),))


def test_our_own_code_cannot_be_written(make: Planner) -> None:
    import mcp_jail

    with pytest.raises(ShareError, match="mcp-jail's own code"):
        make(write=(Path(mcp_jail.__file__).parent / "core",))


@pytest.mark.parametrize(
    "path", [".cursor", ".config", ".codex", ".config/Claude", ".local/bin", ".config/autostart"]
)
def test_what_clients_or_logins_run_cannot_be_written(path: str, home: Path, make: Planner) -> None:
    (home / path).mkdir(parents=True)
    with pytest.raises(ShareError, match="cannot be shared for writing"):
        make(write=(home / path,))


def test_all_that_is_missing_or_refused_is_named_at_once(home: Path, make: Planner) -> None:
    with pytest.raises(ShareError) as caught:
        make(read=(home / "one", "/etc"), write=(home / "two", home))
    named = [fault.path for fault in caught.value.faults]
    assert named == [str(home / "one"), "/etc", str(home / "two"), str(home)]
    assert not (home / "one").exists()


@pytest.mark.parametrize("name", ["docker.sock", "agent.sock"])
def test_a_socket_is_refused(name: str, home: Path, make: Planner) -> None:
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(home / name))
        with pytest.raises(ShareError, match="is a socket"):
            make(read=(home / name,))


def test_a_directory_with_a_socket_that_commands_the_host_is_refused(
    home: Path, make: Planner
) -> None:
    (home / "run").mkdir()
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(home / "run/docker.sock"))
        with pytest.raises(ShareError, match="commands this host"):
            make(read=(home / "run",))


def test_a_directory_that_is_only_named_like_a_socket_is_shared(home: Path, make: Planner) -> None:
    (home / "bus").mkdir()
    assert str(home / "bus") in {m.destination for m in make(read=(home / "bus",)).mounts}


def test_a_share_that_holds_a_credential_file_is_refused_with_advice(
    home: Path, make: Planner
) -> None:
    (home / ".config/git").mkdir(parents=True)
    (home / ".config/git/credentials").write_text("x")
    with pytest.raises(ShareError, match="a file with credentials") as caught:
        make(read=(home / ".config",))
    assert "name the directories" in caught.value.hint


def test_a_credential_file_that_is_named_itself_is_shared(home: Path, make: Planner) -> None:
    (home / ".netrc").write_text("x")
    mounts = make(read=(home / ".netrc",)).mounts
    assert (MountKind.BIND_READ_ONLY, str(home / ".netrc")) in {
        (m.kind, m.destination) for m in mounts
    }


def test_a_link_that_a_server_could_have_planted_is_not_followed(home: Path, make: Planner) -> None:
    (home / "out").mkdir()
    (home / "target").mkdir()
    (home / "out/link").symlink_to(home / "target")
    with pytest.raises(ShareError, match="goes through the link"):
        make(write=(home / "out",), read=(home / "out/link",))


def test_a_link_to_the_old_root_is_not_followed(home: Path, make: Planner) -> None:
    (home / "out").mkdir()
    (home / "out/evil").symlink_to(f"/oldroot{home}")
    with pytest.raises(ShareError):
        make(write=(home / "out",), read=(home / "out/evil/.git",))
    assert not (home / ".git").exists()


def test_a_writable_root_that_became_a_link_to_a_home_is_refused(home: Path, make: Planner) -> None:
    (home / "out").mkdir()
    make(write=(home / "out",))
    (home / "out").rmdir()
    (home / "out").symlink_to(home)
    with pytest.raises(ShareError, match="holds the home"):
        make(write=(home / "out",))


def test_a_link_in_a_kept_home_where_a_share_goes_is_refused(
    home: Path, tmp_path: Path, make: Planner
) -> None:
    (home / "projects/one").mkdir(parents=True)
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "projects").symlink_to("/oldroot/etc")
    with pytest.raises(JailBuildError, match="kept home"):
        make(read=(home / "projects/one",), keep_home=str(kept))


def test_a_tool_chain_reached_through_a_writable_share_is_not_shared(
    home: Path, make: Planner
) -> None:
    (home / "secrets/bin").mkdir(parents=True)
    (home / "secrets/lib").mkdir()
    program = home / "secrets/bin/server"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    (home / "out").mkdir()
    (home / "out/server").symlink_to(program)
    with pytest.raises(JailBuildError, match="which the server may write"):
        make(write=(home / "out",), command=(str(home / "out/server"),))
    make(write=(home / "out",), read=(home / "secrets",), command=(str(home / "out/server"),))


@pytest.mark.parametrize("command", [(), ("a\0b",)])
def test_a_command_that_cannot_be_one_is_refused(command: tuple[str, ...], make: Planner) -> None:
    with pytest.raises(JailBuildError):
        make(command=command)


@pytest.mark.parametrize("name", ["", "A=B", "A\0B"])
def test_a_name_no_environment_can_hold_is_refused(name: str, make: Planner) -> None:
    with pytest.raises(JailBuildError):
        make(env={name: "x"})


def test_a_nul_in_a_path_is_refused(home: Path, make: Planner) -> None:
    with pytest.raises(JailBuildError, match="NUL"):
        make(read=(f"{home}/a\0b",))


def test_a_relative_path_is_refused(make: Planner) -> None:
    with pytest.raises(JailBuildError, match="not an absolute path"):
        make(read=("relative",))
