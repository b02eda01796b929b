"""A command's tool chain is found in every usual layout, and nothing wider than it needs."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from mcp_jail.errors import ExitCode, UsageError
from mcp_jail.sandbox.toolchain import Toolchain, discover


def program(place: Path, text: str = "#!/bin/sh\n") -> Path:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)
    place.chmod(0o755)
    return place


def installation(prefix: Path, *names: str) -> Path:
    (prefix / "lib").mkdir(parents=True)
    for name in names:
        program(prefix / "bin" / name)
    return prefix


def link(place: Path, target: Path | str) -> Path:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(target)
    return place


def found(
    home: Path, *command: str, path: str = "/usr/bin:/bin", cwd: Path | None = None
) -> Toolchain:
    return discover(command, path=path, cwd=str(cwd or home), home=str(home))


def shared(tools: Toolchain) -> set[str]:
    return {share.path for share in tools.shares}


def test_a_system_program_needs_nothing(home: Path) -> None:
    tools = found(home, "sh", "-c", "true")
    assert tools.executable == "/usr/bin/sh"
    assert shared(tools) == set()


def test_every_share_says_why(home: Path) -> None:
    prefix = installation(home / ".nvm/versions/node/v22.1.0", "node")
    tools = found(home, str(prefix / "bin/node"))
    assert all(share.why for share in tools.shares)


@pytest.mark.parametrize(
    "prefix",
    [
        ".nvm/versions/node/v22.1.0",
        ".local/share/fnm/node-versions/v22.1.0/installation",
        ".local/share/uv/python/cpython-3.12.1-linux-x86_64-gnu",
        ".pyenv/versions/3.12.1",
        ".local/share/mise/installs/node/22.1.0",
        ".asdf/installs/nodejs/22.1.0",
        ".volta/tools/image/node/22.1.0",
        "miniconda3/envs/work",
        ".bun",
    ],
)
def test_an_installation_below_a_home_is_shared_alone(prefix: str, home: Path) -> None:
    place = installation(home / prefix, "tool")
    assert shared(found(home, str(place / "bin/tool"))) == {str(place)}


def test_a_program_found_by_path_brings_its_directory_into_path(home: Path) -> None:
    place = installation(home / ".nvm/versions/node/v22.1.0", "node")
    tools = found(home, "node", path=f"{place}/bin:/usr/bin")
    assert tools.executable == f"{place}/bin/node"
    assert tools.path == (f"{place}/bin",)


def test_links_to_an_installation_are_followed_to_it(home: Path) -> None:
    place = installation(home / "opt/node-22", "node")
    link(home / "current", place)
    tools = found(home, "node", path=f"{home}/current/bin")
    assert tools.executable == f"{home}/current/bin/node"
    assert shared(tools) == {f"{home}/current", str(place)}


@pytest.mark.parametrize("drawer", [".local", ".cargo", "go", ""])
def test_a_program_in_a_drawer_of_many_things_is_shared_alone(drawer: str, home: Path) -> None:
    base = home / drawer
    (base / "lib").mkdir(parents=True)
    (base / "share").mkdir()
    place = program(base / "bin/server")
    assert shared(found(home, str(place))) == {str(place)}


def test_a_uv_tool_brings_its_environment_and_its_python(home: Path) -> None:
    base = installation(home / ".local/share/uv/python/cpython-3.12", "python3", "python3.12")
    tool = home / ".local/share/uv/tools/server"
    (tool / "lib").mkdir(parents=True)
    (tool / "bin").mkdir()
    link(tool / "bin/python", base / "bin/python3.12")
    (tool / "pyvenv.cfg").write_text(f"home = {base}/bin\ninclude-system-site-packages = false\n")
    script = program(tool / "bin/server", f"#!{tool}/bin/python\n")
    entry = link(home / ".local/bin/server", script)
    tools = found(home, str(entry))
    assert tools.executable == str(entry)
    assert shared(tools) == {str(tool), str(base)}


def test_a_virtual_environment_brings_the_python_it_was_made_from(home: Path) -> None:
    base = installation(home / ".pyenv/versions/3.12.1", "python3")
    venv = home / "project/.venv"
    link(venv / "bin/python", base / "bin/python3")
    (venv / "pyvenv.cfg").write_text(f"home = {base}/bin\n")
    assert shared(found(home, str(venv / "bin/python"))) == {str(venv), str(base)}


def test_the_interpreter_of_a_script_is_found_by_path(home: Path) -> None:
    node = installation(home / ".nvm/versions/node/v22.1.0", "node")
    place = program(home / ".local/bin/server", "#!/usr/bin/env node\n")
    tools = found(home, str(place), path=f"{node}/bin:/usr/bin")
    assert shared(tools) == {str(node), str(place)}
    assert f"{node}/bin" in tools.path


@pytest.mark.parametrize("line", ["#!/usr/bin/env -S node --flag", "#!/usr/bin/env A=B node"])
def test_the_interpreter_behind_options_of_env_is_found(line: str, home: Path) -> None:
    node = installation(home / ".nvm/versions/node/v22.1.0", "node")
    place = program(home / ".local/bin/server", f"{line}\n")
    assert str(node) in shared(found(home, str(place), path=f"{node}/bin:/usr/bin"))


def test_the_interpreter_of_pips_long_form_is_found(home: Path) -> None:
    python = installation(home / ".local/share/uv/tools/one", "python")
    text = f"#!/bin/sh\n'''exec' \"{python}/bin/python\" \"$0\" \"$@\"\n' '''\n"
    place = program(home / ".local/bin/server", text)
    assert str(python) in shared(found(home, str(place)))


def test_scripts_that_lead_in_a_circle_end(home: Path) -> None:
    prefix = installation(home / ".nvm/versions/node/v22.1.0")
    one, two = prefix / "bin/one", prefix / "bin/two"
    program(one, f"#!{two}\n")
    program(two, f"#!{one}\n")
    assert shared(found(home, str(one))) == {str(prefix)}


def test_a_script_brings_its_project(home: Path) -> None:
    (home / "server/dist").mkdir(parents=True)
    (home / "server/package.json").write_text("{}")
    (home / "server/dist/index.js").write_text("")
    assert shared(found(home, "sh", str(home / "server/dist/index.js"))) == {str(home / "server")}


def test_a_script_relative_to_the_working_directory_brings_its_project(home: Path) -> None:
    (home / "server").mkdir()
    (home / "server/pyproject.toml").write_text("")
    (home / "server/main.py").write_text("")
    tools = found(home, "sh", "main.py", cwd=home / "server")
    assert shared(tools) == {str(home / "server")}


def test_a_module_brings_the_modules_beside_it_and_not_the_project(tmp_path: Path) -> None:
    home = tmp_path / "home"
    script = tmp_path / "x/node_modules/@scope/server/dist/index.js"
    script.parent.mkdir(parents=True)
    script.write_text("")
    (tmp_path / "x/package.json").write_text("{}")
    home.mkdir()
    assert shared(found(home, "sh", str(script))) == {str(tmp_path / "x/node_modules")}


def test_modules_at_the_top_of_a_workspace_come_along(home: Path) -> None:
    package = home / "mono/packages/server"
    package.mkdir(parents=True)
    (package / "package.json").write_text("{}")
    (package / "index.js").write_text("")
    (home / "mono/node_modules").mkdir()
    expected = {str(package), str(home / "mono/node_modules")}
    assert shared(found(home, "sh", str(package / "index.js"))) == expected


@pytest.mark.parametrize(
    "folder",
    ["x", "Documents", "Downloads", "Desktop", "projects", "src", "work", "x/deep/deeper"],
)
def test_a_script_without_a_project_around_it_is_shared_alone_and_says_so(
    folder: str, home: Path
) -> None:
    (home / folder).mkdir(parents=True)
    (home / folder / "private").write_text("")
    script = home / folder / "server.py"
    script.write_text("")
    (share,) = found(home, "sh", str(script)).shares
    assert share.path == str(script)
    assert "alone" in share.why


@pytest.mark.parametrize("drawer", ["Documents", "Downloads", "projects", "src", ".config"])
def test_a_drawer_is_no_project_whatever_lies_in_it(drawer: str, home: Path) -> None:
    (home / drawer / ".git").mkdir(parents=True)
    (home / drawer / "package.json").write_text("{}")
    (home / drawer / "server.py").write_text("")
    script = str(home / drawer / "server.py")
    assert shared(found(home, "sh", script)) == {script}


@pytest.mark.parametrize("drawer", ["Documents", "private"])
def test_a_directory_that_is_no_project_is_not_shared_because_an_option_names_it(
    drawer: str, home: Path
) -> None:
    (home / drawer).mkdir()
    assert shared(found(home, "sh", "--directory", str(home / drawer))) == set()


def test_a_lone_script_in_a_home_is_shared_alone(home: Path) -> None:
    (home / "server.py").write_text("")
    (home / ".git").mkdir()
    assert shared(found(home, "sh", str(home / "server.py"))) == {str(home / "server.py")}


@pytest.mark.parametrize("option", ["--directory", "--project", "--prefix", "-C"])
@pytest.mark.parametrize("joined", [False, True])
def test_a_project_named_by_an_option_is_shared(option: str, joined: bool, home: Path) -> None:
    (home / "server").mkdir()
    (home / "server/pyproject.toml").write_text("")
    (home / "server/main.py").write_text("")
    place = str(home / "server")
    words = [f"{option}={place}"] if joined else [option, place]
    assert shared(found(home, "sh", *words, "run", "main.py")) == {place}


def test_a_directory_of_data_is_not_shared_because_an_argument_names_it(home: Path) -> None:
    (home / "projects").mkdir()
    (home / "projects/package.json").write_text("{}")
    assert shared(found(home, "sh", str(home / "projects"))) == set()


def test_a_file_of_data_is_not_shared_because_an_argument_names_it(home: Path) -> None:
    (home / "notes.db").write_text("")
    assert shared(found(home, "sh", str(home / "notes.db"), "--key", str(home / "id.pem"))) == set()


def test_homebrew_is_shared_as_a_whole(home: Path) -> None:
    brew = home / ".linuxbrew"
    program(brew / "Cellar/node/22.1.0/bin/node")
    entry = link(brew / "bin/node", "../Cellar/node/22.1.0/bin/node")
    assert shared(found(home, str(entry))) == {str(brew)}


@pytest.mark.parametrize("name", ["nothing-of-this-name", "./nothing", "/nothing/here"])
def test_a_command_that_is_not_there_is_a_mistake_in_use(name: str, home: Path) -> None:
    with pytest.raises(UsageError, match="nothing") as caught:
        found(home, name)
    assert caught.value.exit_code is ExitCode.USAGE
    assert caught.value.hint


def test_a_command_that_is_no_program_is_a_mistake_in_use(home: Path) -> None:
    (home / "file").write_text("")
    with pytest.raises(UsageError, match="not executable"):
        found(home, "./file")


@pytest.mark.parametrize("path", ["", ".", "relative/bin", ":", "bin:."])
def test_path_never_means_the_working_directory(path: str, home: Path) -> None:
    program(home / "server")
    program(home / "bin/server")
    program(home / "relative/bin/server")
    with pytest.raises(UsageError):
        found(home, "server", path=path)


def test_no_home_and_nothing_that_holds_one_is_ever_shared(home: Path) -> None:
    for name in ("bin/a", "a", "x/a"):
        program(home / name)
    (home / "lib").mkdir()
    (home / "package.json").write_text("{}")
    (home / "a.js").write_text("")
    for command in (("bin/a",), ("./a",), ("x/a",), ("sh", "a.js"), ("sh", "--directory", ".")):
        for place in shared(found(home, *command)):
            assert not str(home).startswith(place), (command, place)


def test_the_python_that_runs_these_tests_is_found(home: Path) -> None:
    tools = found(home, sys.executable)
    base = os.path.realpath(sys.executable)
    covered = any(base.startswith(place + "/") for place in shared(tools))
    assert covered or base.startswith("/usr/")


def test_what_led_to_a_share_is_written_down(home: Path) -> None:
    place = installation(home / "opt/node-22", "node")
    entry = link(home / "bin/node", place / "bin/node")
    (node,) = (f for f in found(home, str(entry)).found if f.share.path == str(place))
    assert str(entry) in node.through


def a_server(home: Path, text: str) -> Path:
    """A program of an npm package, as npm installs it for all of a user."""
    modules = home / ".npm-global/lib/node_modules"
    script = program(modules / "evil/index.js", text)
    link(home / ".npm-global/bin/evil", script)
    return home / ".npm-global/bin/evil"


def private(home: Path) -> Path:
    """Another project of the user, with a program in it, and its key."""
    program(home / "private/bin/deploy", "#!/bin/sh\nTOKEN=x\n")
    (home / "private/lib").mkdir()
    (home / "private/.git").mkdir()
    (home / ".ssh").mkdir()
    program(home / ".ssh/id_rsa", "KEY")
    return home / "private"


LINES = (
    "#!/usr/bin/env -S -u {file} node",
    "#!/usr/bin/env -S -u{file} node",
    "#!/usr/bin/env -S --unset={file} node",
    "#!/usr/bin/env -S --unset {file} node",
    "#!/usr/bin/env -S -C {file} node",
    "#!/usr/bin/env -S --chdir {file} node",
    "#!/usr/bin/env -S -P {file} node",
    "#!/usr/bin/env -S -u ../../private/bin/deploy node",
    "#!/usr/bin/env ../../private/bin/deploy",
    "#!../../private/bin/deploy",
    "#!/usr/bin/env {file}",
    "#!{file}",
    "#!{folder}/.././private/bin/deploy",
    "#!/bin/sh\n'''exec' '{file}' \"$0\"",
)


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("name", ["private/bin/deploy", ".ssh/id_rsa"])
def test_a_file_of_the_server_brings_nothing_of_the_user(line: str, name: str, home: Path) -> None:
    folder = private(home)
    entry = a_server(home, line.format(file=home / name, folder=folder) + "\n")
    tools = found(home, str(entry), cwd=home / ".npm-global")
    for place in shared(tools):
        assert not place.startswith((str(folder), str(home / ".ssh"))), place


@pytest.mark.parametrize("line", ["#!{file}", "#!/usr/bin/env {file}", LINES[-1]])
def test_what_a_file_of_the_server_names_and_is_no_known_tool_is_told(
    line: str, home: Path
) -> None:
    file = private(home) / "bin/deploy"
    entry = a_server(home, line.format(file=file) + "\n")
    (told,) = found(home, str(entry)).unnamed
    assert (told.path, told.by) == (
        str(file),
        str(home / ".npm-global/lib/node_modules/evil/index.js"),
    )


@pytest.mark.parametrize("line", ["home = {folder}/bin", "executable = {folder}/bin/python3"])
def test_the_settings_of_a_virtual_environment_bring_nothing_of_the_user(
    line: str, home: Path
) -> None:
    folder = private(home)
    program(folder / "bin/python3")
    venv = home / "server/.venv"
    program(venv / "bin/server")
    (venv / "pyvenv.cfg").write_text(line.format(folder=folder) + "\n")
    tools = found(home, str(venv / "bin/server"))
    assert shared(tools) == {str(venv)}
    assert [(one.path, one.by) for one in tools.unnamed] == [
        (str(folder / "bin/python3"), str(venv / "pyvenv.cfg"))
    ]


@pytest.mark.parametrize("where", ["package.json", ".git", "nothing"])
@pytest.mark.parametrize("what", ["file", "directory"])
def test_a_link_among_the_servers_files_brings_nothing_of_the_user(
    where: str, what: str, home: Path
) -> None:
    folder = private(home)
    (home / "clone").mkdir()
    (home / "clone" / where).write_text("")
    (folder / "index.js").write_text("")
    if what == "file":
        script = link(home / "clone/index.js", folder / "index.js")
    else:
        script = link(home / "clone/dist", folder) / "index.js"
    tools = found(home, "sh", str(script))
    assert not any(os.path.realpath(place).startswith(str(folder)) for place in shared(tools))
    assert str(folder) in {one.path for one in tools.unnamed} | {
        os.path.dirname(one.path) for one in tools.unnamed
    }


def test_modules_behind_a_link_are_not_brought(home: Path) -> None:
    folder = private(home)
    (home / "clone").mkdir()
    (home / "clone/index.js").write_text("")
    link(home / "clone/node_modules", folder)
    tools = found(home, "sh", str(home / "clone/index.js"))
    assert shared(tools) == {str(home / "clone/index.js")}
    assert [one.path for one in tools.unnamed] == [str(folder)]


def test_a_program_linked_out_of_a_package_brings_nothing_of_the_user(home: Path) -> None:
    folder = private(home)
    modules = home / ".npm-global/lib/node_modules/evil"
    link(modules / "index.js", folder / "bin/deploy")
    entry = link(home / ".npm-global/bin/evil", modules / "index.js")
    tools = found(home, str(entry))
    assert not any(place.startswith(str(folder)) for place in shared(tools))
    assert [one.path for one in tools.unnamed] == [str(folder / "bin/deploy")]


def test_a_link_that_the_user_made_to_a_project_is_followed(home: Path) -> None:
    folder = private(home)
    program(folder / "run.sh")
    entry = link(home / ".local/bin/server", folder / "run.sh")
    tools = found(home, str(entry))
    assert shared(tools) == {str(folder)}
    assert tools.unnamed == ()


def test_a_bare_binary_may_interpret_a_script(home: Path) -> None:
    binary = home / ".local/bin/uv"
    binary.parent.mkdir(parents=True)
    binary.write_bytes(Path("/bin/sh").read_bytes())
    binary.chmod(0o755)
    entry = a_server(home, "#!/usr/bin/env -S uv run --script\n")
    tools = found(home, str(entry), path=f"{binary.parent}:/usr/bin")
    assert str(binary) in shared(tools)


def test_a_node_that_was_unpacked_anywhere_in_path_may_interpret_a_script(home: Path) -> None:
    node = home / "tools/node-22"
    program(node / "bin/node")
    (node / "lib/node_modules/npm").mkdir(parents=True)
    (node / "lib/node_modules/npm/package.json").write_text("{}")
    entry = a_server(home, "#!/usr/bin/env node\n")
    tools = found(home, str(entry), path=f"{node}/bin:/usr/bin")
    assert str(node) in shared(tools)
    assert tools.unnamed == ()
