"""Runs the Python SDK's client against a command, and holds the wire to nothing but messages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import anyio
from mcp import Client, StdioServerParameters, stdio_client
from mcp_types import CallToolResult, TextContent

from driver import PATIENCE

Given = TypeVar("Given")
# A tool, its arguments, and what its answer must hold; a text that begins with "refused:" names
# what the answer of a call that failed must hold.
Step = tuple[str, dict[str, Any], str]


def talk(
    command: list[str],
    home: Path,
    steps: Callable[[Client], Awaitable[Given]],
    *,
    mode: str = "auto",
    environment: Mapping[str, str] | None = None,
    **offers: Any,
) -> Given:
    """Open a client on a command, let it take its steps, close it; what the steps gave.

    AssertionError when anything but messages came, TimeoutError when the steps hang. `offers` are
    the callbacks by which a client offers roots, sampling and elicitation.
    """
    noise: list[Exception] = []

    async def hear(message: object) -> None:
        if isinstance(message, Exception):
            noise.append(message)

    async def session() -> Given:
        parameters = StdioServerParameters(
            command=command[0], args=command[1:], env={**(environment or {}), "HOME": str(home)}
        )
        with (home / "stderr").open("a") as errors, anyio.fail_after(3 * PATIENCE):
            transport = stdio_client(parameters, errlog=errors)
            async with Client(transport, mode=mode, message_handler=hear, **offers) as client:
                return await steps(client)

    given = anyio.run(session)
    assert noise == []
    return given


def text(result: CallToolResult) -> str:
    """The texts of a result, one after the other."""
    return "".join(block.text for block in result.content if isinstance(block, TextContent))


def call_all(command: list[str], home: Path, steps: list[Step], *, mode: str = "auto") -> set[str]:
    """Call each tool and hold its answer to what is expected; the names of all tools listed."""

    async def taking(client: Client) -> tuple[list[CallToolResult], set[str]]:
        results = [await client.call_tool(tool, arguments) for tool, arguments, _ in steps]
        return results, await names(client)

    results, listed = talk(command, home, taking, mode=mode)
    for (tool, arguments, expected), result in zip(steps, results, strict=True):
        reason = expected.removeprefix("refused:")
        assert reason in text(result), (tool, arguments, text(result))
        assert bool(result.is_error) == (reason != expected), (tool, arguments, text(result))
    return listed


async def names(client: Client) -> set[str]:
    """The names of all tools that a server lists."""
    return {tool.name for tool in (await client.list_tools()).tools}
