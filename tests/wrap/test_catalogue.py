"""Each row of the catalogue, on a file as its client has it and where its client has it."""

from __future__ import annotations

import json
import os
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from mcp_jail.clients.catalogue import Row, Scope, Syntax
from mcp_jail.clients.plans import Group
from mcp_jail.clients.targets import ROWS, beyond, existing
from wrap.homes import ClientHome, of
from wrap.sampled import PROGRAM

WITH_FILES = [row for row in ROWS if row.files]


def named(row: Row) -> str:
    """What a row is called in a test's name; each once."""
    return f"{ROWS.index(row)} {row.client} {row.scope.value}"


def entry(row: Row) -> dict[str, Any]:
    """An entry of this client with all parts that its row names."""
    shape = row.shapes[-1]
    parts: dict[str, Any] = {shape.command: "uvx", shape.env: {"LOG": "debug"}}
    if shape.args is None:
        parts[shape.command] = ["uvx", "mcp-server-time"]
    else:
        parts[shape.args] = ["mcp-server-time"]
    deeper = {shape.inside: parts} if shape.inside else parts
    switched = {row.disabled: row.disabled != "enabled"} if row.disabled else {}
    return {"name": "time", **deeper, **switched} if row.name_key else {**deeper, **switched}


def content(row: Row) -> tuple[dict[str, Any], tuple[str | int, ...]]:
    """A file's values, and the path to the part that starts the process."""
    keys = [key if key != "*" else "/p" for key in row.servers[-1]]
    shape = row.shapes[-1]
    servers: Any = [entry(row)] if row.name_key else {"time": entry(row)}
    values: Any = servers
    for key in reversed(keys):
        values = {key: values, "other": {"command": "not-a-server"}}
    path = (*keys, 0 if row.name_key else "time", *([shape.inside] if shape.inside else []))
    return values, path


def written(row: Row, values: dict[str, Any]) -> str:
    if row.syntax is Syntax.YAML:
        return yaml.safe_dump(values, sort_keys=False)
    if row.syntax is Syntax.TOML:
        (server,) = values["mcp_servers"].values()
        pairs = {key: each for key, each in server.items() if not isinstance(each, dict)}
        lines = [f"{key} = {json.dumps(each)}" for key, each in pairs.items()]
        return "\n".join(["[mcp_servers.time]", *lines, 'env = { LOG = "debug" }', ""])
    return json.dumps(values, indent=2)


def parsed(row: Row, text: str) -> Any:
    match row.syntax:
        case Syntax.YAML:
            return yaml.safe_load(text)
        case Syntax.TOML:
            return tomllib.loads(text)
        case _:
            return json.loads(text)


def places_of(row: Row) -> list[str]:
    """A path below the home for each of a row's patterns."""
    paths = (re.sub(r"^\$\{[A-Z_]+:-([^}]*)\}", r"\1", each) for each in row.files)
    return [re.sub(r"^(~|\.)/", "", each).replace("*", "some") for each in paths]


@pytest.mark.parametrize("row", WITH_FILES, ids=named)
def test_a_row_is_wrapped_in_its_place(home: ClientHome, row: Row) -> None:
    values, path = content(row)
    name = places_of(row)[0]
    text = written(row, values)
    file = home.write(name, text)
    found = existing(home.circumstances().ground, ROWS)
    assert str(file) in {target.path for target in found if row in target.rows}
    assert row in home.target(file).rows
    plan = home.wrap(file)
    assert set(of(plan, Group.DONE)) == {"time"}
    before, after = parsed(row, text), parsed(row, file.read_text())
    old, new = before, after
    for key in path:
        old, new = old[key], new[key]
    words = ["run", "time", "--", "uvx", "mcp-server-time"]
    shape = row.shapes[-1]
    if shape.args is None:
        assert new.pop(shape.command) == [PROGRAM, *words]
    else:
        assert new.pop(shape.command) == PROGRAM
        assert new.pop(shape.args) == words
        old.pop(shape.args)
    old.pop(shape.command)
    assert before == after
    home.unwrap(file)
    assert file.read_text() == text


@pytest.mark.parametrize("row", WITH_FILES, ids=named)
def test_each_place_of_a_row_leads_back_to_it(home: ClientHome, row: Row) -> None:
    for name in places_of(row):
        path = home.write(name, "")
        assert row in home.target(path).rows, name


def test_the_clients_that_are_promised_are_known() -> None:
    promised = (
        "claude-desktop claude-code cursor vscode codex gemini zed opencode goose continue copilot "
        "windsurf devin cline antigravity qwen kilo amazon-q kiro jetbrains junie lm-studio amp "
        "warp augment librechat mcphub"
    )
    assert {*promised.split()} <= {row.client for row in ROWS}


@pytest.mark.parametrize("row", ROWS, ids=named)
def test_a_row_can_be_read(row: Row) -> None:
    start = "./" if row.scope is Scope.PROJECT else "~"
    for pattern in (*row.files, *row.macos):
        assert pattern.startswith((start, "${"))
    assert row.fills.value
    re.compile(row.fills.value)
    assert bool(row.rewrites) or not row.processes or row.client == "cursor"


def test_a_variable_of_the_client_moves_its_file(home: ClientHome) -> None:
    path = home.write("elsewhere/config.toml", "[mcp_servers.a]\ncommand = 'x'\n")
    given = home.circumstances().ground
    moved = type(given)(given.home, given.cwd, {"CODEX_HOME": str(path.parent)})
    assert [target.path for target in existing(moved, ROWS)] == [str(path)]


NODE = '{"type": "local", "command": ["node"]}'
FAR = '{"type": "remote", "url": "https://far.example"}'


@pytest.mark.parametrize(
    ("listed", "done", "left"),
    [
        (f'{{"servers": {{"a": {NODE}}}, "b": {NODE}}}', {"a", "b"}, set()),
        (f'{{"servers": {{"a": {NODE}}}, "b": {FAR}}}', {"a"}, {"b"}),
        (f'{{"servers": {{"a": {NODE}}}, "timeout": 5}}', {"a"}, set()),
        (f'{{"servers": {NODE}, "b": {NODE}}}', {"servers", "b"}, set()),
        (f'{{"servers": {FAR}, "b": {NODE}}}', {"b"}, {"servers"}),
        (f'{{"servers": {{"command": {NODE}, "url": {FAR}}}}}', {"command"}, {"url"}),
    ],
)
def test_both_ways_to_list_servers_in_one_file_are_seen(
    home: ClientHome, listed: str, done: set[str], left: set[str]
) -> None:
    text = f'{{"mcp": {listed}}}'
    path = home.write(".config/opencode/opencode.json", text)
    plan = home.wrap(path)
    assert (set(of(plan, Group.DONE)), set(of(plan, Group.SKIPPED))) == (done, left)
    assert of(plan, Group.REFUSED) == {}
    home.unwrap(path)
    assert path.read_text() == text


def test_servers_under_both_keys_of_a_file_are_wrapped(home: ClientHome) -> None:
    """Claude Code reads the one of them, Visual Studio the other."""
    entry = '{"a": {"command": "x"}}'
    path = home.write("p/.mcp.json", f'{{"mcpServers": {entry}, "servers": {entry}}}')
    home.wrap(path)
    values = json.loads(path.read_text())
    assert values["mcpServers"] == values["servers"]
    assert values["servers"]["a"]["command"] == PROGRAM


def test_profiles_of_an_editor_are_found(home: ClientHome) -> None:
    path = home.write(".config/Code/User/profiles/1a2b/mcp.json", "{}")
    assert [target.path for target in existing(home.circumstances().ground, ROWS)] == [str(path)]


def test_a_home_with_characters_of_a_pattern_is_searched(tmp_path: Path) -> None:
    home = ClientHome(tmp_path / "[a]*?")
    home.path.mkdir(mode=0o700)
    paths = [
        home.write(".continue/mcpServers/x.yaml", "mcpServers: []"),
        home.write(".junie/mcp/mcp.json", "{}"),
    ]
    found = existing(home.circumstances().ground, ROWS)
    assert {target.path for target in found} == set(map(str, paths))
    assert all(home.target(path).rows[0].files for path in paths)


def test_a_path_that_is_no_text_is_refused(home: ClientHome) -> None:
    folder = os.fsencode(home.path) + b"/\xe9"
    os.mkdir(folder)
    path = Path(os.fsdecode(folder)) / "mcp.json"
    path.write_text('{"mcpServers": {"a": {"command": "x"}}}')
    for plan in (home.wrap(path), home.unwrap(path)):
        assert "is no UTF-8" in of(plan, Group.REFUSED)[""].reason
    assert os.listdir(path.parent) == [path.name]


def test_the_whole_catalogue_reads_no_file_outside_the_home(home: ClientHome) -> None:
    assert existing(home.circumstances().ground, ROWS) == []
    assert os.listdir(home.path) == []


def test_a_file_of_no_client_is_read_by_its_suffix(home: ClientHome) -> None:
    path = home.write("somewhere/servers.jsonc", '{"mcpServers": {"a": {"command": "x"},},}')
    assert set(of(home.wrap(path), Group.DONE)) == {"a"}
    listed = home.write("somewhere/else.yaml", "mcpServers:\n- name: b\n  command: x\n")
    assert set(of(home.wrap(listed), Group.DONE)) == {"b"}


def test_a_link_into_a_store_that_cannot_be_written_is_refused(home: ClientHome) -> None:
    store = home.write("store/mcp.json", '{"mcpServers": {"a": {"command": "x"}}}', mode=0o444)
    link = Path(home.path) / ".junie" / "mcp" / "mcp.json"
    link.parent.mkdir(parents=True)
    link.symlink_to(store)
    assert "read-only" in of(home.wrap(link), Group.REFUSED)[""].reason


def test_one_file_behind_two_names_is_one_file(home: ClientHome) -> None:
    target = home.write("dotfiles/mcp.json", '{"mcpServers": {"a": {"command": "x"}}}')
    for name in (".cursor/mcp.json", ".junie/mcp/mcp.json"):
        link = home.path / name
        link.parent.mkdir(parents=True)
        link.symlink_to(target)
    (found,) = existing(home.circumstances().ground, ROWS)
    assert {row.client for row in found.rows} == {"cursor", "junie"}


def test_what_is_not_covered_is_told_where_it_is_there(home: ClientHome) -> None:
    ground = home.circumstances().ground
    assert beyond(ground) == []
    script = home.write(".config/crush/crushrc", "mcp add files --command node\n")
    home.write(".claude/plugins/cache/x/.mcp.json", "{}")
    told = {each.name: path for each, path in beyond(ground)}
    assert told["Crush"] == str(script)
    assert set(told) == {"Crush", "plugins of Claude Code"}
