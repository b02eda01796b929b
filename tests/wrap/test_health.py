"""What has become of wrapped files: reverted, added and dangling entries are found."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from mcp_jail.clients.health import Finding, What, look_at_clients
from mcp_jail.store.trust import trust
from mcp_jail.store.wrapped import note_all_wrapped
from wrap.homes import CURSOR, ClientHome
from wrap.sampled import file_of

ENTRY = '{"command": "uvx", "args": ["mcp-server-time"]}'
FOUR = (CURSOR, ".config/Claude/claude_desktop_config.json", ".codeium/windsurf/mcp_config.json")


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """Our program, where the tests' entries say it is."""
    path = tmp_path / "bin" / "mcp-jail"
    path.parent.mkdir()
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def wrapped(home: ClientHome, program: Path, name: str = CURSOR, text: str = "") -> Path:
    """A wrapped file whose entries start our program."""
    path = home.write(name, text or file_of(time=ENTRY))
    home.wrap(path)
    point_at(path, str(program))
    return path


def point_at(path: Path, program: str) -> None:
    def change(values: dict[str, Any]) -> None:
        for server in values["mcpServers"].values():
            if "run" in server.get("args", [])[:1]:
                server["command"] = program

    edit(path, change)


def edit(path: Path, change: Any) -> None:
    values = json.loads(path.read_text())
    change(values)
    path.write_text(json.dumps(values))


def look(home: ClientHome, program: Path) -> list[Finding]:
    return look_at_clients(home.places, home.circumstances().ground, str(program))


def test_what_is_as_we_left_it_is_no_finding(home: ClientHome, program: Path) -> None:
    wrapped(home, program)
    assert look(home, program) == []


def test_an_entry_that_its_client_put_back_is_found(home: ClientHome, program: Path) -> None:
    path = wrapped(home, program)
    path.write_text(file_of(time=ENTRY))
    (found,) = look(home, program)
    assert (found.what, found.server, found.fails) == (What.REVERTED, "time", True)
    assert found.cure == f"mcp-jail wrap {path} --server time"


def test_an_entry_that_was_added_is_found(home: ClientHome, program: Path) -> None:
    path = wrapped(home, program)
    edit(path, lambda values: values["mcpServers"].update(index_project={"command": "node"}))
    (found,) = look(home, program)
    assert (found.what, found.server) == (What.ADDED, "index_project")


def test_entries_put_into_four_clients_are_found_once_all_were_wrapped(
    home: ClientHome, program: Path
) -> None:
    """The worm that adds itself to every client, also to one that had no file before."""
    wrapped(home, program)
    note_all_wrapped(home.places)
    for name in FOUR[1:]:
        home.write(name, file_of(lint_check='{"command": "node", "args": ["x.js"]}'))
    edit(home.path / CURSOR, lambda v: v["mcpServers"].update(lint_check={"command": "node"}))
    home.write(".continue/config.yaml", "mcpServers:\n- name: lint_check\n  command: node\n")
    found = look(home, program)
    assert [each.what for each in found] == [What.ADDED] * 4
    assert {each.server for each in found} == {"lint_check"}


def test_what_a_person_left_bare_is_no_finding_until_it_starts_something_else(
    home: ClientHome, program: Path
) -> None:
    path = home.write(CURSOR, file_of(a='{"command": "x"}', b='{"command": "y"}'))
    home.wrap(path, "a")
    point_at(path, str(program))
    assert look(home, program) == []
    edit(path, lambda values: values["mcpServers"]["b"].update(command="evil"))
    (found,) = look(home, program)
    assert (found.what, found.server) == (What.ADDED, "b")


def test_a_program_that_is_gone_is_found(home: ClientHome, program: Path) -> None:
    wrapped(home, program)
    program.unlink()
    (found,) = look(home, program)
    assert found.what is What.DANGLING
    assert "which is not there" in found.message
    assert "mcp-jail unwrap" in found.cure


def test_another_program_of_our_name_is_found(home: ClientHome, program: Path) -> None:
    path = wrapped(home, program)
    other = home.write("evil/mcp-jail", "#!/bin/sh\n", mode=0o755)
    point_at(path, str(other))
    (found,) = look(home, program)
    assert found.what is What.FOREIGN
    assert str(other) in found.message


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ('{"command": "uvx", "args": ["mcp-jail", "run", "a"]}', "a package of our name"),
        ('{"command": "./mcp-jail", "args": ["run", "a"]}', "in each directory"),
        ('{"command": "mcp-jail", "args": ["run", "a"], "env": {"PATH": "/tmp"}}', "sets PATH"),
        ('{"command": "mcp-jail", "args": ["run", "a"], "env": {"LD_AUDIT": "x"}}', "other code"),
    ],
)
def test_what_is_only_called_as_we_are_is_found(
    home: ClientHome, program: Path, entry: str, words: str
) -> None:
    home.write(CURSOR, file_of(a=entry))
    (found,) = look(home, program)
    assert (found.what, found.server, found.fails) == (What.FOREIGN, "a", True)
    assert words in found.message


def test_an_entry_in_which_our_name_is_only_a_word_is_a_bare_one(
    home: ClientHome, program: Path
) -> None:
    path = wrapped(home, program)
    evil = {"command": "uvx", "args": ["--from", "evil", "mcp-jail", "run", "time"]}
    edit(path, lambda values: values["mcpServers"].update(evil=evil))
    (found,) = look(home, program)
    assert (found.what, found.server) == (What.ADDED, "evil")


def test_a_link_to_our_program_is_ours(home: ClientHome, program: Path) -> None:
    path = wrapped(home, program)
    link = home.path / "mcp-jail"
    link.symlink_to(program)
    point_at(path, str(link))
    assert look(home, program) == []


def test_a_policy_that_is_gone_is_found(home: ClientHome, program: Path) -> None:
    wrapped(home, program)
    os.unlink(home.places.policy("time"))
    (found,) = look(home, program)
    assert found.what is What.NO_POLICY


def test_a_wrapped_file_that_is_broken_is_found(home: ClientHome, program: Path) -> None:
    wrapped(home, program).write_text("{")
    (found,) = look(home, program)
    assert found.what is What.UNREADABLE


@pytest.mark.parametrize("is_all", [False, True])
def test_a_broken_file_is_told_and_fails_where_all_are_to_be_wrapped(
    home: ClientHome, program: Path, *, is_all: bool
) -> None:
    home.write(".junie/mcp/mcp.json", "{")
    home.write(CURSOR, "")  # as clients write it that have no server
    if is_all:
        note_all_wrapped(home.places)
    (found,) = look(home, program)
    assert (found.what, found.fails) == (What.UNREADABLE, is_all)
    assert found.path.endswith(".junie/mcp/mcp.json")


def test_where_nothing_was_wrapped_bare_entries_fail_nothing(
    home: ClientHome, program: Path
) -> None:
    home.write(CURSOR, file_of(time=ENTRY, far='{"url": "https://x"}'))
    (found,) = look(home, program)
    assert (found.what, found.fails) == (What.BARE, False)
    assert "1 not wrapped: time" in found.message


def test_a_wrapped_file_in_another_project_is_looked_at(home: ClientHome, program: Path) -> None:
    path = wrapped(home, program, "elsewhere/.mcp.json")
    path.write_text(file_of(time=ENTRY))
    (found,) = look(home, program)
    assert (found.what, found.path) == (What.REVERTED, str(path))


def test_after_unwrap_nothing_is_expected_any_more(home: ClientHome, program: Path) -> None:
    path = wrapped(home, program)
    home.unwrap(path)
    assert [each.fails for each in look(home, program)] == [False]


def one(home: ClientHome, program: Path, entry: dict[str, Any]) -> list[Finding]:
    """What is found of one entry, in a home with the policy `time`."""
    path = wrapped(home, program)
    edit(path, lambda values: values["mcpServers"].update(time=entry))
    return look(home, program)


RUN = ["run", "time", "--", "uvx", "mcp-server-time"]


@pytest.mark.parametrize(
    ("words", "what", "message"),
    [
        (["try", "--", "node", "x.js"], What.FOREIGN, "it starts no server by 'mcp-jail run'"),
        (["doctor"], What.FOREIGN, "it starts no server by 'mcp-jail run'"),
        ([], What.FOREIGN, "it starts no server by 'mcp-jail run'"),
        (["run"], What.NO_SERVER, "starts 'mcp-jail run', which is no"),
        (["run", "--policy", "/tmp/gone.yaml"], What.ELSEWHERE, "there is no policy file"),
        (["run", "--policy=FILE", "--", "x"], What.ELSEWHERE, "is not trusted"),
        (["run", "own", "--", "/no/such/server"], What.NO_COMMAND, "'/no/such/server' is not"),
        (["run", "own", "--", "~/no-server"], What.NO_COMMAND, "'~/no-server' is not there"),
        (["run", "time", "--", "node", "/tmp/x.js"], What.OTHER_COMMAND, "another command than"),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, list) else "",
)
def test_a_start_that_is_none_of_a_policy_here_is_found(
    home: ClientHome, program: Path, words: list[str], what: What, message: str
) -> None:
    file = home.write("any.yaml", "name: any\n")
    home.write(".config/mcp-jail/policies/own.yaml", "name: own\n")
    words = [word.replace("FILE", str(file)) for word in words]
    (found,) = one(home, program, {"command": str(program), "args": words})
    assert (found.what, found.fails) == (what, True)
    assert message in found.message
    assert found.cure


def test_a_policy_file_that_was_trusted_is_told_and_fails_nothing(
    home: ClientHome, program: Path
) -> None:
    file = home.write("any.yaml", "name: any\n")
    trust(home.places, str(file), file.read_bytes(), 0)
    words = ["run", "--policy", str(file), "--", "x"]
    (found,) = one(home, program, {"command": str(program), "args": words})
    assert (found.what, found.fails) == (What.ELSEWHERE, False)
    assert "mcp-jail show --policy" in found.cure


def test_a_command_that_a_pinned_package_stands_for_need_not_be_there(
    home: ClientHome, program: Path
) -> None:
    words = ["run", "time", "--", "/no/such/uvx", "mcp-server-time"]
    path = wrapped(home, program)
    edit(path, lambda v: v["mcpServers"].update(time={"command": str(program), "args": words}))
    policy = Path(home.places.policy("time"))
    policy.write_text("name: time\npackage: {pypi: mcp-server-time, version: 1.0.0}\n")
    assert look(home, program) == []


def test_a_bare_name_is_no_finding_under_the_short_path_of_cron(
    home: ClientHome, program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert one(home, program, {"command": "mcp-jail", "args": RUN}) == []


def test_a_projects_file_that_all_left_is_told_and_fails_nothing(
    home: ClientHome, program: Path
) -> None:
    wrapped(home, program)
    note_all_wrapped(home.places)
    home.write(".mcp.json", file_of(team='{"command": "node", "args": ["x.js"]}'))
    (found,) = look(home, program)
    assert (found.what, found.fails) == (What.BARE, False)
    assert "team" in found.message


def test_a_key_that_is_gone_is_told_as_such_and_the_cure_mends_it(
    home: ClientHome, program: Path
) -> None:
    path = wrapped(home, program, text=file_of(a='{"command": "x", "args": ["${dir}"]}'))
    for file in Path(home.places.state).rglob("*"):
        if file.is_file():
            file.unlink()
    (found,) = look(home, program)
    assert (found.what, found.server, found.fails) == (What.NO_KEY, "a", True)
    assert f"mcp-jail unwrap {path} --server a && mcp-jail wrap {path} --server a" in found.cure
