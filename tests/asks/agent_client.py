"""An MCP client of the Python SDK whose agent has a shell: it calls, and answers its own asks.

    agent_client.py FOLDER COMMAND...

Calls `echo` of the server that COMMAND starts, and writes what came of it to FOLDER/called. What
FOLDER/lines has (JSON, a list) it types into a shell on a terminal of its own, and writes what that
showed to FOLDER/shown.
"""

from __future__ import annotations

import asyncio
import json
import os
import pty
import sys
import time
from contextlib import suppress
from pathlib import Path

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client


def main() -> None:
    folder, command, *arguments = sys.argv[1:]
    server = StdioServerParameters(command=command, args=arguments, env=dict(os.environ))
    asyncio.run(talk(Path(folder), server))


async def talk(folder: Path, server: StdioServerParameters) -> None:
    async with Client(stdio_client(server), mode="legacy") as client:
        await asyncio.gather(call(folder, client), asyncio.to_thread(type_lines, folder))


async def call(folder: Path, client: Client) -> None:
    result = await client.call_tool("echo", {"text": "hello"})
    put(folder / "called", result.content[0].text)  # type: ignore[union-attr]


def type_lines(folder: Path) -> None:
    while not (folder / "lines").exists():
        time.sleep(0.01)
    put(folder / "shown", "".join(map(typed, json.loads((folder / "lines").read_text()))))


def typed(line: str) -> str:
    """What a shell with job control shows that leads a terminal's session."""
    child, terminal = pty.fork()
    if child == 0:
        os.execvp("bash", ["bash", "--norc", "--noprofile", "-i", "-c", f"{line}\ntrue"])
    shown = b""
    with suppress(OSError):  # EIO: its other end is closed
        while data := os.read(terminal, 1 << 16):
            shown += data
    os.waitpid(child, 0)
    os.close(terminal)
    return shown.decode()


def put(path: Path, text: str) -> None:
    """A file that is there only whole."""
    path.with_suffix(".new").write_text(text)
    path.with_suffix(".new").rename(path)


main()
