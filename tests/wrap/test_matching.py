"""Each wrapped entry gets back what is its own, wherever its client has put it meanwhile."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from mcp_jail.clients.plans import FilePlan, Group
from wrap.homes import CURSOR, ClientHome, of
from wrap.sampled import file_of

LISTED = """\
mcpServers:
- name: a
  command: node
  env: {NODE_OPTIONS: --require /a.js, K: v}
- name: b
  command: python3
  args: [b.py]
- name: c
  command: cmd-c
  env: {PYTHONPATH: /c}
"""
HOOKED = '{"command": "node", "env": {"NODE_OPTIONS": "--x"}}'


def servers(path: Path) -> Any:
    text = path.read_text()
    return (yaml.safe_load(text) if path.suffix == ".yaml" else json.loads(text))["mcpServers"]


def listed(path: Path, *names: str) -> None:
    """The list as its client writes it anew: with these servers, in this order."""
    by_name = {each["name"]: each for each in servers(path)}
    path.write_text(yaml.safe_dump({"mcpServers": [by_name[name] for name in names]}))


def rewritten(path: Path, **entries: Any) -> None:
    path.write_text(json.dumps({"mcpServers": entries}, indent=1))


def reasons(plan: FilePlan, group: Group) -> set[str]:
    return {each.reason for each in of(plan, group).values()}


@pytest.mark.parametrize("order", ["bac", "cb", "b", "ca", "cab"])
def test_servers_of_a_list_that_moved_get_back_their_own(home: ClientHome, order: str) -> None:
    path = home.write(".continue/config.yaml", LISTED)
    before = {each["name"]: each for each in servers(path)}
    home.wrap(path)
    listed(path, *order)
    home.unwrap(path)
    assert servers(path) == [before[name] for name in order]
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_a_server_that_was_renamed_gets_back_its_own(home: ClientHome) -> None:
    path = home.write(CURSOR, file_of(a=HOOKED))
    home.wrap(path)
    rewritten(path, other=servers(path)["a"])
    plan = home.unwrap(path)
    assert reasons(plan, Group.DONE) == {
        "by what the entry says; its layout may differ from before"
    }
    assert of(plan, Group.DONE)["other"].moved == ("NODE_OPTIONS",)
    assert servers(path) == {"other": json.loads(HOOKED)}
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_a_server_whose_arguments_were_edited_gets_back_its_variables(home: ClientHome) -> None:
    path = home.write(CURSOR, file_of(a=HOOKED, b='{"command": "x"}'))
    home.wrap(path)
    found = servers(path)
    found["a"]["args"].append("--more")
    rewritten(path, **found)
    home.unwrap(path, "a")
    home.unwrap(path)
    expected = {"command": "node", "args": ["--more"], "env": {"NODE_OPTIONS": "--x"}}
    assert servers(path) == {"a": expected, "b": {"command": "x"}}


def test_another_server_under_a_known_name_gets_nothing(home: ClientHome) -> None:
    path = home.write(CURSOR, file_of(a=HOOKED))
    home.wrap(path)
    program = servers(path)["a"]["command"]
    rewritten(path, a={"command": program, "args": ["run", "b", "--", "other"]})
    for only in ((), ("a",)):
        refused = of(home.unwrap(path, *only), Group.REFUSED)["a"]
        assert "neither a record of it nor its policy 'b' is here" in refused.reason
        assert "MCP_JAIL_HOME" in refused.hint
    assert servers(path)["a"]["command"] == program, "its variables may be elsewhere"
    home.wrap(home.write(".junie/mcp/mcp.json", file_of(b='{"command": "another"}')))
    (refused,) = of(home.unwrap(path), Group.REFUSED).values()
    assert "no policy 'b' that is for its command" in refused.reason
    plan = home.unwrap(path, "a")
    assert "no record" in of(plan, Group.DONE)["a"].reason
    assert servers(path) == {"a": {"command": "other", "args": []}}


def test_a_wrapped_entry_that_its_client_copied_to_another_file_is_unwrapped(
    home: ClientHome,
) -> None:
    path = home.write(CURSOR, file_of(a='{"command": "x"}'))
    home.wrap(path)
    copy = home.write(".junie/mcp/mcp.json", path.read_text())
    assert "no record" in of(home.unwrap(copy), Group.DONE)["a"].reason
    assert servers(copy) == {"a": {"command": "x", "args": []}}


def test_what_was_altered_since_is_unwrapped_by_its_name_alone(home: ClientHome) -> None:
    entry = '{"command": "python3", "args": ["/srv.py", "--token", "hunter2"]}'
    path = home.write(CURSOR, file_of(mine=entry, b='{"command": "x"}'))
    home.wrap(path)
    found = servers(path)
    found["mine"]["args"][3:] = ["node", "/tmp/evil.js"]
    rewritten(path, **found)
    refused = of(home.unwrap(path), Group.REFUSED)["mine"]
    assert refused.reason.endswith("which is 'python3 /srv.py --token [secret]'")
    assert "--server mine" in refused.hint
    assert servers(path) == {"mine": found["mine"], "b": {"command": "x"}}
    told = of(home.unwrap(path, "mine"), Group.DONE)["mine"]
    assert told.reason == refused.reason
    assert servers(path)["mine"] == {"command": "node", "args": ["/tmp/evil.js"]}


def test_a_copy_of_a_wrapped_entry_is_what_its_original_was(home: ClientHome) -> None:
    path = home.write(CURSOR, file_of(a=HOOKED))
    home.wrap(path)
    rewritten(path, a=servers(path)["a"], b=servers(path)["a"])
    home.unwrap(path)
    assert servers(path) == {"a": json.loads(HOOKED), "b": json.loads(HOOKED)}


def in_two_projects(home: ClientHome) -> Path:
    """Two wrapped projects with a server of one name and one policy; one of them was hooked."""
    projects = {"/p": {"mcpServers": {"a": json.loads(HOOKED)}}, "/q": {"mcpServers": {}}}
    path = home.write(".claude.json", json.dumps({"projects": projects}))
    home.wrap(path)
    values = json.loads(path.read_text())
    values["projects"]["/q"]["mcpServers"]["a"] = {"command": "node"}
    path.write_text(json.dumps(values))
    home.wrap(path)
    return path


def test_what_cannot_be_told_apart_is_refused_and_says_so(home: ClientHome) -> None:
    """Two projects with a server of one name, whose policy sets what one of them had."""
    path = in_two_projects(home)
    values = json.loads(path.read_text())
    found = [values["projects"][name]["mcpServers"]["a"] for name in ("/p", "/q")]
    assert found[0]["args"] == found[1]["args"], "one policy for both"
    values["projects"]["/r"] = values["projects"].pop("/p")
    path.write_text(json.dumps(values, indent=1))
    before = path.read_bytes()
    (refused,) = {each.reason for each in home.unwrap(path).outcomes}
    assert "cannot be told" in refused
    assert path.read_bytes() == before


def test_those_that_say_the_same_get_back_their_own_where_none_has_moved(home: ClientHome) -> None:
    path = in_two_projects(home)
    path.write_text(json.dumps(json.loads(path.read_text()), indent=1))
    home.unwrap(path)
    back: Any = json.loads(path.read_text())["projects"]
    assert back == {
        "/p": {"mcpServers": {"a": json.loads(HOOKED)}},
        "/q": {"mcpServers": {"a": {"command": "node"}}},
    }
