"""Which files of a server's own a launch is held to, by what each program does with its words."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mcp_jail.proxy import launched_code as module
from mcp_jail.proxy.launched_code import LaunchedCode, launched_code


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A project with a file for each way a program finds its code."""
    for name in (
        "server", "run", "data.db", "dist/index.js", "dist/main.js", "hook.mjs", "lib.js", "app.js",
        "mod.py", "pkg/__init__.py", "pkg/__main__.py", "x/tool.bash", "server.awk",
        "node_modules/@me/tool/index.js",
    ):  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"# {name}\n")
    (tmp_path / "dist/package.json").write_text('{"main": "main"}')
    (tmp_path / "node_modules/@me/tool/package.json").write_text("{}")
    (tmp_path / "package.json").write_text('{"scripts": {"start": "node app.js"}}')
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    (tmp_path / "deep/er").mkdir(parents=True)
    return tmp_path


def held(cwd: Path, *command: str, known: tuple[str, ...] = ()) -> LaunchedCode:
    return launched_code(command, str(cwd), known, is_shared=True)


@pytest.mark.parametrize(
    ("command", "names"),
    [
        (("python3", "server"), ["server"]),
        (("python3.13t", "-u", "-X", "dev", "server", "data.db"), ["server"]),
        (("bash", "run", "server"), ["run"]),
        (("sh", "-e", "-o", "pipefail", "run"), ["run"]),
        (("perl", "server"), ["server"]),
        (("node", "lib"), ["lib.js"]),
        (("node", "dist"), ["dist/index.js", "dist/main.js", "dist/package.json"]),
        (("node", "--import=./hook.mjs", "app.js"), ["./hook.mjs", "app.js"]),
        (("node", "-r", "./lib", "app.js"), ["./lib.js", "app.js"]),
        (("node", "-r", "@me/tool/x", "app.js"), ["app.js", "node_modules/@me/tool/package.json"]),
        (("node", "--run", "start"), ["package.json"]),
        (("anything", "-x=app.js"), ["app.js"]),
        (("anything", "x/tool.bash"), ["x/tool.bash"]),
        (("anything", "server", "data.db"), []),
        (("awk", "-f", "server.awk"), ["server.awk"]),
        (("bun", "run", "server"), ["package.json", "server"]),
        (("python3", "-m", "mod"), ["mod.py"]),
        (("python3", "-Bm", "pkg"), ["pkg/__init__.py", "pkg/__main__.py"]),
        (("python3", "-mmod", "server"), ["mod.py"]),
        (("python3", "-I", "-m", "mod"), []),
        (("python3", "-Pm", "mod"), []),
        (("bash", "-em", "run"), ["run"]),
        (("env", "A=1", "-u", "B", "python3", "server"), ["server"]),
        (("timeout", "5", "nice", "bash", "run"), ["run"]),
        (("uv", "run", "--with", "mcp", "python", "server"), ["pyproject.toml", "server"]),
        (("uv", "run", "server"), ["pyproject.toml"]),
        (("npm", "start"), ["package.json"]),
        (("yarn", "serve"), ["package.json"]),
        (("npm", "--version"), []),
        (("npx", "-y", "@me/tool@1.2"), ["node_modules/@me/tool/package.json"]),
        (("npm", "exec", "@me/tool"), ["node_modules/@me/tool/package.json"]),
        (("npx", "-y", "other"), []),
    ],
    ids=" ".join,
)
def test_the_code_of_a_command_is_held(
    clone: Path, command: tuple[str, ...], names: list[str]
) -> None:
    found = held(clone, *command)
    assert sorted(found.scripts) == names
    assert found.cwd == (str(clone) if names else None)


def test_what_is_found_above_is_held_from_below(clone: Path) -> None:
    found = held(clone / "deep/er", "npm", "start")
    assert list(found.scripts) == ["../../package.json"]
    assert found.cwd == str(clone / "deep/er")


def test_words_begin_where_an_option_says(clone: Path) -> None:
    found = held(clone / "deep", "uv", "run", "--directory", str(clone), "python", "server")
    assert f"{clone}/server" in found.scripts
    assert f"{clone}/pyproject.toml" in found.scripts
    assert held(clone / "deep", "npm", "--prefix=..", "start").scripts.keys() == {"../package.json"}


def test_the_project_of_a_directory_counts_for_nothing_where_another_is_named(
    clone: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = tmp_path_factory.mktemp("other")
    (other / "serve").write_text("")
    (other / "pyproject.toml").write_text("[project]\n")
    found = held(clone, "uv", "run", "--directory", str(other), "python", "serve")
    assert sorted(found.scripts) == [f"{other}/pyproject.toml", f"{other}/serve"]
    assert found.cwd is None


@pytest.mark.parametrize(
    "words", [("npm", "start"), ("npx", "@me/tool"), ("python3", "-m", "mod")], ids=" ".join
)
def test_what_lies_in_a_directory_that_is_not_shared_is_not_found(
    clone: Path, words: tuple[str, ...]
) -> None:
    found = launched_code(words, str(clone), (), is_shared=False)
    assert (found.scripts, found.cwd) == ({}, None)


def test_an_absolute_script_needs_no_directory(clone: Path) -> None:
    found = held(clone / "deep", "python3", str(clone / "server"))
    assert list(found.scripts) == [f"{clone}/server"]
    assert (found.cwd, found.places) == (None, {})


def test_where_a_link_leads_is_held(clone: Path) -> None:
    (clone / "current").symlink_to("dist")
    path = str(clone / "current/index.js")
    assert held(clone, "node", path).places == {path: str(clone / "dist/index.js")}
    assert held(clone, "node", "dist/index.js").places == {}


def test_a_module_that_stands_there_in_another_form_binds_the_directory(clone: Path) -> None:
    (clone / "fast.cpython-311-x86_64-linux-gnu.so").touch()
    assert held(clone, "python3", "-m", "fast").cwd == str(clone)
    assert held(clone, "python3", "-m", "json.tool").cwd is None


@pytest.mark.parametrize(
    "words",
    [
        ("sh", "-c", "node ./app.js"),
        ("python3", "-c", "import mod"),
        ("env", "-iS", "node ./app.js"),
    ],
)
def test_code_in_the_command_binds_a_shared_directory(clone: Path, words: tuple[str, ...]) -> None:
    assert held(clone, *words).cwd == str(clone)
    assert launched_code(words, str(clone), (), is_shared=False).cwd is None


def test_an_option_of_what_env_starts_is_none_of_its_own(clone: Path) -> None:
    script = str(clone / "server")
    assert held(clone, "env", "A=1", "python3", "-S", script).cwd is None


def test_what_lies_in_a_tree_with_a_digest_is_left(clone: Path) -> None:
    found = held(clone, "node", str(clone / "app.js"), known=(str(clone),))
    assert (found.scripts, found.cwd) == ({}, None)


def test_what_is_too_large_for_a_script_is_not_read(
    clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = os.path.getsize(clone / "server")
    monkeypatch.setattr(module, "SCRIPT_LIMIT", size)
    assert held(clone, "python3", "server").scripts != {}
    monkeypatch.setattr(module, "SCRIPT_LIMIT", size - 1)
    assert held(clone, "python3", "server").scripts == {}


@pytest.mark.parametrize("text", ["", "[]", "{", '{"main": 1}', '{"main": "."}', '{"main": "/"}'])
def test_any_manifest_is_read(clone: Path, text: str) -> None:
    (clone / "dist/package.json").write_text(text)
    assert "dist/index.js" in held(clone, "node", "dist").scripts
