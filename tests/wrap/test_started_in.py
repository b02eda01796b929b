"""What a command means in one directory is told from what it means in another."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mcp_jail.clients.plans import Group
from mcp_jail.clients.started_in import leans_on, started_in
from wrap.homes import ClientHome, of
from wrap.sampled import file_of, row


@pytest.mark.parametrize(
    ("path", "client", "folder"),
    [
        ("/p/.mcp.json", "claude-code", "/p"),
        ("/p/.cursor/mcp.json", "cursor", "/p"),
        ("/home/me/.cursor/mcp.json", "cursor-user", ""),
    ],
)
def test_a_projects_file_is_for_the_directory_of_the_project(
    path: str, client: str, folder: str
) -> None:
    rows = {
        "claude-code": row("claude-code", "./.mcp.json"),
        "cursor": row("cursor", "./.cursor/mcp.json"),
        "cursor-user": row("cursor", "~/.cursor/mcp.json"),
    }
    assert started_in(path, rows[client], None) == folder


@pytest.mark.parametrize(
    "command", ["uvx mcp-server-time", "npx -y @scope/pkg", "/s /a ~/b", "s a"]
)
def test_words_that_mean_the_same_everywhere_lean_on_nothing(command: str, tmp_path: Path) -> None:
    assert not leans_on(tuple(command.split()), str(tmp_path))


@pytest.mark.parametrize("command", ["./server", "node server.js", "python3 -m tool", "node ."])
def test_words_that_lean_on_a_directory_get_a_policy_for_each(
    home: ClientHome, command: str
) -> None:
    program, *words = command.split()
    entry = json.dumps({"command": program, "args": words})
    policies = []
    for clone in ("one", "two", "one"):
        path = home.write(f"{clone}/.mcp.json", file_of(tools=entry))
        for name in ("server.js", "tool.py"):
            home.write(f"{clone}/{name}", "")
        plan = home.wrap(path)
        policies.append(of(plan, Group.DONE)["tools"].policy)
        home.unwrap(path)
    assert policies == ["tools", "tools-claude-code", "tools"]
    own = f'[mcp_servers.tools]\ncommand = "{program}"\nargs = {words}\ncwd = "{home.path}/two"\n'
    plan = home.plan(home.write(".codex/config.toml", own))
    assert of(plan, Group.DONE)["tools"].policy == "tools-codex"


def test_a_command_of_yours_that_leans_on_a_directory_is_no_clones(home: ClientHome) -> None:
    folder = Path(home.places.policies)
    folder.mkdir(mode=0o700, parents=True)
    folder.parent.chmod(0o700)
    text = "name: tools\nserver: {command: [node, ./server.js]}\n"
    home.write(str(folder / "tools.yaml"), text)
    entry = '{"command": "node", "args": ["./server.js"]}'
    plan = home.plan(home.write("clone/.mcp.json", file_of(tools=entry)))
    assert of(plan, Group.DONE)["tools"].policy == "tools-claude-code"
