"""Every tool of the memory server: its graph lands where the policy says, and nowhere else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from clients.peers import Peers
from clients.python_client import Step, call_all, talk, text
from driver import Home

ANN: Final = {"name": "Ann", "entityType": "person", "observations": ["sings"]}
BOB: Final = {"name": "Bob", "entityType": "person", "observations": []}
KNOWS: Final = {"from": "Ann", "to": "Bob", "relationType": "knows"}
CREATE: Final[Step] = ("create_entities", {"entities": [ANN, BOB]}, "Ann")


@pytest.fixture
def peers(tmp_path: Path, npm_tree: Path) -> Peers:
    return Peers(Home(tmp_path), npm_tree, tmp_path)


def graph(peers: Peers) -> list[dict[str, Any]]:
    lines = (peers.home.path / "graph" / "memory.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def beside_the_code(peers: Peers) -> list[Path]:
    return list(Path(peers.server("memory")[1]).parent.glob("memory.json*"))


def test_every_tool_works_and_the_graph_is_where_the_policy_puts_it(peers: Peers) -> None:
    more = [{"entityName": "Ann", "contents": ["paints"]}]
    less = [{"entityName": "Ann", "observations": ["sings"]}]
    steps: list[Step] = [
        CREATE,
        ("create_relations", {"relations": [KNOWS]}, "knows"),
        ("add_observations", {"observations": more}, "paints"),
        ("delete_observations", {"deletions": less}, "success"),
        ("read_graph", {}, "paints"),
        ("search_nodes", {"query": "paints"}, "Ann"),
        ("open_nodes", {"names": ["Bob"]}, "Bob"),
        ("delete_relations", {"relations": [KNOWS]}, "success"),
        ("delete_entities", {"entityNames": ["Bob"]}, "success"),
    ]
    listed = call_all(peers.jailed("memory"), peers.home.path, steps)
    assert listed == {tool for tool, _, _ in steps}
    assert graph(peers) == [{"type": "entity", **ANN, "observations": ["paints"]}]
    assert beside_the_code(peers) == []


def test_a_tool_that_the_policy_denies_is_not_listed_and_forgets_nothing(peers: Peers) -> None:
    policy = 'tools: {default: allow, rules: {"delete_*": deny}}\n'
    steps: list[Step] = [
        CREATE,
        ("delete_entities", {"entityNames": ["Ann"]}, "refused:denied"),
    ]
    listed = call_all(peers.jailed("memory", policy), peers.home.path, steps)
    assert "read_graph" in listed
    assert not {name for name in listed if name.startswith("delete_")}
    assert {entity["name"] for entity in graph(peers)} == {"Ann", "Bob"}


def test_without_a_place_of_its_own_it_cannot_write_beside_its_code(peers: Peers) -> None:
    command = peers.jailed("memory", needs="")
    refused = talk(command, peers.home.path, lambda client: client.call_tool(CREATE[0], CREATE[1]))
    assert refused.is_error
    assert "EROFS" in text(refused)
    assert beside_the_code(peers) == []
