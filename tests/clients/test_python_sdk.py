"""The Python SDK's client, in every way it can open, against real servers.

Each test runs twice: with the server's own command, which shows what the client expects, and with
mcp-jail in front of it, which must make no difference.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

import anyio
import pytest
from mcp import Client, StdioServerParameters, stdio_client
from mcp_types import CallToolResult, TextContent

from clients.ways import Direct, Jailed, Way
from driver import PATIENCE, running
from plays import PREFIX

SERVERS: Final = Path(__file__).resolve().parent.parent / "servers"

# How the client opens, and the version that comes of it with a server of both eras.
ERAS: Final = {
    "auto": "2026-07-28",
    "legacy": "2025-11-25",
    "2026-07-28": "2026-07-28",
}
Talk = Callable[[Client], Awaitable[None]]

in_every_era = pytest.mark.parametrize("mode", ERAS)


def talk(command: list[str], mode: str, steps: Talk, environment: dict[str, str]) -> None:
    """Open a client on a command, let it take its steps, and close it."""

    async def session() -> None:
        parameters = StdioServerParameters(
            command=command[0], args=command[1:], env=environment or None
        )
        async with Client(stdio_client(parameters), mode=mode) as client:
            await steps(client)

    anyio.run(session)


def text(result: CallToolResult) -> str:
    return "".join(block.text for block in result.content if isinstance(block, TextContent))


@pytest.fixture
def echo(way: Way, python: str, tmp_path: Path) -> functools.partial[None]:
    """A conversation with our own server, which may write in `tmp_path`."""
    command = [python, "-I", "-S", str(SERVERS / "echo.py")]
    return functools.partial(
        talk, way.command("echo", command, tmp_path), environment=way.environment
    )


@pytest.fixture
def filesystem(way: Way, npm_tree: Path, tmp_path: Path) -> functools.partial[None]:
    """A conversation with the npm filesystem server, which may write in `tmp_path`."""
    server = npm_tree / "@modelcontextprotocol" / "server-filesystem" / "dist" / "index.js"
    command = ["node", str(server), str(tmp_path)]
    return functools.partial(
        talk, way.command("filesystem", command, tmp_path), environment=way.environment
    )


@in_every_era
def test_echo_opens_in_the_era_the_client_wants(echo: functools.partial[None], mode: str) -> None:
    async def steps(client: Client) -> None:
        assert client.protocol_version == ERAS[mode]
        assert client.server_info is None or client.server_info.name == "echo"

    echo(mode, steps)


@in_every_era
def test_echo_lists_its_tools(echo: functools.partial[None], mode: str) -> None:
    async def steps(client: Client) -> None:
        listed = await client.list_tools()
        names = [tool.name for tool in listed.tools]
        assert names == [
            "echo",
            "add",
            "read_file",
            "write_file",
            "list_directory",
            "delete_file",
        ]

    echo(mode, steps)


@in_every_era
def test_echo_writes_reads_and_deletes_a_file(
    echo: functools.partial[None], mode: str, tmp_path: Path
) -> None:
    target = tmp_path / "note"

    async def steps(client: Client) -> None:
        arguments = {"path": str(target), "content": "wörds"}
        assert not (await client.call_tool("write_file", arguments)).is_error
        assert target.read_text(encoding="utf-8") == "wörds"
        assert text(await client.call_tool("read_file", {"path": str(target)})) == "wörds"
        assert text(await client.call_tool("list_directory", {"path": str(tmp_path)})) == "note"
        await client.call_tool("delete_file", {"path": str(target)})
        assert not target.exists()

    echo(mode, steps)


@in_every_era
def test_echo_says_in_words_what_went_wrong(
    echo: functools.partial[None], mode: str, tmp_path: Path
) -> None:
    async def steps(client: Client) -> None:
        result = await client.call_tool("read_file", {"path": str(tmp_path / "missing")})
        assert result.is_error
        assert "FileNotFoundError" in text(result)

    echo(mode, steps)


@in_every_era
def test_echo_answers_many_calls_at_once_each_with_its_own(
    echo: functools.partial[None], mode: str
) -> None:
    async def steps(client: Client) -> None:
        said: dict[int, str] = {}

        async def say(number: int) -> None:
            said[number] = text(await client.call_tool("echo", {"text": f"number {number}"}))

        async with anyio.create_task_group() as group:
            for number in range(50):
                group.start_soon(say, number)
        assert said == {number: f"number {number}" for number in range(50)}

    echo(mode, steps)


@in_every_era
def test_echo_takes_and_gives_a_large_text_unchanged(
    echo: functools.partial[None], mode: str
) -> None:
    large = 'ä\u2028\x7f\\"' * 200_000

    async def steps(client: Client) -> None:
        assert text(await client.call_tool("echo", {"text": large})) == large

    echo(mode, steps)


@in_every_era
def test_echo_serves_its_resources_and_prompts(echo: functools.partial[None], mode: str) -> None:
    async def steps(client: Client) -> None:
        resources = await client.list_resources()
        assert [str(resource.uri) for resource in resources.resources] == ["echo://greeting"]
        prompts = await client.list_prompts()
        assert [prompt.name for prompt in prompts.prompts] == ["greet"]
        prompt = await client.get_prompt("greet", {"who": "Ada"})
        content = prompt.messages[0].content
        assert isinstance(content, TextContent)
        assert content.text == "Greet Ada."

    echo(mode, steps)


def test_a_subscription_that_its_server_ends_is_over_for_the_client(
    way: Way, tmp_path: Path
) -> None:
    """By the SDK's own server: it ends with a result that names the subscription."""
    server = [sys.executable, "-I", str(Path(__file__).parent / "listening_server.py")]

    async def steps(client: Client) -> None:
        with anyio.fail_after(3 * PATIENCE):
            await client.list_tools()
            async with client.listen(tools_list_changed=True) as subscription:
                assert subscription.honored.tools_list_changed
                assert text(await client.call_tool("close", {})) == "closed"
                assert [event async for event in subscription] == []

    talk(way.command("listening", server, tmp_path), "2026-07-28", steps, way.environment)


def test_what_ends_a_subscription_names_it_by_the_clients_own_id(tmp_path: Path) -> None:
    ends = []
    home, folder = tmp_path / "home", tmp_path / "folder"
    home.mkdir(mode=0o700)
    folder.mkdir()
    for way in (Direct(), Jailed(home)):
        server = [sys.executable, "-I", str(Path(__file__).parent / "listening_server.py")]
        words = way.command("listening", server, folder)
        environ = {"PATH": os.defpath, "HOME": str(home), **way.environment}
        with running(words, environ, folder, "modern") as client:
            client.open()
            client.request("tools/list")
            listening = client.ask("subscriptions/listen", notifications={"toolsListChanged": True})
            while client.read().get("method") != "notifications/subscriptions/acknowledged":
                pass
            client.ask("tools/call", name="close", arguments={})
            result = client.answer(listening)["result"]
            ends.append((listening, result["_meta"][f"{PREFIX}subscriptionId"]))
    assert [id == listening for listening, id in ends] == [True, True]


@pytest.mark.parametrize("mode", ["auto", "legacy"])  # its SDK speaks the legacy era only
def test_the_filesystem_server_lists_reads_and_writes(
    filesystem: functools.partial[None], mode: str, tmp_path: Path
) -> None:
    (tmp_path / "there").write_text("before")

    async def steps(client: Client) -> None:
        assert client.protocol_version == "2025-11-25"
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert {"read_text_file", "write_file", "list_directory"} <= names
        read = await client.call_tool("read_text_file", {"path": str(tmp_path / "there")})
        assert text(read) == "before"
        arguments = {"path": str(tmp_path / "new"), "content": "written"}
        assert not (await client.call_tool("write_file", arguments)).is_error
        assert (tmp_path / "new").read_text() == "written"

    filesystem(mode, steps)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_filesystem_server_refuses_what_lies_outside_of_its_directory(
    filesystem: functools.partial[None], mode: str
) -> None:
    async def steps(client: Client) -> None:
        result = await client.call_tool("read_text_file", {"path": "/etc/passwd"})
        assert result.is_error
        assert "root:" not in text(result)

    filesystem(mode, steps)
