"""Real clients whose own files were wrapped: servers answer through us, and come back bare."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest

from clients.applications import Applications
from clients.peers import Peers
from clients.test_applications import ends, lines
from driver import MCP_JAIL, Home

NAMES: Final = ("everything", "filesystem", "time")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


@pytest.fixture
def clients(home: Home, applications: Path) -> Applications:
    return Applications(home, applications)


@pytest.fixture
def servers(home: Home, npm_tree: Path, python_servers: Path) -> dict[str, dict[str, Any]]:
    """Bare entries, as a person would have written them."""
    peers = Peers(home, npm_tree.resolve(), python_servers.resolve())
    commands = {name: peers.server(name) for name in NAMES}
    commands["filesystem"][-1] = str(home.projects)
    return {name: {"command": one[0], "args": one[1:]} for name, one in commands.items()}


def ours(home: Home, *words: str | Path) -> str:
    done = subprocess.run(
        [MCP_JAIL, *words], capture_output=True, text=True, env=home.environ(), check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def wrap(home: Home, client: str) -> None:
    """Wrap a client's file, and approve of what its servers say."""
    assert "Wrapped 3 servers in 1 file" in ours(home, "wrap", "--client", client, "--yes")
    for name in NAMES:
        policy = home.policies / f"{name}.yaml"
        policy.write_text(policy.read_text().replace("first: review", "first: trust"))


def write(home: Home, name: str, text: str) -> Path:
    path = home.path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return path


def test_claude_code(clients: Applications, home: Home, servers: dict[str, Any]) -> None:
    path = write(home, ".claude.json", json.dumps({"mcpServers": servers}, indent=2))
    wrap(home, "claude-code")
    said = clients.claude_again()
    assert lines(said, "Connected") == set(NAMES), said
    assert said.out.count("mcp-jail run") == 3, said
    for name in NAMES:
        assert ends(home, name) == ["a signal"]
    ours(home, "doctor")
    ours(home, "unwrap", "--client", "claude-code", "--yes")
    # It writes its numbers into the file at each start, so the rest of it is its own.
    assert json.loads(path.read_text())["mcpServers"] == servers
    assert lines(clients.claude_again(), "Connected") == set(NAMES)
    for name in NAMES:
        assert len(ends(home, name)) == 1, "the second time it went past us"


def test_gemini_cli(clients: Applications, home: Home, servers: dict[str, Any]) -> None:
    text = "// mine\n" + json.dumps({"mcpServers": servers}, indent=4)
    path = write(home, ".gemini/settings.json", text)
    wrap(home, "gemini")
    said = clients.gemini_again()
    assert lines(said, " Connected") == set(NAMES), said
    for name in NAMES:
        assert ends(home, name) == ["a signal"]
    ours(home, "unwrap", "--client", "gemini", "--yes")
    assert path.read_text() == text


def test_codex(clients: Applications, home: Home, servers: dict[str, Any]) -> None:
    tables = [
        f"[mcp_servers.{name}]  # {name}\ncommand = '{one['command']}'\n"
        f"args = {json.dumps(one['args'])}\n"
        for name, one in servers.items()
    ]
    text = "\n".join(["# mine\n", *tables])
    path = write(home, ".codex/config.toml", text)
    wrap(home, "codex")
    tools = clients.codex_again()
    assert set(tools) == set(NAMES)
    assert {"echo"} <= tools["everything"]
    assert {"read_text_file"} <= tools["filesystem"]
    assert {"get_current_time"} <= tools["time"]
    for name in NAMES:
        assert len(ends(home, name)) == 1
    ours(home, "unwrap", "--client", "codex", "--yes")
    assert path.read_text() == text
