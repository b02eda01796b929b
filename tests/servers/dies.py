"""A server that dies in the middle of a call.

python3 -I -S dies.py STATUS          exits with that status, the call unanswered
python3 -I -S dies.py STATUS half     writes half of its answer first
python3 -I -S dies.py STATUS start    exits before it reads anything
python3 -I -S dies.py kill            ends by SIGKILL
"""

from __future__ import annotations

import json
import os
import signal
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import echo


def die() -> None:
    """End at once, with no clean-up."""
    if sys.argv[1] == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    print("dies.py: this was to be expected", file=sys.stderr, flush=True)
    os._exit(int(sys.argv[1]))


def main() -> None:
    """Serve until the first call."""
    when = sys.argv[2] if len(sys.argv) > 2 else "call"
    if when == "start":
        die()
    server = echo.Server()
    for request in echo.requests():
        answer = server.answer(request)
        if request["method"] == "tools/call":
            if when == "half":
                line = json.dumps(answer).encode()
                echo.send_bytes(line[: len(line) // 2])
            die()
        echo.send(answer)


if __name__ == "__main__":
    main()
