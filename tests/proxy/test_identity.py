"""What is pinned of a launch: the command, the names of its environment, the scripts it names."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from driver import Home
from mcp_jail.proxy.identity import advice, changes, launch_identity, working_directory
from mcp_jail.proxy.prepare import prepare


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def launched(
    home: Home, *command: str, policy: str = "", cwd: Path | None = None, path: str = ""
) -> dict[str, Any]:
    home.write_policy("filesystem: {read_only: [~/projects]}\n" + policy)
    environ = home.environ(TOKEN="value-of-the-token") | ({"PATH": path} if path else {})
    prepared = prepare(
        name="fs",
        policy_file=None,
        command=command,
        environ=environ,
        client_cwd=None if cwd is None else str(cwd),
    )
    return launch_identity(prepared.plan, prepared.policy, key=b"k" * 32)


def script(home: Home, name: str, text: str) -> str:
    path = home.projects / name
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


def test_the_command_is_pinned_word_by_word(home: Home) -> None:
    found = launched(home, "/usr/bin/env", "true", "--level=a b")
    assert found["argv"] == ["/usr/bin/env", "true", "--level=a b"]


def test_a_secret_of_the_command_is_pinned_and_not_kept(home: Home) -> None:
    one, same, other = (
        launched(home, "/usr/bin/env", "true", "--token", token)["argv"]
        for token in ("hunter2", "hunter2", "hunter3")
    )
    assert one == same != other
    assert one[:3] == ["/usr/bin/env", "true", "--token"]
    assert one[3].startswith("[secret] ")
    assert "hunter" not in f"{one}{other}"


def test_the_environment_is_pinned_by_name_and_no_value_is_kept(home: Home) -> None:
    policy = "env: {pass: [TOKEN], set: {LEVEL: value-of-the-level}}\n"
    found = launched(home, "/usr/bin/env", "true", policy=policy)
    assert found["env"] == ["LEVEL", "TOKEN"]
    assert "value-of" not in str(found)


def test_a_script_is_pinned_by_its_content(home: Home) -> None:
    path = script(home, "server.py", "print(1)\n")
    before = launched(home, "/usr/bin/python3", path)
    assert before["scripts"] == {path: sha256(b"print(1)\n").hexdigest()}
    script(home, "server.py", "print(2)\n")
    assert launched(home, "/usr/bin/python3", path) != before


def test_a_program_that_is_a_script_is_pinned_and_an_interpreter_is_not(home: Home) -> None:
    path = script(home, "server", "#!/bin/sh\necho\n")
    assert list(launched(home, path)["scripts"].values()) == [
        sha256(b"#!/bin/sh\necho\n").hexdigest()
    ]
    assert launched(home, "/usr/bin/python3", "-c", "1")["scripts"] == {}


def test_a_word_that_is_no_file_is_no_script(home: Home) -> None:
    found = launched(home, "/usr/bin/env", "gone.py", str(home.projects))
    assert found["scripts"] == {}


def test_where_path_leads_for_an_interpreter_is_pinned(home: Home) -> None:
    path = script(home, "server", "#!/usr/bin/env python3\n")
    assert launched(home, path)["interpreters"] == ["/usr/bin/python3"]
    assert launched(home, script(home, "other", "#!/usr/bin/python3\n"))["interpreters"] == []


def test_the_same_program_has_one_spelling_whatever_directory_of_path_comes_first(
    home: Home,
) -> None:
    one = launched(home, "python3", path="/bin:/usr/bin")
    assert one == launched(home, "python3", path="/usr/bin:/bin")


def test_an_approval_of_before_stands_where_the_directory_says_nothing(home: Home) -> None:
    path = script(home, "server.py", "print(1)\n")
    assert sorted(launched(home, "/usr/bin/python3", path, cwd=home.projects)) == [
        "argv",
        "env",
        "interpreters",
        "scripts",
    ]


def test_the_directory_belongs_to_a_command_that_means_another_thing_elsewhere(
    home: Home,
) -> None:
    for clone in ("one", "other"):
        (home.projects / clone).mkdir()
        script(home, f"{clone}/server.py", "import lib\n")
    before = launched(home, "/usr/bin/python3", "./server.py", cwd=home.projects / "one")
    after = launched(home, "/usr/bin/python3", "./server.py", cwd=home.projects / "other")
    assert before["scripts"] == after["scripts"]
    assert working_directory(before) == str(home.projects / "one")
    assert changes(before, after) == (
        f"- in the directory {home.projects}/one",
        f"+ in the directory {home.projects}/other",
    )
    assert working_directory(launched(home, "/usr/bin/env", "true", cwd=home.projects)) is None


@pytest.mark.parametrize("value", [None, "", {"cwd": 1}, {"cwd": "relative"}, {"cwd": None}])
def test_a_lock_that_names_no_directory_has_none(value: object) -> None:
    assert working_directory(value) is None


def test_changes_are_told_line_by_line_without_secrets() -> None:
    token = "ghp_0123456789abcdefghij0123456789abcdef"
    before = {"argv": ["s", "a b"], "env": ["A", "B"], "scripts": {"s.py": "1"}}
    after = {
        "argv": ["s", token, "--token", "hidden1", "--api-key=hidden2"],
        "env": ["B", "C"],
        "scripts": {"s.py": "2"},
        "interpreters": ["/x/python3"],
        "version": "2.0",
    }
    assert changes(before, after) == (
        "- s 'a b'",
        "+ s [secret] --token [secret] --api-key=[secret]",
        "- variable A",
        "+ variable C",
        "+ interpreter /x/python3",
        "! s.py has other content than the script you approved",
        "+ version 2.0",
    )
    assert changes({"argv": ["s", "--token=a"]}, {"argv": ["s", "--token=b"]}) == (
        "- s --token=[secret]",
        "+ s --token=[secret] (with another secret, or one that was kept as it is)",
    )
    assert changes({"for": ["s", "--token", "a"]}, {"for": ["s", "--token", "b", "c"]}) == (
        "- for s --token [secret]",
        "+ for s --token [secret] c",
    )
    assert changes({"scripts": {"a": "1"}}, {"scripts": {"b": "1"}}) == ("- script a", "+ script b")
    assert changes({"version": "1"}, {"version": "2"}) == ("- version 1", "+ version 2")
    assert changes(after, after) == ()


@pytest.mark.parametrize(
    ("approved", "now", "words"),
    [
        ({"argv": ["/a/node", "x"]}, {"argv": ["/b/node", "x"]}, "whole path"),
        ({"argv": ["x"], "interpreters": ["/a/node"]}, {"argv": ["x"], "interpreters": ["/b/node"]},
         "whole path"),
        ({"argv": ["/a/node"]}, {"argv": ["/a/node"], "cwd": "/b"}, "server.cwd"),
        ({"argv": ["/a/node"]}, {"argv": ["/b/evil"]}, ""),
        ({"argv": ["/a/node", "x"]}, {"argv": ["/a/node", "y"]}, ""),
        ({}, {}, ""),
    ],
)  # fmt: skip
def test_who_stands_elsewhere_is_told_what_makes_launches_the_same(
    approved: dict[str, Any], now: dict[str, Any], words: str
) -> None:
    said = advice(approved, now)
    assert words in said
    assert bool(said) is bool(words)


def test_a_link_that_leads_elsewhere_is_told_in_a_line_for_each_place() -> None:
    before = {"places": {"/a/cur/s.py": "/a/1/s.py", "/a/same": "/a/2"}}
    after = {"places": {"/a/cur/s.py": "/a/2/s.py", "/a/same": "/a/2", "/b": "/c"}}
    assert changes(before, after) == (
        "- /a/cur/s.py leads to /a/1/s.py",
        "+ /a/cur/s.py leads to /a/2/s.py",
        "+ /b leads to /c",
    )
