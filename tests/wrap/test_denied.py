"""What Claude Code was told to deny does not start behind us, whoever's settings say so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from mcp_jail.clients.health import What, look_at_clients
from mcp_jail.clients.planning import plan_wrap
from mcp_jail.clients.plans import FilePlan, Group
from mcp_jail.clients.policy_names import Names
from wrap.homes import CURSOR, ClientHome, of
from wrap.sampled import PROGRAM, file_of

BAD: Final = ["python3", "/srv/x.py", "bad"]
ENTRIES: Final = file_of(
    bad='{"command": "python3", "args": ["/srv/x.py", "bad"]}',
    good='{"command": "python3", "args": ["/srv/x.py", "good"]}',
)
PLACES: Final = (".claude/settings.json", ".claude/remote-settings.json")
OF_PROJECT: Final = ("project/.claude/settings.json", "project/.claude/settings.local.json")


def denies(
    home: ClientHome, name: str, *commands: list[str], key: str = "deniedMcpServers"
) -> None:
    listed = [{"serverCommand": command} for command in commands]
    home.write(name, json.dumps({key: [{"serverName": "x"}, *listed]}))


def plan_in(home: ClientHome, path: Path, folder: str = "project") -> FilePlan:
    """What `wrap` would do to a file, for one who stands in a directory of this home."""
    place = home.path / folder
    place.mkdir(exist_ok=True)
    given = home.circumstances()
    ground = msgspec.structs.replace(given.ground, cwd=str(place))
    names = Names(home.places, str(home.path))
    return plan_wrap(msgspec.structs.replace(given, ground=ground), home.target(path), names)


@pytest.mark.parametrize("place", PLACES)
def test_a_denied_command_is_not_wrapped_and_others_are(home: ClientHome, place: str) -> None:
    denies(home, place, BAD)
    plan = plan_in(home, home.write(".claude.json", ENTRIES))
    assert set(of(plan, Group.DONE)) == {"good"}
    refused = of(plan, Group.REFUSED)["bad"]
    assert str(home.path / place) in refused.reason
    assert refused.hint


@pytest.mark.parametrize("place", OF_PROJECT)
def test_a_projects_list_stops_its_own_entries_and_no_persons(home: ClientHome, place: str) -> None:
    denies(home, place, BAD)
    project = home.path / "project"
    known: dict[str, Any] = json.loads(ENTRIES)
    known["projects"] = {str(project): {"mcpServers": {"theirs": known["mcpServers"]["bad"]}}}
    plan = plan_in(home, home.write(".claude.json", json.dumps(known)))
    assert set(of(plan, Group.DONE)) == {"bad", "good"}
    assert any(str(home.path / place) in note for note in plan.notes), "told, and no more"
    assert set(of(plan, Group.REFUSED)) == {"theirs"}
    plan = plan_in(home, home.write("project/.mcp.json", ENTRIES))
    assert set(of(plan, Group.REFUSED)) == {"bad"}


def test_a_project_within_another_decides_nothing_for_that(home: ClientHome) -> None:
    denies(home, "outer/clone/.claude/settings.json", BAD)
    (home.path / "outer/.git").mkdir()
    plan = plan_in(home, home.write("outer/.mcp.json", ENTRIES), "outer/clone")
    assert set(of(plan, Group.DONE)) == {"bad", "good"}


def test_a_list_beside_a_projects_file_counts_wherever_one_stands(home: ClientHome) -> None:
    denies(home, "other/.claude/settings.json", BAD)
    plan = plan_in(home, home.write("other/.mcp.json", ENTRIES))
    assert "bad" in of(plan, Group.REFUSED)


@pytest.mark.parametrize(
    ("word", "is_denied"),
    [("${DIR}/x.py", True), ("${DIR:-/srv}/x.py", True), ("${D}/y.py", False)],
)
def test_what_the_client_fills_in_may_be_what_is_denied(
    home: ClientHome, word: str, *, is_denied: bool
) -> None:
    denies(home, PLACES[0], BAD)
    entry = json.dumps({"command": "python3", "args": [word, "bad"]})
    plan = plan_in(home, home.write(".claude.json", file_of(bad=entry)))
    assert ("bad" in of(plan, Group.REFUSED)) is is_denied


def test_a_list_of_allowed_commands_is_told(home: ClientHome) -> None:
    denies(home, PLACES[0], BAD, key="allowedMcpServers")
    plan = plan_in(home, home.write(".claude.json", ENTRIES))
    assert set(of(plan, Group.DONE)) == {"bad", "good"}
    assert any("'allowedMcpServers'" in note for note in plan.notes)


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"deniedMcpServers": 7}', '{"deniedMcpServers": [[]]}']
)
def test_settings_that_their_client_could_not_read_forbid_nothing(
    home: ClientHome, text: str
) -> None:
    home.write(PLACES[0], text)
    assert len(of(plan_in(home, home.write(".claude.json", ENTRIES)), Group.DONE)) == 2


def test_other_clients_go_by_no_list_of_claude_codes(home: ClientHome) -> None:
    denies(home, PLACES[0], BAD)
    assert len(of(plan_in(home, home.write(CURSOR, ENTRIES)), Group.DONE)) == 2


@pytest.mark.parametrize("place", OF_PROJECT)
def test_no_project_has_doctor_fail_or_say_unwrap_of_a_persons_own_entry(
    home: ClientHome, tmp_path: Path, place: str
) -> None:
    program = tmp_path / "mcp-jail"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    project = home.path / "project"
    project.mkdir()
    known: dict[str, Any] = json.loads(ENTRIES)
    entry = {"command": "python3", "args": ["/srv/x.py", "bad"], "env": {"A": "b"}}
    known["projects"] = {str(project): {"mcpServers": {"theirs": entry}}}
    path = home.write(".claude.json", json.dumps(known))
    home.wrap(path)
    path.write_text(path.read_text().replace("/home/me/.local/bin/mcp-jail", str(program)))
    denies(home, place, BAD)
    found = look_at_clients(home.places, home.circumstances().ground, str(program))
    fails = {each.server: each.fails for each in found if each.what is What.DENIED}
    assert fails == {"bad": False, "theirs": True}
    assert not [each for each in found if "unwrap" in each.cure]


def test_doctor_gives_the_reason_for_one_that_wrap_refused(home: ClientHome) -> None:
    denies(home, PLACES[0], BAD)
    home.wrap(home.write(".claude.json", ENTRIES), is_all=True)
    found = look_at_clients(home.places, home.circumstances().ground, PROGRAM)
    (left,) = (each for each in found if each.server == "bad")
    assert (left.what, left.fails) == (What.LEFT, False)
    assert "'deniedMcpServers' in" in left.message
    assert "take the entry out" in left.cure
    assert "mcp-jail" not in left.cure


def test_doctor_finds_a_wrapped_server_that_was_denied_since(
    home: ClientHome, tmp_path: Path
) -> None:
    program = tmp_path / "mcp-jail"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    path = home.write(".claude.json", ENTRIES)
    home.wrap(path)
    path.write_text(path.read_text().replace("/home/me/.local/bin/mcp-jail", str(program)))
    ground = home.circumstances().ground
    assert look_at_clients(home.places, ground, str(program)) == []
    denies(home, PLACES[0], BAD)
    (found,) = look_at_clients(home.places, ground, str(program))
    assert (found.what, found.server, found.fails) == (What.DENIED, "bad", True)
    assert found.cure == f"mcp-jail unwrap {path} --server bad"
