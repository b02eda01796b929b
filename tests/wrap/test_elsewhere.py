"""Servers that a file says by a word for another place are seen, refused and told."""

from __future__ import annotations

from typing import Final

import pytest

from mcp_jail.clients.health import Finding, What, look_at_clients
from mcp_jail.clients.plans import Group
from mcp_jail.store.wrapped import note_all_wrapped
from wrap.homes import CURSOR, ClientHome, of
from wrap.sampled import PROGRAM

GOOSE: Final = ".config/goose/config.yaml"
CONTINUE: Final = ".continue/config.yaml"
LIBRECHAT: Final = "librechat.yaml"

EVIL: Final = "x: &x {evil: {type: stdio, cmd: /tmp/e, command: /tmp/e}}\n"
GOOD: Final = "{type: stdio, cmd: node, command: node, args: [/srv/x.js]}"

# Each with the file, its text behind EVIL, and the name under which it is told.
FORMS: Final = {
    "the map of servers": (GOOSE, EVIL + "extensions: *x\n", "extensions"),
    "the list of servers": (
        CONTINUE,
        "x: &x [{name: evil, command: /tmp/e}]\nmcpServers: *x\n",
        "mcpServers",
    ),
    "a merge into the map": (LIBRECHAT, EVIL + "mcpServers:\n  <<: *x\n", "<<"),
    "a merge beside others": (LIBRECHAT, EVIL + f"mcpServers:\n  <<: *x\n  fs: {GOOD}\n", "<<"),
    "a merge of several": (GOOSE, EVIL + "extensions:\n  <<: [*x, *x]\n", "<<"),
    "a merge of a map that stands there": (
        GOOSE,
        "extensions: {<<: {evil: {type: stdio, cmd: /tmp/e}}}\n",
        "<<",
    ),
    "a merge into the whole": (LIBRECHAT, "x: &x {mcpServers: {e: {command: e}}}\n<<: *x\n", "<<"),
    "a second merge": (
        LIBRECHAT,
        "h: &h {a: b}\nx: &x {mcpServers: {e: {command: e}}}\n<<: *h\n<<: *x\n",
        "<<",
    ),
    "a merge key in quotes": (LIBRECHAT, EVIL + 'mcpServers:\n  "<<": *x\n', "<<"),
    "a tag that a client may follow": (LIBRECHAT, "mcpServers: !include x.yaml\n", "mcpServers"),
}
forms = pytest.mark.parametrize(("name", "text", "told"), FORMS.values(), ids=FORMS.keys())


def look(home: ClientHome) -> list[Finding]:
    return look_at_clients(home.places, home.circumstances().ground, PROGRAM)


@forms
def test_it_is_refused_with_what_to_do(home: ClientHome, name: str, text: str, told: str) -> None:
    path = home.write(name, text)
    refused = of(home.plan(path), Group.REFUSED)
    assert "elsewhere" in refused[told].reason or "and may be servers" in refused[told].reason
    assert "without aliases" in refused[told].hint


@forms
def test_doctor_fails_by_it_until_it_is_noted(
    home: ClientHome, name: str, text: str, told: str
) -> None:
    path = home.write(name, f"{'extensions' if name == GOOSE else 'mcpServers'}: {{fs: {GOOD}}}\n")
    if name == CONTINUE:
        path.write_text("mcpServers: [{name: fs, command: node, args: [/srv/x.js]}]\n")
    home.wrap(path)
    note_all_wrapped(home.places)
    path.write_text(text)
    found = {each.server: each for each in look(home)}
    assert (found[told].what, found[told].fails) == (What.ADDED, True)
    home.wrap(path, is_all=True)
    found = {each.server: each for each in look(home)}
    assert (found[told].what, found[told].fails) == (What.LEFT, False)


def test_what_was_noted_is_an_alarm_again_once_it_leads_to_something_else(
    home: ClientHome,
) -> None:
    path = home.write(GOOSE, EVIL + "extensions: *x\n")
    home.wrap(path, is_all=True)
    note_all_wrapped(home.places)
    assert [each.what for each in look(home)] == [What.LEFT]
    path.write_text(path.read_text().replace("/tmp/e", "/tmp/other"))
    assert [each.what for each in look(home)] == [What.ADDED]


def test_unwrap_says_that_it_cannot_take_out_what_moved_elsewhere(home: ClientHome) -> None:
    path = home.write(GOOSE, f"extensions:\n  fs: {GOOD}\n")
    home.wrap(path)
    path.write_text(path.read_text().replace("extensions:", "x: &x") + "extensions: *x\n")
    plan = home.unwrap(path)
    assert "alias" in of(plan, Group.REFUSED)["extensions"].reason
    assert PROGRAM in path.read_text()


@pytest.mark.parametrize(
    "entry",
    [
        "<<: {env: *x}\n    command: node\n    args: [a]",
        "<<: [{a: b}, {<<: {envFile: /e}}]\n    command: node\n    args: [a]\n    env: {A: b}",
        "command: node\n    args: [a]\n    env: {<<: *x}",
        "<<: *x",
        "<<: {timeout: 1}\n    <<: {env: *x}\n    command: node\n    args: [a]",
        "<<: {code: import os}\n    command: node\n    args: [a]",
    ],
)
def test_no_part_of_an_entry_comes_by_a_merge(home: ClientHome, entry: str) -> None:
    text = f"x: &x {{MCP_JAIL_HOME: /tmp/evil}}\nmcpServers:\n  s:\n    {entry}\n"
    plan = home.plan(home.write(LIBRECHAT, text))
    assert not plan.changes
    reason = of(plan, Group.REFUSED)["s"].reason
    assert "merged in" in reason or "key '<<' twice" in reason


@pytest.mark.parametrize("merged", ["*x", "[*x, {timeout: 5}]", "{<<: *x}"])
def test_what_is_merged_in_and_starts_nothing_is_no_matter(home: ClientHome, merged: str) -> None:
    text = f"x: &x {{timeout: 3}}\n<<: *x\nmcpServers: {{s: {{command: a, <<: {merged}}}}}\n"
    assert set(of(home.plan(home.write(LIBRECHAT, text)), Group.DONE)) == {"s"}


def test_a_value_that_holds_itself_ends_nobody(home: ClientHome) -> None:
    text = "x: &x {a: *x, <<: *x}\nmcpServers: {s: {command: a, <<: *x}, t: *x}\n"
    assert set(of(home.plan(home.write(LIBRECHAT, text)), Group.REFUSED)) == {"s", "t"}


def test_in_json_the_key_is_a_name_like_any_other(home: ClientHome) -> None:
    path = home.write(CURSOR, '{"mcpServers": {"<<": {"command": "x"}}}')
    assert set(of(home.plan(path), Group.DONE)) == {"<<"}
