"""The tool behind a version manager's shim is read from the manager's own files."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from mcp_jail.errors import UsageError
from mcp_jail.sandbox.shims import Shim, behind_shim
from sandbox.test_toolchain import found, installation, link, program, shared


def behind(place: Path, home: Path, cwd: Path | None = None) -> Shim | None:
    return behind_shim(str(place), cwd=str(cwd or home), homes=(str(home),))


def test_a_plain_program_is_no_shim(home: Path) -> None:
    assert behind(program(home / "bin/node"), home) is None


def pyenv(home: Path) -> Path:
    for version in ("3.11.7", "3.12.1", "3.12.10"):
        installation(home / ".pyenv/versions" / version, "python3")
    (home / ".pyenv/version").write_text("3.11.7\n")
    return program(home / ".pyenv/shims/python3", "#!/usr/bin/env bash\nexec pyenv exec\n")


def test_pyenvs_global_version_is_found(home: Path) -> None:
    shim = behind(pyenv(home), home)
    assert shim is not None
    assert shim.program == str(home / ".pyenv/versions/3.11.7/bin/python3")


def test_pyenvs_nearest_version_file_wins_and_a_prefix_means_the_newest(home: Path) -> None:
    place = pyenv(home)
    (home / "project/deep").mkdir(parents=True)
    (home / "project/.python-version").write_text("3.12\n")
    shim = behind(place, home, home / "project/deep")
    assert shim is not None
    assert shim.program == str(home / ".pyenv/versions/3.12.10/bin/python3")


@pytest.mark.parametrize("text", ["system", ""])
def test_a_pyenv_shim_that_stands_for_the_systems_python_is_passed_over(
    text: str, home: Path
) -> None:
    place = pyenv(home)
    (home / ".pyenv/version").write_text(text)
    tools = found(home, "python3", path=f"{place.parent}:/usr/bin:/bin")
    assert tools.executable == "/usr/bin/python3"
    assert shared(tools) == set()


def test_a_shim_whose_version_cannot_be_told_is_not_run(home: Path) -> None:
    place = pyenv(home)
    (home / ".pyenv/version").write_text("9.9.9")
    with pytest.raises(UsageError, match="cannot be told") as caught:
        found(home, str(place))
    assert ".pyenv/versions" in caught.value.hint


BAD_VERSIONS = ("../..", "..", ".", "../../evil", "{home}/evil", "evil/../../../evil", "-x", "a/b")


@pytest.mark.parametrize("version", BAD_VERSIONS)
@pytest.mark.parametrize("manager", ["pyenv", "asdf", "mise"])
@pytest.mark.parametrize("declared", [True, False])
def test_no_settings_lead_out_of_the_versions_that_are_installed(
    version: str, manager: str, declared: bool, home: Path
) -> None:
    version = version.format(home=home)
    clone = home / "clone"
    for place in (clone / "evil", home / "evil", home, clone):
        program(place / "bin/python3")
    (clone / ".python-version").write_text(version)
    (clone / ".tool-versions").write_text(f"python {version}\n")
    (clone / "mise.toml").write_text(f'python = "{version}"\n')
    if manager == "pyenv":
        shim = pyenv(home)
    else:
        root = home / ".asdf"
        for number in ("3.11.7", "3.12.1"):
            installation(root / "installs/python" / number, "python3")
        shim = program(root / "shims/python3")
    there = behind_shim(str(shim), cwd=str(clone) if declared else None, homes=(str(home),))
    assert there is not None
    assert there.program in {None, str(home / ".pyenv/versions/3.11.7/bin/python3")}


def test_a_version_that_is_a_link_out_of_the_versions_is_none(home: Path) -> None:
    place = pyenv(home)
    program(home / "evil/bin/python3")
    link(home / ".pyenv/versions/mine", home / "evil")
    (home / ".pyenv/version").write_text("mine")
    shim = behind(place, home)
    assert shim is not None
    assert shim.program is None


@pytest.mark.parametrize("file", [".python-version", ".tool-versions", "mise.toml"])
def test_where_a_client_stands_decides_no_version(file: str, home: Path) -> None:
    place = pyenv(home)
    clone = home / "clone"
    clone.mkdir()
    (clone / file).write_text('3.12.1\npython 3.12.1\npython = "3.12.1"\n')
    assert found(home, str(place), cwd=clone).executable.endswith("/3.11.7/bin/python3")


def test_a_settings_file_that_is_a_pipe_is_not_waited_for(home: Path) -> None:
    place = pyenv(home)
    os.mkfifo(home / ".python-version")
    shim = behind(place, home)
    assert shim is not None
    assert shim.program == str(home / ".pyenv/versions/3.11.7/bin/python3")


@pytest.mark.parametrize("runtime", ["..", "../../../../evil", ".", "", "a/b"])
def test_voltas_settings_cannot_lead_out(runtime: str, home: Path) -> None:
    root = volta(home)
    for place in (home / "evil", root / "tools/image", root / "tools"):
        program(place / "bin/node")
    (root / "tools/user/platform.json").write_text(json.dumps({"node": {"runtime": runtime}}))
    shim = behind(link(root / "bin/node", "volta-shim"), home)
    assert shim is not None
    assert shim.program is None


def test_a_program_of_a_scoped_package_is_found_behind_volta(home: Path) -> None:
    root = volta(home)
    installation(root / "tools/image/packages/@scope/server", "scoped")
    (root / "tools/user/bins/scoped.json").write_text(json.dumps({"package": "@scope/server"}))
    shim = behind(link(root / "bin/scoped", "volta-shim"), home)
    assert shim is not None
    assert shim.program == str(root / "tools/image/packages/@scope/server/bin/scoped")


def test_asdf_takes_the_version_of_tool_versions(home: Path) -> None:
    for version in ("20.1.0", "22.1.0"):
        installation(home / ".asdf/installs/nodejs" / version, "node")
    (home / ".tool-versions").write_text("nodejs 20.1.0\n")
    shim = behind(program(home / ".asdf/shims/node"), home)
    assert shim is not None
    assert (shim.manager, shim.program) == (
        "asdf",
        str(home / ".asdf/installs/nodejs/20.1.0/bin/node"),
    )


def test_mise_takes_the_version_of_its_settings(home: Path) -> None:
    root = home / ".local/share/mise"
    for version in ("20.1.0", "22.1.0", "22.11.0"):
        installation(root / "installs/node" / version, "node")
    (home / ".config/mise").mkdir(parents=True)
    (home / ".config/mise/config.toml").write_text('[tools]\nnode = "22"\n')
    shim = behind(link(root / "shims/node", program(home / ".local/bin/mise")), home)
    assert shim is not None
    assert (shim.manager, shim.program) == ("mise", str(root / "installs/node/22.11.0/bin/node"))


def test_the_only_version_is_taken_without_settings(home: Path) -> None:
    root = home / ".local/share/mise"
    installation(root / "installs/node/22.1.0", "node")
    (root / "installs/node/22").symlink_to("22.1.0")
    (root / "installs/node/latest").symlink_to("22.1.0")
    shim = behind(link(root / "shims/node", program(home / ".local/bin/mise")), home)
    assert shim is not None
    assert shim.program == str(root / "installs/node/22.1.0/bin/node")


def volta(home: Path) -> Path:
    root = home / ".volta"
    installation(root / "tools/image/node/22.1.0", "node", "npm")
    installation(root / "tools/image/packages/server", "server")
    (root / "tools/user/bins").mkdir(parents=True)
    platform = {"node": {"runtime": "22.1.0", "npm": None}}
    (root / "tools/user/platform.json").write_text(json.dumps(platform))
    (root / "tools/user/bins/server.json").write_text(json.dumps({"package": "server"}))
    program(root / "bin/volta-shim")
    return root


def test_voltas_node_is_found(home: Path) -> None:
    root = volta(home)
    shim = behind(link(root / "bin/node", "volta-shim"), home)
    assert shim is not None
    assert shim.program == str(root / "tools/image/node/22.1.0/bin/node")


def test_a_program_of_a_package_is_found_behind_volta(home: Path) -> None:
    root = volta(home)
    shim = behind(link(root / "bin/server", "volta-shim"), home)
    assert shim is not None
    assert shim.program == str(root / "tools/image/packages/server/bin/server")


def test_a_settings_file_cannot_lead_out_of_the_manager(home: Path) -> None:
    root = volta(home)
    program(home / "evil/bin/node")
    platform = {"node": {"runtime": "../../../../evil"}}
    (root / "tools/user/platform.json").write_text(json.dumps(platform))
    shim = behind(link(root / "bin/node", "volta-shim"), home)
    assert shim is not None
    assert shim.program is None
