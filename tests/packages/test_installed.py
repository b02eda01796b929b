"""What a start finds of a package: its record, and the words that start its program."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

import msgspec
import pytest

from mcp_jail.core.packages import PackageKind, Pinned
from mcp_jail.errors import LaunchMismatchError, PackageError
from mcp_jail.packages.installed import (
    Checking,
    Installed,
    Record,
    check,
    command_in,
    find,
    folder_of,
)
from mcp_jail.packages.tree import measure
from mcp_jail.store.files import make_private_folder, replace_private
from mcp_jail.store.places import find_places

NPM = Pinned(kind=PackageKind.NPM, name="@s/x", version="1.0.0")
PYPI = Pinned(kind=PackageKind.PYPI, name="mcp-x", version="1.0")


def an_npm_package(tmp_path: Path, programs: dict[str, str]) -> Installed:
    """A package whose programs have these first lines."""
    (tmp_path / "tree").mkdir()
    for name, first in programs.items():
        (tmp_path / "tree" / name).write_text(f"{first}\n")
    record = Record(
        package=NPM, digest="", stamp="", programs={n: n for n in programs}, files=1, size=1, t=0
    )
    return Installed(str(tmp_path), record)


@pytest.mark.parametrize(
    "words",
    [
        ("npx", "-y", "@s/x", "a", "b"),
        ("npx", "@s/x@9.9.9", "a", "b"),
        ("npm", "exec", "-y", "--", "@s/x", "a", "b"),
        ("npx", "-p", "@s/x", "x", "a", "b"),
        ("x", "a", "b"),
    ],
)
def test_every_way_to_name_the_program_starts_it_directly(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    found = an_npm_package(tmp_path, {"x": "#!/usr/bin/env node", "y": ""})
    assert command_in(found, words) == ("node", f"{tmp_path}/tree/x", "a", "b")


def test_no_words_start_the_only_program_or_the_one_with_the_package_s_name(tmp_path: Path) -> None:
    found = an_npm_package(tmp_path, {"x": "#!/usr/bin/node", "y": ""})
    assert command_in(found, ()) == ("node", f"{tmp_path}/tree/x")
    alone = msgspec.structs.replace(found.record, programs={"other": "y"})
    assert command_in(Installed(str(tmp_path), alone), ()) == (f"{tmp_path}/tree/y",)


def test_a_script_with_options_or_another_interpreter_is_started_itself(tmp_path: Path) -> None:
    found = an_npm_package(tmp_path, {"x": "#!/usr/bin/env -S node --expose-gc", "y": "#!/bin/sh"})
    assert command_in(found, ("x",)) == (f"{tmp_path}/tree/x",)
    assert command_in(found, ("y", "a")) == (f"{tmp_path}/tree/y", "a")


def test_a_python_program_is_run_by_its_environment(tmp_path: Path) -> None:
    (tmp_path / "tree" / "bin").mkdir(parents=True)
    (tmp_path / "tree" / "bin" / "mcp-x").write_text("#!/home/me/tree/bin/python\n")
    record = Record(
        package=PYPI,
        digest="",
        stamp="",
        programs={"mcp-x": "bin/mcp-x"},
        interpreter="bin/python",
        files=1,
        size=1,
        t=0,
    )
    found = Installed(str(tmp_path), record)
    started = (f"{tmp_path}/tree/bin/python", f"{tmp_path}/tree/bin/mcp-x", "-a")
    assert command_in(found, ("uvx", "mcp-x", "-a")) == started
    assert command_in(found, ("uvx", "MCP_x@3.0", "-a")) == started
    assert command_in(found, ("uv", "tool", "run", "--from", "mcp-x", "mcp-x", "-a")) == started


@pytest.mark.parametrize(
    "words", [("npx", "-y", "y"), ("npx", "-y", "@t/x"), ("uvx", "x"), ("npx", "-p", "y", "x")]
)
def test_another_package_is_not_started(words: tuple[str, ...], tmp_path: Path) -> None:
    found = an_npm_package(tmp_path, {"x": "#!/usr/bin/env node"})
    with pytest.raises(LaunchMismatchError, match=r"the policy pins npm @s/x 1\.0\.0"):
        command_in(found, words)


@pytest.mark.parametrize(
    "words", [("../x",), ("/bin/sh", "-c", "x"), ("npx", "-p", "@s/x", "../../y"), ("node", "z.js")]
)
def test_what_is_no_program_of_the_package_is_not_started(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    found = an_npm_package(tmp_path, {"x": "#!/usr/bin/env node"})
    with pytest.raises(PackageError) as error:
        command_in(found, words)
    assert error.value.hint == "its programs: x"


@pytest.mark.parametrize(
    "text", [b"", b"{", b"[]", b'{"v": 2}', msgspec.json.encode({"v": 1, "package": {}})]
)
def test_a_record_that_cannot_be_read_is_no_package(text: bytes) -> None:
    places = find_places()
    folder = folder_of(places, NPM)
    make_private_folder(folder)
    replace_private(f"{folder}/record.json", text)
    with pytest.raises(PackageError, match="its record cannot be read"):
        find(places, NPM)


def test_a_record_of_another_package_does_not_count(tmp_path: Path) -> None:
    places = find_places()
    folder = folder_of(places, NPM)
    other = msgspec.structs.replace(NPM, version="6.6.6")
    record = Record(package=other, digest="", stamp="", programs={}, files=0, size=0, t=0)
    make_private_folder(folder)
    replace_private(f"{folder}/record.json", msgspec.json.encode(record))
    with pytest.raises(PackageError, match="its record is of another package"):
        find(places, NPM)


@pytest.fixture
def whole(tmp_path: Path) -> Installed:
    """A package whose record says what its tree is."""
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "x").write_text("one")
    measured = measure(str(tmp_path / "tree"))
    record = Record(
        package=NPM,
        digest=measured.digest,
        stamp=measured.stamp,
        programs={"x": "x"},
        files=1,
        size=3,
        t=0,
    )
    return Installed(str(tmp_path), record)


def test_a_check_beside_the_start_lets_an_untouched_tree_pass(whole: Installed) -> None:
    Checking(whole).wait()


def test_a_check_beside_the_start_refuses_a_changed_tree(whole: Installed) -> None:
    Path(whole.tree, "x").write_text("two")
    checking = Checking(whole)
    with pytest.raises(PackageError, match="its files were changed"):
        checking.wait()


def test_a_tree_that_was_only_touched_passes_by_its_digest(whole: Installed) -> None:
    os.utime(Path(whole.tree, "x"))
    Checking(whole).wait()
    assert check(whole) is False


def test_a_check_that_died_is_done_again(whole: Installed, monkeypatch: pytest.MonkeyPatch) -> None:
    Path(whole.tree, "x").write_text("two")
    checking = Checking(whole)
    monkeypatch.setattr(os, "waitpid", lambda pid, _options: (pid, signal.SIGKILL))
    with pytest.raises(PackageError):
        checking.wait()


def test_a_tree_that_is_gone_is_refused(whole: Installed) -> None:
    shutil.rmtree(whole.tree)
    with pytest.raises(PackageError, match="cannot be read"):
        Checking(whole).wait()


def test_a_tree_whose_python_was_removed_is_not_whole(tmp_path: Path) -> None:
    (tmp_path / "tree" / "bin").mkdir(parents=True)
    (tmp_path / "tree" / "bin" / "mcp-x").write_text("#!/home/me/tree/bin/python\n")
    (tmp_path / "tree" / "bin" / "python").symlink_to(tmp_path / "gone/python3.12")
    made = measure(str(tmp_path / "tree"))
    record = Record(
        package=PYPI,
        digest=made.digest,
        stamp=made.stamp,
        programs={"mcp-x": "bin/mcp-x"},
        interpreter="bin/python",
        files=1,
        size=1,
        t=0,
    )
    found = Installed(str(tmp_path), record)
    for use in (lambda: check(found), lambda: command_in(found, ())):
        with pytest.raises(PackageError, match=r"gone/python3.12', which runs it, is not there"):
            use()
    (tmp_path / "gone").mkdir()
    (tmp_path / "gone/python3.12").touch()
    assert check(found)
