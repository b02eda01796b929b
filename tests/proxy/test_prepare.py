"""A policy and this machine: what cannot be had is told with its place, nothing is made up."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from driver import Home
from mcp_jail.errors import ExitCode, PolicyError
from mcp_jail.proxy.prepare import Prepared, prepare


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def prepared(home: Home, text: str, *command: str) -> Prepared:
    home.write_policy(text)
    return prepare(name="fs", policy_file=None, command=command, environ=home.environ())


def refused(home: Home, text: str) -> list[str]:
    """What a policy is refused for, each with its line and column."""
    with pytest.raises(PolicyError) as caught:
        prepared(home, text, "/bin/true")
    assert caught.value.exit_code is ExitCode.USAGE
    return [f"{p.place.line}:{p.place.column} {p.message}" for p in caught.value.problems]


def test_all_that_cannot_be_shared_is_told_at_once_with_its_place(home: Home) -> None:
    found = refused(
        home, "filesystem:\n  read_only: [~/gone, ~/projects, /etc]\n  read_write: [~/lost, ~]\n"
    )
    places = [line.partition(" ")[0] for line in found]
    assert places == ["3:15", "3:35", "4:16", "4:24"]
    assert "gone' is not there" in found[0]
    assert "cannot be shared" in found[1]


def test_an_audit_inside_a_share_is_the_share_s_fault(home: Home) -> None:
    text = "audit: {path: ~/projects/scratch/a.jsonl}\nfilesystem: {read_write: [~/projects]}\n"
    (found,) = refused(home, text)
    assert found.startswith("3:27 ")
    assert "is the audit file" in found


@pytest.mark.parametrize(
    ("cwd", "words"),
    [
        ("~/gone", "gone' is no directory"),
        ("~/projects/readme.txt", "readme.txt' is no directory"),
        ("~/.ssh", ".ssh' is not shared"),
    ],
)
def test_a_directory_to_start_in_that_cannot_be_had_is_refused(
    home: Home, cwd: str, words: str
) -> None:
    (found,) = refused(home, f"server: {{cwd: {cwd}}}\nfilesystem: {{read_only: [~/projects]}}\n")
    assert found.startswith("2:10 ")
    assert words in found


@pytest.mark.parametrize("cwd", ["~", "~/projects", "~/projects/scratch", "/tmp", "null"])
def test_a_directory_to_start_in_that_is_there_is_taken(home: Home, cwd: str) -> None:
    text = f"server: {{cwd: {cwd}}}\nfilesystem: {{read_only: [~/projects]}}\n"
    plan = prepared(home, text, "/bin/true").plan
    if cwd != "null":
        assert plan.cwd == cwd.replace("~", str(home.path))


def test_no_directory_is_made_for_an_audit_elsewhere(home: Home) -> None:
    (found,) = refused(home, "audit: {path: ~/nodir/deep/x.jsonl}\n")
    assert found.startswith("2:9 ")
    assert "nodir/deep' is not there" in found
    assert not (home.path / "nodir").exists()


def test_a_tilde_is_expanded_in_every_word_of_a_command(home: Home) -> None:
    program = home.path / "tools" / "server"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    words = ("~/tools/server", "~", "~/x", "a~/x", "--root=~/x")
    here = (str(program), str(home.path), f"{home.path}/x", "a~/x", "--root=~/x")
    named = f"server: {{command: [{', '.join(words)}]}}\n"
    assert prepared(home, "", *words).plan.command == here
    assert prepared(home, named).plan.command == here
    for given, text in itertools.product((words, here), (named, "")):
        assert prepared(home, text, *given).plan.command == here


def test_a_whole_line_in_one_word_is_taken_apart_with_or_without_a_policys_command(
    home: Home,
) -> None:
    line = "/usr/bin/env -i 'a b' ~/x"
    words = ("/usr/bin/env", "-i", "a b", f"{home.path}/x")
    assert prepared(home, "", line).plan.command == words
    assert prepared(home, "", line, "more").plan.command == (*words, "more")
    named = "server: {command: [/usr/bin/env, -i, a b, ~/x]}\n"
    assert prepared(home, named, line).plan.command == words


def test_a_program_with_blanks_in_its_name_is_a_program(home: Home) -> None:
    program = home.projects / "my server"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert prepared(home, "", str(program)).plan.command == (str(program),)
