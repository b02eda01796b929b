"""Claude Code, Gemini CLI and Inspector start mcp-jail as any server, and find it healthy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from clients.applications import Applications, Said
from clients.peers import Peers
from driver import MCP_JAIL, Home, command, wait_until

# Servers of the old protocol, of both, in JavaScript and in Python, with and without directories.
JAILED = ("everything", "filesystem", "memory", "time")

# Claude Code ends a server as soon as it knows that it is there. Where the machine is busy, that is
# at times before the server has acknowledged the subscription.
ATTEMPTS = 5

Messages = list[dict[str, Any]]

# A server of the new protocol whose lists may change, for which a client keeps a request open.
CHANGING = """\
from mcp.server.mcpserver import MCPServer

server = MCPServer("changing")
server.run()
"""

READ_ONLY = """\
tools:
  default: deny
  rules:
    "read_*": allow
    write_file: {decision: allow, args: {path: {under: [~/projects/scratch]}}}
"""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


@pytest.fixture
def clients(home: Home, applications: Path) -> Applications:
    return Applications(home, applications)


@pytest.fixture
def peers(home: Home, npm_tree: Path, python_servers: Path) -> Peers:
    return Peers(home, npm_tree, python_servers)


def entries(peers: Peers) -> dict[str, list[str]]:
    """What a client's configuration holds: jailed servers, and one whose policy is missing."""
    jailed = {name: peers.jailed(name) for name in JAILED}
    return {**jailed, "no-policy": [str(MCP_JAIL), "run", "no-policy", "--", "/usr/bin/true"]}


def lines(said: Said, word: str) -> set[str]:
    """The servers of which a line with this word speaks."""
    told = [line for line in (said.out + said.errors).splitlines() if word in line]
    return {line.split(":")[0].strip("✓✔✗✘ ") for line in told if ": " in line}


def ends(home: Home, name: str) -> list[str]:
    """Why each run ended; waits for runs that are still ending, as these clients do not."""
    wait_until(lambda: len(entries_of(home, name, "end")) == len(entries_of(home, name, "start")))
    return [entry["reason"] for entry in entries_of(home, name, "end")]


def entries_of(home: Home, name: str, kind: str) -> list[dict[str, Any]]:
    return [entry for entry in home.audit(name) if entry["kind"] == kind]


def test_claude_code_finds_jailed_servers_healthy(clients: Applications, peers: Peers) -> None:
    said = clients.claude(entries(peers))
    assert said.code == 0, said
    assert lines(said, "Connected") == set(JAILED), said
    assert "no-policy" in lines(said, "Failed to connect"), said
    for name in JAILED:  # it ends them with a signal, and their audit is whole all the same
        assert ends(clients.home, name) == ["a signal"]


def test_claude_code_subscribes_to_a_server_of_the_new_protocol(
    clients: Applications, home: Home, python_servers: Path
) -> None:
    (home.projects / "server.py").write_text(CHANGING)
    home.write_policy("tools: {default: allow}\n", "changing")
    talks = (overheard(clients, home, python_servers / "python") for _ in range(ATTEMPTS))
    sent, heard = next(talk for talk in talks if any(map(is_acknowledgement, talk[1])))
    opening = [request["method"] for request in sent[:2]]
    assert opening == ["server/discover", "subscriptions/listen"]
    acknowledged = next(filter(is_acknowledgement, heard))["params"]["_meta"]
    assert acknowledged["io.modelcontextprotocol/subscriptionId"] == sent[1]["id"]


def overheard(clients: Applications, home: Home, python: Path) -> tuple[Messages, Messages]:
    """What Claude Code and a jailed server said to each other while it listed its servers."""
    sent, heard = home.path / "sent", home.path / "heard"
    ours = [str(MCP_JAIL), "run", "changing", "--", str(python), str(home.projects / "server.py")]
    listening = f'tee {sent} | "$@" | tee {heard}'
    said = clients.claude({"changing": ["/bin/sh", "-c", listening, "sh", *ours]})
    assert lines(said, "Connected") == {"changing"}, said
    assert ends(home, "changing")
    return messages(sent), messages(heard)


def messages(path: Path) -> Messages:
    """The whole lines of a file; its writer may have been ended in the middle of one."""
    return [json.loads(line) for line in path.read_text().split("\n")[:-1]]


def is_acknowledgement(message: dict[str, Any]) -> bool:
    return message.get("method") == "notifications/subscriptions/acknowledged"


def test_a_server_that_does_not_end_costs_claude_code_no_audit(
    clients: Applications, home: Home
) -> None:
    home.write_policy("tools: {default: allow}\n", "stubborn")
    server = [str(MCP_JAIL), "run", "stubborn", *command("hang.py", "stubborn")]
    said = clients.claude({"stubborn": server})
    assert lines(said, "Connected") == {"stubborn"}, said
    assert ends(home, "stubborn") == ["a signal"]


def test_gemini_cli_finds_jailed_servers_healthy(clients: Applications, peers: Peers) -> None:
    said = clients.gemini(entries(peers))
    assert said.code == 0, said
    assert lines(said, " Connected") == set(JAILED), said
    assert "no-policy" in lines(said, "Disconnected"), said
    for name in JAILED:
        assert ends(clients.home, name) == ["a signal"]


@pytest.mark.parametrize(
    ("name", "era"),
    [("filesystem", "legacy"), ("filesystem", "auto"), ("time", "auto"), ("time", "modern")],
)
def test_inspector_lists_the_tools(
    clients: Applications, peers: Peers, name: str, era: str
) -> None:
    said = clients.inspector(era, peers.jailed(name), "--method", "tools/list")
    assert said.code == 0, said
    listed = {tool["name"] for tool in json.loads(said.out)["tools"]}
    assert listed & {"read_file", "get_current_time"}


@pytest.mark.parametrize("era", ["legacy", "auto"])
def test_inspector_is_told_what_the_policy_refuses(
    clients: Applications, peers: Peers, era: str
) -> None:
    server = peers.jailed("filesystem", READ_ONLY)
    inside, outside = clients.home.scratch / "x", clients.home.projects / "x"
    call = ("--method", "tools/call", "--tool-name", "write_file", "--tool-arg")
    written = clients.inspector(era, server, *call, f"path={inside}", "content=words")
    refused = clients.inspector(era, server, *call, f"path={outside}", "content=words")
    assert written.code == 0, written
    assert inside.read_text() == "words"
    assert "must lie under ~/projects/scratch" in json.loads(refused.out)["content"][0]["text"]
    assert not outside.exists()
