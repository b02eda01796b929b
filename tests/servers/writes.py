"""A server made of the Python SDK, of both eras, with one tool that leaves a trace.

    python writes.py [WORD...]

The words mean nothing; a test finds the process by them.
"""

from __future__ import annotations

from pathlib import Path

from mcp.server.mcpserver import MCPServer

server = MCPServer("writes", instructions="Write what you are told.")


@server.tool()
def write_file(path: str, content: str) -> str:
    """Write a text into a file."""
    return f"{Path(path).write_text(content, encoding='utf-8')} characters"


@server.tool()
def echo(text: str) -> str:
    """Give back a text."""
    return text


if __name__ == "__main__":
    server.run()
