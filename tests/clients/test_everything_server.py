"""Every tool of the everything server, and the rest of what it has: resources, prompts, roots."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest
from mcp import Client, MCPError
from mcp_types import (
    CallToolResult,
    ReadResourceResult,
    TextResourceContents,
)

from clients.peers import Peers
from clients.python_client import Step, call_all, names, talk, text
from driver import Home

DATA: Final = "data:text/plain,hello"
# Its tool can only be called as a task, which mcp-jail does not pass on yet.
ONLY_AS_A_TASK: Final = "simulate-research-query"


@pytest.fixture
def peers(tmp_path: Path, npm_tree: Path) -> Peers:
    return Peers(Home(tmp_path), npm_tree, tmp_path)


def test_every_tool_does_what_it_is_for(peers: Peers) -> None:
    steps: list[Step] = [
        ("echo", {"message": "wörds"}, "Echo: wörds"),
        ("get-annotated-message", {"messageType": "error", "includeImage": True}, "Error"),
        ("get-env", {}, '"HOME"'),
        ("get-resource-links", {"count": 2}, "resource links"),
        ("get-resource-reference", {"resourceType": "Text", "resourceId": 1}, "resource reference"),
        ("get-structured-content", {"location": "Chicago"}, "temperature"),
        ("get-sum", {"a": 2, "b": 3}, "5"),
        ("get-tiny-image", {}, "image"),
        ("gzip-file-as-resource", {"name": "x.gz", "data": DATA, "outputType": "resource"}, ""),
        ("toggle-simulated-logging", {}, "tarted"),
        ("toggle-subscriber-updates", {}, "tarted"),
        ("trigger-long-running-operation", {"duration": 0.2, "steps": 2}, "completed"),
        (ONLY_AS_A_TASK, {"topic": "x"}, "refused:task"),
    ]
    listed = call_all(peers.jailed("everything"), peers.home.path, steps)
    assert listed == {tool for tool, _, _ in steps}


def test_the_server_sees_nothing_of_the_clients_environment(peers: Peers) -> None:
    told = talk(
        peers.jailed("everything"),
        peers.home.path,
        lambda client: client.call_tool("get-env", {}),
        environment={"GITHUB_TOKEN": "CANARY-TOKEN"},
    )
    assert "CANARY" not in text(told)


def test_the_server_reaches_nothing_and_says_so_at_once(peers: Peers) -> None:
    url = "https://raw.githubusercontent.com/x"
    steps: list[Step] = [("gzip-file-as-resource", {"data": url}, "refused:fetch failed")]
    call_all(peers.jailed("everything"), peers.home.path, steps)


def test_roots_are_the_policys_and_nobody_is_asked_for_the_server(peers: Peers) -> None:
    async def never(*_: object) -> Any:
        raise AssertionError("the server's question reached the client")

    async def steps(client: Client) -> tuple[set[str], CallToolResult]:
        return await names(client), await client.call_tool("get-roots-list", {})

    listed, roots = talk(
        peers.jailed(
            "everything", needs="filesystem: {read_only: [~/projects]}\nelicitation: deny\n"
        ),
        peers.home.path,
        steps,
        list_roots_callback=never,
        sampling_callback=never,
        elicitation_callback=never,
    )
    asking = {"trigger-sampling-request", "trigger-elicitation-request", "trigger-url-elicitation"}
    assert not asking & listed
    assert f"file://{peers.home.projects}" in text(roots)
    assert "1." in text(roots)
    assert "2." not in text(roots)


def test_resources_and_prompts_are_given_where_the_policy_says_so(peers: Peers) -> None:
    policy = """\
tools: {default: allow}
resources: {default: deny, rules: {"demo://resource/dynamic/text/*": allow}}
prompts: {default: deny, rules: {"simple-*": allow}}
"""

    async def steps(client: Client) -> tuple[ReadResourceResult, str, list[str]]:
        read = await client.read_resource("demo://resource/dynamic/text/1")
        with pytest.raises(MCPError) as refused:
            await client.read_resource("demo://resource/dynamic/blob/1")
        listed = [prompt.name for prompt in (await client.list_prompts()).prompts]
        assert (await client.get_prompt("simple-prompt")).messages
        return read, str(refused.value), listed

    read, refused, listed = talk(peers.jailed("everything", policy), peers.home.path, steps)
    assert isinstance(read.contents[0], TextResourceContents)
    assert "denied" in refused
    assert listed == ["simple-prompt"]
