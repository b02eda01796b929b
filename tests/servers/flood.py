"""A server that writes far more than anybody reads, before it answers a call.

    python3 -I -S flood.py stderr [MIB]          that much on stderr (64 if not said)
    python3 -I -S flood.py stderr-line [MIB]     the same, without one newline
    python3 -I -S flood.py notifications [MIB]   that much in `notifications/message` on stdout

Who stops reading one stream while it waits on the other never gets the answer.
"""

from __future__ import annotations

import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import echo

BLOCK = 64 * 1024
LINES = b"noise noise noise noise noise noise\n" * 1820
NOTE = {"jsonrpc": "2.0", "method": "notifications/message"}


def flood(mode: str, size: int) -> None:
    """Write that many bytes the way the mode says."""
    if mode == "notifications":
        params = {"level": "info", "data": "noise " * 100}
        block = json.dumps(NOTE | {"params": params}).encode() + b"\n"
        block *= BLOCK // len(block)
        for _ in range(size // len(block) + 1):
            echo.send_bytes(block)
        return
    line = (
        b"x" * BLOCK if mode == "stderr-line" else b"noise noise noise noise noise noise\n" * 1820
    )
    for _ in range(size // len(line) + 1):
        sys.stderr.buffer.write(line)
    sys.stderr.buffer.flush()


def main() -> None:
    """Serve; flood before each answer to a call."""
    size = int(sys.argv[2]) if len(sys.argv) > 2 else 64
    server = echo.Server()
    for request in echo.requests():
        if request["method"] == "tools/call":
            flood(sys.argv[1], size * 1024 * 1024)
        echo.send(server.answer(request))


if __name__ == "__main__":
    main()
