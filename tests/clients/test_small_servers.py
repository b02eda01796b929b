"""Every tool of the servers that have one or two: time, fetch and sequential-thinking."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from mcp import Client
from mcp_types import GetPromptResult

from clients.peers import Peers
from clients.python_client import Step, call_all, talk
from driver import Home

BOTH_ERAS = pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])


@pytest.fixture
def peers(tmp_path: Path, npm_tree: Path, python_servers: Path) -> Peers:
    return Peers(Home(tmp_path), npm_tree, python_servers)


@pytest.fixture
def listening() -> socket.socket:
    """A socket of the machine outside that would take a connection."""
    return socket.create_server(("127.0.0.1", 0))


@BOTH_ERAS
def test_every_tool_of_the_time_server_works(peers: Peers, mode: str) -> None:
    tokyo = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
    steps: list[Step] = [
        ("get_current_time", {"timezone": "Europe/London"}, "Europe/London"),
        ("convert_time", tokyo, "T21:00:00+09:00"),
    ]
    listed = call_all(peers.jailed("time"), peers.home.path, steps, mode=mode)
    assert listed == {tool for tool, _, _ in steps}


def test_the_thinking_server_thinks(peers: Peers) -> None:
    thought = {"thought": "x", "nextThoughtNeeded": False, "thoughtNumber": 1, "totalThoughts": 1}
    steps: list[Step] = [("sequentialthinking", thought, '"thoughtHistoryLength": 1')]
    listed = call_all(peers.jailed("sequential-thinking"), peers.home.path, steps)
    assert listed == {"sequentialthinking"}


@BOTH_ERAS
def test_the_fetch_server_reaches_nothing_and_says_so_at_once(
    peers: Peers, listening: socket.socket, mode: str
) -> None:
    here = f"http://127.0.0.1:{listening.getsockname()[1]}/"
    steps: list[Step] = [
        ("fetch", {"url": here}, "refused:ailed to fetch"),
        ("fetch", {"url": "https://example.org/"}, "refused:ailed to fetch"),
        ("fetch", {"url": "https://192.0.2.1/"}, "refused:ailed to fetch"),
    ]
    command = peers.jailed("fetch", options=["--allow-private-ips"])
    listed = call_all(command, peers.home.path, steps, mode=mode)
    assert listed == {"fetch"}
    listening.setblocking(False)
    with pytest.raises(BlockingIOError):
        listening.accept()
    listening.close()


def test_a_prompt_of_the_fetch_server_reaches_nothing_either(peers: Peers) -> None:
    async def steps(client: Client) -> GetPromptResult:
        return await client.get_prompt("fetch", {"url": "https://example.org/"})

    given = talk(peers.jailed("fetch"), peers.home.path, steps)
    assert "ailed to fetch" in str(given.messages)
