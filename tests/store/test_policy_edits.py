"""Policies that are written: the user's own, whole or not at all, never over somebody's words."""

from __future__ import annotations

import os
import signal
import stat
from pathlib import Path

import msgspec
import pytest

from mcp_jail import config
from mcp_jail.core.policy import Verdict
from mcp_jail.core.rules.decide import ToolCall, compile_rules, decide
from mcp_jail.core.rules.outlook import Blind
from mcp_jail.store.files import FileError
from mcp_jail.store.places import Places, find_places
from mcp_jail.store.policies import PolicyFile, PolicyKind, find_policy, read_policy
from mcp_jail.store.policy_edits import PolicyChangedError, PolicyEditError, replace_policy
from mcp_jail.store.trust import trust
from programs import output, start, with_disk

TEXT = "\ufeffname: files\r\n# \u00e9\r\n"


@pytest.fixture
def places(tmp_path: Path) -> Places:
    found = find_places({"MCP_JAIL_HOME": str(tmp_path / "home")})
    os.makedirs(found.policies, 0o700)
    return found


@pytest.fixture
def path(places: Places) -> Path:
    path = Path(places.policies, "files.yaml")
    path.write_bytes(TEXT.encode())
    path.chmod(0o600)
    return path


@pytest.fixture
def file(places: Places, path: Path) -> PolicyFile:
    return find_policy(places, "files")


def test_a_policy_is_replaced_to_the_byte_and_nothing_else_is_left(
    file: PolicyFile, path: Path
) -> None:
    replace_policy(file, TEXT + "roots: deny")
    assert path.read_bytes() == TEXT.encode() + b"roots: deny"
    assert os.listdir(path.parent) == ["files.yaml"]


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o400, 0o755])
def test_its_permissions_stay_whatever_the_mask_is(file: PolicyFile, path: Path, mode: int) -> None:
    path.chmod(mode)
    for mask in (0o077, 0):
        old = os.umask(mask)
        try:
            replace_policy(file, TEXT)
        finally:
            os.umask(old)
        assert stat.S_IMODE(path.stat().st_mode) == mode


@pytest.mark.parametrize("change", ["name: files\n", "", TEXT + " ", TEXT.replace("\r", " ")])
def test_what_somebody_wrote_meanwhile_stays(file: PolicyFile, path: Path, change: str) -> None:
    path.write_bytes(change.encode())
    with pytest.raises(PolicyChangedError, match="has changed meanwhile; nothing was written"):
        replace_policy(file, TEXT + "roots: deny\n")
    assert path.read_bytes() == change.encode()
    assert os.listdir(path.parent) == ["files.yaml"]


def test_a_policy_that_was_taken_away_does_not_come_back(file: PolicyFile, path: Path) -> None:
    path.unlink()
    with pytest.raises(PolicyChangedError):
        replace_policy(file, TEXT)
    assert os.listdir(path.parent) == []
    path.parent.rmdir()
    with pytest.raises(FileError, match="cannot be opened"):
        replace_policy(file, TEXT)


@pytest.mark.parametrize("kind", ["link", "hard link", "fifo", "folder", "shared", "shared folder"])
def test_what_may_be_somebody_elses_is_not_written(
    file: PolicyFile, path: Path, tmp_path: Path, kind: str
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_bytes(TEXT.encode())
    match kind:
        case "link":
            path.unlink()
            path.symlink_to(elsewhere)
        case "hard link":
            (tmp_path / "second").hardlink_to(path)
        case "fifo":
            path.unlink()
            os.mkfifo(path)
        case "folder":
            path.unlink()
            path.mkdir()
        case "shared":
            path.chmod(0o666)
        case _:
            path.parent.chmod(0o777)
    before = path.lstat()
    with pytest.raises(FileError):
        replace_policy(file, "name: files\n")
    assert elsewhere.read_bytes() == TEXT.encode()
    assert path.lstat().st_ino == before.st_ino
    assert os.listdir(path.parent) == ["files.yaml"]


def test_a_policy_of_root_is_told_and_not_touched(places: Places, tmp_path: Path) -> None:
    system = tmp_path / "etc"
    system.mkdir()
    (system / "files.yaml").write_text("name: files\n")
    places = msgspec.structs.replace(places, system_policies=str(system))
    file = PolicyFile(places.system_policy("files"), "name: files\n", PolicyKind.SYSTEM)
    with pytest.raises(PolicyEditError, match="is root's, which no command changes") as caught:
        replace_policy(file, "name: x\n", by_hand="tools: {}")
    assert caught.value.hint == "as root, add:\ntools: {}"
    assert (system / "files.yaml").read_text() == "name: files\n"


def test_a_policy_elsewhere_is_told_and_not_touched(places: Places, tmp_path: Path) -> None:
    path = tmp_path / "repo.yaml"
    path.write_text("name: files\n")
    trust(places, str(path), path.read_bytes(), 1)
    file = read_policy(places, str(path))
    with pytest.raises(PolicyEditError, match="lies outside of our own directory") as caught:
        replace_policy(file, "name: x\n", by_hand="tools: {}")
    assert caught.value.hint == f"run 'mcp-jail trust {path}' after you added:\ntools: {{}}"
    assert path.read_text() == "name: files\n"
    with pytest.raises(PolicyEditError) as caught:
        replace_policy(file, "name: x\n")
    assert not caught.value.hint


CHANGE = """
import sys
from mcp_jail.store.places import find_places
from mcp_jail.store.policies import find_policy
from mcp_jail.store.policy_edits import PolicyChangedError, replace_policy
places = find_places({"MCP_JAIL_HOME": sys.argv[1]})
number = 0
while number < 20:
    file = find_policy(places, "files")
    try:
        replace_policy(file, f"{file.text}# {sys.argv[2]}-{number}\\n")
    except PolicyChangedError:
        continue
    number += 1
"""


def test_two_commands_at_once_lose_nothing(places: Places, path: Path) -> None:
    home = os.path.dirname(places.policies)
    programs = [start(CHANGE, home, name) for name in ("a", "b", "c", "d")]
    for program in programs:
        output(program)
    lines = path.read_bytes().decode().removeprefix(TEXT).splitlines()
    assert sorted(lines) == sorted(f"# {who}-{number}" for who in "abcd" for number in range(20))
    assert os.listdir(path.parent) == ["files.yaml"]


TURNS = """
import sys
from mcp_jail.store.places import find_places
from mcp_jail.store.policies import find_policy
from mcp_jail.store.policy_edits import replace_policy
places = find_places({"MCP_JAIL_HOME": sys.argv[1]})
while True:
    for letter in "ab":
        replace_policy(find_policy(places, "files"), f"name: {letter * 10_000}\\n")
        print(letter, flush=True)
"""


def test_a_command_that_is_killed_leaves_a_whole_policy_and_no_lock(
    places: Places, path: Path
) -> None:
    program = start(TURNS, os.path.dirname(places.policies))
    assert program.stdout is not None
    for _ in range(5):
        program.stdout.readline()
    program.send_signal(signal.SIGKILL)
    program.communicate()
    assert path.read_text() in {f"name: {letter * 10_000}\n" for letter in "ab"}
    replace_policy(find_policy(places, "files"), TEXT)
    assert path.read_bytes() == TEXT.encode()


FULL = """
import os, sys
from mcp_jail.store.files import FileError
from mcp_jail.store.places import find_places
from mcp_jail.store.policies import find_policy
from mcp_jail.store.policy_edits import replace_policy
places = find_places({"MCP_JAIL_HOME": "/disk/home"})
os.makedirs(places.policies, 0o700)
path = places.policy("files")
open(path, "w").write("name: files\\n")
try:
    replace_policy(find_policy(places, "files"), "#" * 2_000_000)
except FileError as error:
    print("No space" in error.message, open(path).read() == "name: files\\n")
    print(os.listdir(places.policies))
"""


def test_a_full_disk_leaves_the_old_policy() -> None:
    disk = with_disk("--perms", "0700", "--size", str(1 << 20), "--tmpfs", "/disk")
    found = output(start(FULL, before=disk))
    assert found.splitlines() == ["True True", "['files.yaml']"]


ALWAYS = """
import sys
from mcp_jail import config
from mcp_jail.config.rule_edit import rule_yaml, with_rule
from mcp_jail.core.rules.decide import compile_rules
from mcp_jail.core.rules.narrow import RuleEdit, Section, narrowest
from mcp_jail.store.places import find_places
from mcp_jail.store.policies import find_policy
from mcp_jail.store.policy_edits import PolicyChangedError, replace_policy
places = find_places({"MCP_JAIL_HOME": sys.argv[1]})
for number in range(10):
    while True:
        file = find_policy(places, "files")
        loaded = config.load(file.text, file.path)
        book = compile_rules(loaded.policy, loaded.places, home="/home/me", cwd=None)
        edit = narrowest(book, Section.TOOLS, f"t{number % 5}", {"who": sys.argv[2], "n": number})
        if not isinstance(edit, RuleEdit):
            print(edit.reason)
            break
        try:
            replace_policy(file, with_rule(file.text, file.path, edit), by_hand=rule_yaml(edit))
        except PolicyChangedError:
            continue
        print("written")
        break
"""


def test_answers_for_always_at_once_all_land_and_open_nothing_more(
    places: Places, path: Path
) -> None:
    """Of each tool's calls, those that differ in one argument from the first one get a rule."""
    programs = [start(ALWAYS, os.path.dirname(places.policies), name) for name in ("a", "b", "c")]
    said = [output(program).split("\n") for program in programs]
    text = find_policy(places, "files").text
    assert text.startswith(TEXT)
    rules = config.load(text, "p.yaml").policy.tools.rules
    book = compile_rules(config.load(text, "p.yaml").policy, {}, home="/", cwd=None)
    calls = [
        ToolCall(f"t{number % 5}", {"who": who, "n": number}, None)
        for who in "abc"
        for number in range(10)
    ]
    opened = [call for call in calls if decide(call, book, Blind()).verdict is Verdict.ALLOW]
    assert rules.keys() == {f"t{number}" for number in range(5)}
    assert len(opened) == sum(lines.count("written") for lines in said) >= 5
    for who in "abcd":
        call = ToolCall("t0", {"who": who, "n": 1}, None)
        assert decide(call, book, Blind()).verdict is Verdict.ASK
