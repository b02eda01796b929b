"""A server whose one tool runs a line of shell, for tests of what programs reach from inside.

    python3 -I -S shell.py

`$PYTHON` is the interpreter that runs the server. The answer is what the line printed, on either
stream. The line in `$FIRST`, if there is one, is run before anything else, and what it printed is
`$SAID` for every other.
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Final

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import echo

TOOLS: Final[list[echo.Json]] = [
    {
        "name": "sh",
        "description": "Run a line of shell.",
        "inputSchema": {
            "type": "object",
            "properties": {"line": {"type": "string"}},
            "required": ["line"],
        },
    }
]


def call_tool(name: str, arguments: echo.Json) -> str:
    """Run the line; gives all that it printed."""
    if name != "sh":
        raise echo.RpcError(-32602, f"no tool {name!r}")
    done = subprocess.run(
        ["/bin/sh", "-c", arguments["line"]],
        env={**os.environ, "PYTHON": sys.executable},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    return done.stdout.decode(errors="replace")


def main() -> None:
    """Serve until the client closes."""
    if "FIRST" in os.environ:
        os.environ["SAID"] = call_tool("sh", {"line": os.environ["FIRST"]})
    server = echo.Server()
    server.tools, server.call = TOOLS, call_tool
    for request in echo.requests():
        echo.send(server.answer(request))


if __name__ == "__main__":
    main()
