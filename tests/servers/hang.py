"""A server that does not answer, or does not go.

    python3 -I -S hang.py silent      reads everything, answers nothing
    python3 -I -S hang.py calls       answers all but `tools/call`
    python3 -I -S hang.py stubborn    answers, but ignores SIGTERM and a closed stdin

It gives itself up after two minutes, so that a failed test leaves nothing behind.
"""

from __future__ import annotations

import os
import signal
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import echo


def main() -> None:
    """Serve as far as the mode goes."""
    mode = sys.argv[1]
    signal.alarm(120)
    if mode == "stubborn":
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
    server = echo.Server()
    for request in echo.requests():
        if mode == "silent" or (mode == "calls" and request["method"] == "tools/call"):
            continue
        echo.send(server.answer(request))
    while mode == "stubborn":
        signal.pause()


if __name__ == "__main__":
    main()
