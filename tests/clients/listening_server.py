"""A server of the Python SDK that lets a client listen, and ends that when its tool is called."""

from __future__ import annotations

import anyio
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp_types import CallToolResult, ListToolsResult, TextContent, Tool

listening = ListenHandler(InMemorySubscriptionBus())


async def list_tools(_context: object, _params: object) -> ListToolsResult:
    return ListToolsResult(tools=[Tool(name="close", input_schema={"type": "object"})])


async def call_tool(_context: object, _params: object) -> CallToolResult:
    listening.close()
    return CallToolResult(content=[TextContent(type="text", text="closed")])


async def serve() -> None:
    server = Server(
        "listening",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_subscriptions_listen=listening,
    )
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(serve)
