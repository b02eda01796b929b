"""A client made of the Python SDK, as a program: a call for each line it reads.

    python asked_client.py MODE SECONDS COMMAND...

MODE is how it opens, SECONDS how long it waits for a call. A line is `[tool, arguments]`; what it
gave is printed, as `{"text": ...}` or `{"error": ...}`.
"""

from __future__ import annotations

import json
import sys

import anyio
from mcp import Client, MCPError, StdioServerParameters, stdio_client
from mcp_types import TextContent


async def main(mode: str, seconds: float, command: list[str], home: str) -> None:
    parameters = StdioServerParameters(command=command[0], args=command[1:], env={"HOME": home})
    async with Client(stdio_client(parameters), mode=mode) as client:
        while line := await anyio.to_thread.run_sync(sys.stdin.readline):
            name, arguments = json.loads(line)
            try:
                result = await client.call_tool(name, arguments, read_timeout_seconds=seconds)
            except MCPError as error:
                said = {"error": str(error)}
            else:
                said = {
                    "text": "".join(b.text for b in result.content if isinstance(b, TextContent))
                }
            print(json.dumps(said), flush=True)


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], float(sys.argv[2]), sys.argv[4:], sys.argv[3])
