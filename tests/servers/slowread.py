"""A server that stops reading its stdin.

    python3 -I -S slowread.py           answers until the first call, then reads nothing any more
    python3 -I -S slowread.py start     reads nothing at all
    python3 -I -S slowread.py talking   the first, and says something fifty times a second

What is written to it backs up in the pipe; the other direction must go on. It gives itself up after
two minutes, so that a failed test leaves nothing behind.
"""

from __future__ import annotations

import os
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import echo

NOTE = {"level": "info", "data": "still here"}


def main() -> None:
    """Serve, then only wait for a signal."""
    signal.alarm(120)
    server = echo.Server()
    if sys.argv[1:] != ["start"]:
        for request in echo.requests():
            echo.send(server.answer(request))
            if request["method"] == "tools/call":
                break
    while True:
        if sys.argv[1:] == ["talking"]:
            echo.send({"jsonrpc": "2.0", "method": "notifications/message", "params": NOTE})
            time.sleep(0.02)
        else:
            signal.pause()


if __name__ == "__main__":
    main()
