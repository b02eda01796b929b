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
    python = installation(home / "envs/one", "python")
    text = f"#!/bin/sh\n'''exec' \"{python}/bin/python\" \"$0\" \"$@\"\n' '''\n"
    place = program(home / ".local/bin/server", text)
    assert str(python) in shared(found(home, str(place)))


def test_scripts_that_lead_in_a_circle_end(home: Path) -> None:
    one, two = home / "bin/one", home / "bin/two"
    program(one, f"#!{two}\n")
    program(two, f"#!{one}\n")
    assert shared(found(home, str(one))) == {str(one), str(two)}


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
