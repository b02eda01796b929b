"""An administrator's lists are not gone round: where they compare commands, nothing is wrapped."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from mcp_jail.clients.managed import is_managed_file, why_managed
from mcp_jail.clients.plans import Group
from wrap.homes import ClientHome, of
from wrap.sampled import row

ENTRY = '{"mcpServers": {"a": {"command": "x"}}}'
COMMANDS = [{"serverCommand": ["x"]}]


def managed(root: Path, settings: Any, name: str = "managed-settings.json") -> str:
    path = root / "etc/claude-code" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(settings if isinstance(settings, str) else json.dumps(settings))
    return str(root)


@pytest.mark.parametrize("key", ["allowedMcpServers", "deniedMcpServers"])
@pytest.mark.parametrize("name", ["managed-settings.json", "managed-settings.d/10-mcp.json"])
def test_a_list_of_commands_refuses_claude_codes_files(
    home: ClientHome, tmp_path: Path, key: str, name: str
) -> None:
    (tmp_path / "etc/claude-code/managed-settings.d").mkdir(parents=True)
    root = managed(tmp_path, {key: COMMANDS}, name)
    plan = home.plan(home.write(".claude.json", ENTRY), root=root)
    assert not plan.changes
    reason = of(plan, Group.REFUSED)[""].reason
    assert key in reason
    assert "compares commands" in reason


def test_naming_another_clients_format_goes_round_no_list(home: ClientHome, tmp_path: Path) -> None:
    root = managed(tmp_path, {"deniedMcpServers": COMMANDS})
    plan = home.plan(home.write("p/.mcp.json", ENTRY), client="cursor", root=root)
    assert "compares commands" in of(plan, Group.REFUSED)[""].reason


def test_a_directory_of_lists_that_cannot_be_read_refuses(home: ClientHome, tmp_path: Path) -> None:
    """For root, a file in its place; for others, one they may not enter."""
    root = managed(tmp_path, {})
    folder = tmp_path / "etc/claude-code/managed-settings.d"
    folder.mkdir(mode=0o000)
    if os.geteuid() == 0:
        folder.rmdir()
        folder.symlink_to(folder)
    plan = home.plan(home.write(".claude.json", ENTRY), root=root)
    assert "cannot be read" in of(plan, Group.REFUSED)[""].reason


@pytest.mark.parametrize(
    "settings",
    [{}, {"allowedMcpServers": [{"serverName": "a"}]}, {"deniedMcpServers": [{"serverUrl": "u"}]}],
)
def test_lists_of_names_and_addresses_hold_as_before(
    home: ClientHome, tmp_path: Path, settings: Any
) -> None:
    root = managed(tmp_path, settings)
    assert home.plan(home.write(".claude.json", ENTRY), root=root).changes


def test_settings_that_cannot_be_read_refuse(home: ClientHome, tmp_path: Path) -> None:
    root = managed(tmp_path, "{")
    plan = home.plan(home.write(".claude.json", ENTRY), root=root)
    assert "unknown" in of(plan, Group.REFUSED)[""].reason


def test_a_managed_list_that_counts_alone_refuses(home: ClientHome, tmp_path: Path) -> None:
    root = managed(tmp_path, {"mcpServers": {}}, "managed-mcp.json")
    plan = home.plan(home.write(".claude.json", ENTRY), root=root)
    assert "the only list Claude Code reads" in of(plan, Group.REFUSED)[""].reason
    assert home.plan(home.write(".cursor/mcp.json", ENTRY), root=root).changes


def test_a_managed_file_itself_is_never_written(home: ClientHome, tmp_path: Path) -> None:
    root = managed(tmp_path, ENTRY, "managed-mcp.json")
    path = tmp_path / "etc/claude-code/managed-mcp.json"
    plan = home.plan(path, root=root)
    assert "your administrator's" in of(plan, Group.REFUSED)[""].reason
    assert is_managed_file(str(home.sample("managed-mcp.json", "managed-mcp.json")))


@pytest.mark.parametrize(
    ("required", "words"),
    [
        ("[mcp_servers.a.identity]\ncommand = 'x'\n", "compares commands"),
        ("[mcp_servers.a]\ncommand = 'x'\n", "compares commands"),
        ("[", "unknown"),
        ("allowed_sandbox_modes = ['read-only']\n", ""),
    ],
)
def test_what_codex_is_required_to_hold_is_not_gone_round(
    tmp_path: Path, required: str, words: str
) -> None:
    path = tmp_path / "etc/codex/requirements.toml"
    path.parent.mkdir(parents=True)
    path.write_text(required)
    found = why_managed(row("codex"), str(tmp_path))
    assert words in found
    assert bool(words) == bool(found)


def test_an_installed_plugin_is_left(home: ClientHome) -> None:
    path = home.write(".claude/plugins/cache/x/.mcp.json", ENTRY)
    plan = home.plan(path)
    assert "replaced at each update" in of(plan, Group.REFUSED)[""].reason
