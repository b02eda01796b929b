"""Each SDK's client, in each way it can open, against each real server in its jail."""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path
from typing import Any, Final

import pytest
from mcp import Client

from clients import typescript
from clients.peers import OF_BOTH_ERAS, Peers
from clients.python_client import names, talk, text
from driver import Home, wait_until

# One call of each server, and what the answer holds.
CALLS: Final[dict[str, tuple[str, dict[str, Any], str]]] = {
    "everything": ("echo", {"message": "wörds"}, "Echo: wörds"),
    "fetch": ("fetch", {"url": "https://example.org/"}, "ailed to fetch"),
    "filesystem": ("list_allowed_directories", {}, "HOME"),
    "git": ("git_status", {"repo_path": "HOME/repo"}, "No commits yet"),
    "memory": ("read_graph", {}, '"entities"'),
    "sequential-thinking": (
        "sequentialthinking",
        {"thought": "x", "nextThoughtNeeded": False, "thoughtNumber": 1, "totalThoughts": 1},
        "thoughtHistoryLength",
    ),
    "time": ("get_current_time", {"timezone": "UTC"}, '"UTC"'),
}
MODERN: Final = "2026-07-28"
PYTHON_WAYS: Final = [
    (name, mode)
    for name in CALLS
    for mode in ("auto", "legacy", MODERN)
    if mode != MODERN or name in OF_BOTH_ERAS
]


@pytest.fixture
def peers(tmp_path: Path, npm_tree: Path, python_servers: Path) -> Peers:
    return Peers(Home(tmp_path), npm_tree, python_servers)


def call_of(peers: Peers, name: str) -> tuple[str, dict[str, Any], str]:
    """The call of a server with its paths in this home."""
    if name == "git":
        repo = peers.home.path / "repo"
        subprocess.run(["git", "init", "--quiet", str(repo)], check=True)
    tool, arguments, expected = CALLS[name]
    home = str(peers.home.path)
    filled = {
        key: value.replace("HOME", home) if isinstance(value, str) else value
        for key, value in arguments.items()
    }
    return tool, filled, expected.replace("HOME", home)


def whole_runs(home: Home, name: str) -> int:
    """How many runs the audit tells of; AssertionError when one gets no end."""

    def kinds() -> Counter[str]:
        return Counter(entry["kind"] for entry in home.audit(name))

    wait_until(lambda: kinds()["start"] == kinds()["end"])
    return kinds()["start"]


@pytest.mark.parametrize(("name", "mode"), PYTHON_WAYS)
def test_the_python_client_lists_and_calls(peers: Peers, name: str, mode: str) -> None:
    tool, arguments, expected = call_of(peers, name)

    async def steps(client: Client) -> tuple[set[str], str]:
        return await names(client), text(await client.call_tool(tool, arguments))

    listed, said = talk(peers.jailed(name), peers.home.path, steps, mode=mode)
    assert tool in listed
    assert expected in said
    assert whole_runs(peers.home, name) == 1


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("era", typescript.ERAS)
def test_the_typescript_clients_list_and_call(peers: Peers, name: str, era: str) -> None:
    tool, arguments, expected = call_of(peers, name)
    listed, said = typescript.take_steps(
        era, peers.jailed(name), {"HOME": str(peers.home.path)}, ["tools", (tool, arguments)]
    )
    assert tool in listed
    assert expected in said["text"]
    # The one that finds out about the era first starts a throw-away sibling, and kills it.
    assert whole_runs(peers.home, name) == (2 if era == "v2-auto" else 1)
