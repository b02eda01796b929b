"""A server that lists what a file says: a test writes the file, and changes it between two starts.

    python3 -I -S catalogue.py FILE

FILE is JSON: any of `tools`, `prompts`, `resources`, `templates`, `instructions`, `info`, and
`page` for so many items a page. What is left out is as in echo.py. Tools that are not echo's own
answer with their name.
"""

from __future__ import annotations

import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import echo


def main() -> None:
    """Serve what the file said at the start."""
    with open(sys.argv[1], encoding="utf-8") as file:
        said = json.load(file)
    for name in ("tools", "prompts", "resources", "templates"):
        getattr(echo, name.upper())[:] = said.get(name, getattr(echo, name.upper()))
    echo.SERVER_INFO.update(said.get("info", {}))
    vars(echo)["INSTRUCTIONS"] = said.get("instructions", echo.INSTRUCTIONS)
    server = echo.Server(page=said.get("page"))
    server.call = lambda name, arguments: f"{name} was called"
    for request in echo.requests():
        echo.send(server.answer(request))


if __name__ == "__main__":
    main()
