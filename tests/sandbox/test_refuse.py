"""What a policy may ask for and never gets."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcp_jail.core.spec import MountKind
from mcp_jail.errors import ExitCode, JailBuildError, ShareError
from mcp_jail.sandbox.protected import Ours
from sandbox.conftest import Planner

Run = Callable[..., Any]
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


@pytest.mark.parametrize("name", [".", "run", "key", "locks/x.json", "link", "hard"])
@pytest.mark.parametrize("how", ["read", "write"])
def test_nothing_that_is_hidden_is_shared_by_its_own_name(
    name: str, how: str, home: Path, make: Planner
) -> None:
    state = home / "state"
    for folder in ("run", "locks"):
        (state / folder).mkdir(parents=True)
    for file in ("key", "locks/x.json"):
        (state / file).touch()
    (home / "link").symlink_to(state / "run")
    (home / "hard").hardlink_to(state / "key")
    share = home / name if name in {"link", "hard"} else state / name
    with pytest.raises(ShareError, match=r"our state|by another name"):
        make(**{how: (share,)}, ours=(Ours(path=str(state), what="our state", mask=True),))


def test_nothing_that_is_hidden_is_shared_by_a_mount_of_it(home: Path, run_code: Run) -> None:
    (home / "state/run").mkdir(parents=True)
    (home / "bound").mkdir()
    code = """
    import ctypes
    from mcp_jail.errors import ShareError
    from mcp_jail.sandbox.protected import Ours
    host = probe({"HOME": HOME})
    libc = ctypes.CDLL(None, use_errno=True)
    # A user namespace and file trees of its own, where anybody may bind: relies on Linux >= 3.8.
    assert libc.unshare(0x10020000) == 0, ctypes.get_errno()
    bind = f"{HOME}/state/run".encode(), f"{HOME}/bound".encode(), None, 0x1000, None
    assert libc.mount(*bind) == 0, ctypes.get_errno()
    share = Share(path=f"{HOME}/bound", access=Access.READ_ONLY, why="read_only")
    spec = JailSpec(name="t", command=("/bin/sh",), cwd=None, shares=(share,), env={})
    try:
        build(spec, (Ours(path=f"{HOME}/state", what="our state", mask=True),
                     Ours(path=f"{HOME}/state/run", what="our runs", mask=True)), host=host)
        tell("shared")
    except ShareError as error:
        tell(error.message)
    """
    assert f"it is '{home}/state/run' by another name" in run_code(code)


def test_what_only_must_not_be_changed_is_read_though_it_lies_in_what_is_hidden(
    home: Path, make: Planner
) -> None:
    """As packages do where all of ours lies under one directory (MCP_JAIL_HOME)."""
    tree = home / "ours/packages/one"
    tree.mkdir(parents=True)
    ours = (
        Ours(path=str(home / "ours"), what="ours", mask=True),
        Ours(path=str(home / "ours/packages"), what="packages"),
    )
    assert str(tree) in {mount.source for mount in make(read=(tree,), ours=ours).mounts}


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


def test_a_kept_home_that_is_not_there_is_named(home: Path, tmp_path: Path, make: Planner) -> None:
    with pytest.raises(ShareError, match="is not there") as caught:
        make(read=(home / "gone",), keep_home=str(tmp_path / "kept"))
    assert [fault.path for fault in caught.value.faults] == [
        str(home / "gone"),
        str(tmp_path / "kept"),
    ]


def test_a_kept_home_may_lie_where_our_state_is(tmp_path: Path, make: Planner) -> None:
    kept = tmp_path / "state/homes/one"
    kept.mkdir(parents=True)
    ours = (Ours(path=str(tmp_path / "state"), what="our state"),)
    assert str(kept) in {m.source for m in make(keep_home=str(kept), ours=ours).mounts}
    with pytest.raises(ShareError, match="our state"):
        make(write=(kept,), ours=ours)


def test_what_the_command_runs_does_not_lie_in_the_kept_home(tmp_path: Path, make: Planner) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept/server.py").write_text("")
    with pytest.raises(ShareError, match="the command runs"):
        make(command=("/bin/sh", str(tmp_path / "kept/server.py")), keep_home=f"{tmp_path}/kept")


def test_a_pipe_is_refused(home: Path, make: Planner) -> None:
    os.mkfifo(home / "pipe")
    with pytest.raises(ShareError, match="a device or a pipe"):
        make(read=(home / "pipe",))


def test_a_program_behind_a_link_that_the_server_may_write_is_refused(
    home: Path, make: Planner
) -> None:
    (home / "secrets/bin").mkdir(parents=True)
    (home / "secrets/lib").mkdir()
    program = home / "secrets/bin/server"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    (home / "out").mkdir()
    (home / "out/server").symlink_to(program)
    for read in ((), (home / "secrets",)):
        with pytest.raises(ShareError, match="the command runs") as caught:
            make(write=(home / "out",), read=read, command=(str(home / "out/server"),))
        assert f"{home}/out/data" in caught.value.hint
    make(write=(home / "out",), read=(home / "secrets",), command=(str(program),))


def environment(place: Path) -> Path:
    """A virtual environment's Python."""
    (place / "bin").mkdir(parents=True)
    (place / "pyvenv.cfg").write_text("home = /usr/bin\n")
    (place / "bin/python").symlink_to("/bin/sh")
    return place / "bin/python"


def a_script(home: Path) -> tuple[str, ...]:
    (home / "server/main.py").write_text("")
    return ("/bin/sh", str(home / "server/main.py"))


def a_relative_script(home: Path) -> tuple[str, ...]:
    (home / "server/sub").mkdir()
    (home / "server/sub/main.py").write_text("")
    return ("/bin/sh", "sub/main.py")


def a_linked_script(home: Path) -> tuple[str, ...]:
    (home / "server/main.py").write_text("")
    (home / "main.py").symlink_to(home / "server/main.py")
    return ("/bin/sh", str(home / "main.py"))


def an_environment(home: Path) -> tuple[str, ...]:
    return (str(environment(home / "server/env")),)


def a_base_python(home: Path) -> tuple[str, ...]:
    (home / "server/bin").mkdir()
    (home / "server/bin/python3").symlink_to("/bin/sh")
    python = environment(home / "elsewhere")
    (home / "elsewhere/pyvenv.cfg").write_text(f"home = {home}/server/bin\n")
    return (str(python),)


def a_module(home: Path) -> tuple[str, ...]:
    (home / "server/node_modules/x").mkdir(parents=True)
    (home / "server/node_modules/x/cli.js").write_text("")
    return ("/bin/sh", str(home / "server/node_modules/x/cli.js"))


def a_project(home: Path) -> tuple[str, ...]:
    (home / "server/pyproject.toml").write_text("")
    (home / "uv").symlink_to("/bin/sh")
    return (str(home / "uv"), "--directory", str(home / "server"), "run", "server")


def an_interpreter(home: Path) -> tuple[str, ...]:
    (home / "server/sh").symlink_to("/bin/sh")
    (home / "run").write_text(f"#!{home}/server/sh\n")
    (home / "run").chmod(0o755)
    return (str(home / "run"),)


@pytest.mark.parametrize(
    "command",
    [
        a_script, a_relative_script, a_linked_script, an_environment, a_base_python, a_module,
        a_project, an_interpreter,
    ],
)  # fmt: skip
def test_what_the_command_runs_cannot_be_written_by_its_server(
    command: Callable[[Path], tuple[str, ...]], home: Path, make: Planner
) -> None:
    server = home / "server"
    (server / "data").mkdir(parents=True)
    runs = command(home)
    with pytest.raises(ShareError, match="the command runs") as caught:
        make(write=(server,), command=runs, cwd=str(server))
    assert f"{server}/data" in caught.value.hint
    make(write=(server / "data",), command=runs, cwd=str(server))


def test_a_directory_that_an_option_names_may_be_data(home: Path, make: Planner) -> None:
    (home / "repo/.git").mkdir(parents=True)
    make(write=(home / "repo",), command=("/bin/sh", "-C", str(home / "repo")))


CLIENTS_SETTINGS = (
    ".mcp.json", ".cursor/mcp.json", ".vscode/mcp.json", ".claude/settings.json",
    ".claude/settings.local.json", ".gemini/settings.json", ".codex/config.toml", "opencode.json",
    "opencode.jsonc", ".roo/mcp.json", ".kiro/settings/mcp.json", ".zed/settings.json",
    ".continue/config.yaml", ".continue/mcpServers/one.yaml", ".amazonq/mcp.json",
    ".junie/mcp/mcp.json",
)  # fmt: skip


@pytest.mark.parametrize("name", CLIENTS_SETTINGS)
def test_a_project_with_settings_of_a_client_cannot_be_written(
    name: str, home: Path, make: Planner
) -> None:
    file = home / "all/project" / name
    file.parent.mkdir(parents=True)
    file.write_text("{}")
    (home / "all/project/src").mkdir()
    (home / "link").symlink_to(home / "all/project")
    for share in (home / "all/project", home / "all", home / "link", file):
        with pytest.raises(ShareError, match="settings of an MCP client") as caught:
            make(write=(share,))
        assert f"{home}/all/project/{name.partition('/')[0]}" in caught.value.message
        assert "narrower" in caught.value.hint
    make(write=(home / "all/project/src",))
    make(read=(home / "all/project",))


@pytest.mark.parametrize(
    "name", [".cursor", ".vscode", ".claude/agents", ".kiro/settings", ".continue/mcpServers"]
)
@pytest.mark.parametrize("top", ["", "project"])
def test_a_directory_for_settings_of_a_client_cannot_be_written_even_if_it_has_none(
    name: str, top: str, home: Path, make: Planner
) -> None:
    place = home / top / name
    place.mkdir(parents=True)
    with pytest.raises(ShareError, match="cannot be shared for writing"):
        make(write=(place,))


def test_another_home_with_settings_of_a_client_cannot_be_written(
    home: Path, make: Planner
) -> None:
    other = home / "backup"
    (other / ".codeium/windsurf").mkdir(parents=True)
    (other / ".codeium/windsurf/mcp_config.json").write_text("{}")
    with pytest.raises(ShareError, match="settings of an MCP client"):
        make(write=(other,))


def test_a_link_where_settings_of_a_client_would_be_is_as_good_as_these(
    home: Path, make: Planner
) -> None:
    (home / "project").mkdir()
    (home / "project/.mcp.json").symlink_to("/nothing/here")
    with pytest.raises(ShareError, match="settings of an MCP client"):
        make(write=(home / "project",))


@pytest.mark.parametrize(
    "name", ["node_modules", "node_modules/x/data", "env/site-packages/y", ".venv/lib"]
)
def test_a_tree_of_packages_cannot_be_written(name: str, home: Path, make: Planner) -> None:
    (home / "project" / name).mkdir(parents=True)
    with pytest.raises(ShareError, match="packages"):
        make(write=(home / "project" / name,))
    make(read=(home / "project" / name,))


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


@pytest.mark.parametrize("inner", [".git", ".git/hooks", "conf/s.json", ""])
@pytest.mark.parametrize("linked", [False, True])
def test_what_lies_in_a_writable_share_cannot_be_kept_read_only(
    inner: str, linked: bool, home: Path, make: Planner
) -> None:
    (home / "project/.git/hooks").mkdir(parents=True)
    (home / "project/conf").mkdir()
    (home / "project/conf/s.json").write_text("{}")
    (home / "link").symlink_to(home / "project")
    read = (home / "link" if linked else home / "project") / inner
    with pytest.raises(ShareError, match="cannot be kept read-only") as caught:
        make(write=(home / "project",), read=(read,))
    assert "narrower" in caught.value.hint
    assert [fault.path for fault in caught.value.faults] == [str(read)]


def test_a_place_to_write_inside_of_one_to_read_is_shared(home: Path, make: Planner) -> None:
    (home / "projects/scratch").mkdir(parents=True)
    make(read=(home / "projects",), write=(home / "projects/scratch",))


@pytest.mark.parametrize("how", ["read", "write"])
@pytest.mark.parametrize("name", [".config", ".local/share", ".local", ".cache", ".cargo", ".var"])
def test_a_drawer_of_credentials_is_refused_as_the_home_is(
    name: str, how: str, home: Path, make: Planner
) -> None:
    (home / name / "app").mkdir(parents=True)
    (home / "link").symlink_to(home / name)
    for share in (home / name, home / "link"):
        with pytest.raises(ShareError) as caught:
            make(**{how: (share,)})
        assert caught.value.hint
    make(read=(home / name / "app",))


def test_a_drawer_that_lies_elsewhere_is_one(home: Path, make: Planner) -> None:
    (home / "dotfiles/config").mkdir(parents=True)
    (home / ".config").symlink_to("dotfiles/config")
    for share in ("dotfiles/config", "dotfiles"):
        with pytest.raises(ShareError, match="cannot be shared as a whole"):
            make(read=(home / share,))
