"""The entry a user writes, word for word, in the SDK's client: what mcp-jail is for.

The npm server speaks the legacy era; a client in its modern mode is served by our own, by the very
same policy.
"""

from __future__ import annotations

import os
from pathlib import Path

import anyio
import pytest
from mcp import Client, StdioServerParameters, stdio_client
from mcp_types import CallToolResult, TextContent

from driver import MCP_JAIL, PYTHON, SERVERS, Home

POLICY = """\
filesystem:
  read_only: [~/projects]
  read_write: [~/projects/scratch]
tools:
  default: ask
  rules:
    "read_*": allow
    "list_*": allow
    write_file: {decision: allow, args: {path: {under: [~/projects/scratch]}}}
"""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path)
    made.write_policy(POLICY, "filesystem")
    made.write_policy(POLICY, "echo")
    return made


def text(result: CallToolResult) -> str:
    return "".join(block.text for block in result.content if isinstance(block, TextContent))


def talk(home: Home, args: list[str], mode: str, read: str, path: str) -> None:
    """What a user would try, through the SDK's client."""
    secret, outside = str(home.secret), str(home.projects / "outside.txt")
    inside = str(home.scratch / "new.txt")

    async def steps() -> None:
        entry = StdioServerParameters(
            command=str(MCP_JAIL), args=args, env={"HOME": str(home.path), "PATH": path}
        )
        async with Client(stdio_client(entry), mode=mode) as client:
            tools = {tool.name for tool in (await client.list_tools()).tools}
            assert {read, "write_file", "list_directory"} <= tools
            fine = await client.call_tool(read, {"path": str(home.projects / "readme.txt")})
            assert text(fine) == "hello from inside\n"
            for lost in (secret, "/etc/shadow", f"{home.projects}/../.ssh/id_rsa"):
                held = await client.call_tool(read, {"path": lost})
                assert held.is_error
                assert "CANARY" not in text(held)
            denied = await client.call_tool("write_file", {"path": outside, "content": "x"})
            assert denied.is_error
            assert "must lie under ~/projects/scratch" in text(denied)
            made = await client.call_tool("write_file", {"path": inside, "content": "written"})
            assert not made.is_error

    anyio.run(steps)
    assert not os.path.lexists(outside)
    assert Path(inside).read_text() == "written"
    assert not [each for each in home.audit(args[1]) if each["kind"] == "wire"]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_filesystem_server_serves_inside_and_is_held_outside(
    home: Home, mode: str, npm_tree: Path
) -> None:
    args = ["run", "filesystem", "--", "mcp-server-filesystem", "~/projects"]
    path = f"{npm_tree}/.bin:/usr/local/bin:/usr/bin:/bin"
    talk(home, args, mode, "read_text_file", path)


@pytest.mark.parametrize("mode", ["auto", "legacy", "2026-07-28"])
def test_a_server_of_both_eras_serves_inside_and_is_held_outside(home: Home, mode: str) -> None:
    args = ["run", "echo", "--", PYTHON, "-I", "-S", str(SERVERS / "echo.py")]
    talk(home, args, mode, "read_file", "/usr/local/bin:/usr/bin:/bin")


def test_the_kernel_alone_holds_a_write_outside(home: Home, npm_tree: Path) -> None:
    policy = POLICY.replace("write_file: {", "other: {").rstrip() + "\n    write_file: allow\n"
    home.write_policy(policy, "filesystem")
    outside = home.projects / "outside.txt"

    async def steps() -> None:
        entry = StdioServerParameters(
            command=str(MCP_JAIL),
            args=["run", "filesystem", "--", "mcp-server-filesystem", str(home.path)],
            env={"HOME": str(home.path), "PATH": f"{npm_tree}/.bin:/usr/local/bin:/usr/bin:/bin"},
        )
        async with Client(stdio_client(entry), mode="auto") as client:
            held = await client.call_tool("write_file", {"path": str(outside), "content": "x"})
            assert held.is_error
            assert "EROFS" in text(held)

    anyio.run(steps)
    assert not outside.exists()
