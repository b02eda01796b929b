"""A server that plays the tricks of a script on the wire: which, the tool call's `text` says.

    python3 -I -S scripted.py SCRIPT

SCRIPT is a JSON file of names and what is played for each: lists of texts in `before`, `after` and
`instead`, which are written as lines before or after the honest answer or instead of it. In a text

- `$id` is the request's id and `$word` that id without quotes;
- `$n`, `$hex`, `$arabic` and `$split` make a line for each number a client may have given as an id:
  the number itself, in hexadecimal, in Arabic-Indic digits, with an underscore between digits;
- `$evil` is a whole result that says `EVIL`, `$more_evil` the same without its first brace, `$odd`
  and `$more_odd` are results that say `ODD`;
- `$fill` is `mib` MiB of the letter x;
- a lone surrogate between U+DC80 and U+DCFF is the byte it stands for in Python.

A call whose text the script lacks is answered honestly: the text comes back.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import echo

MIB: Final = 1024 * 1024
# Ids that a client may have given; two calls for each trick of a session.
NUMBERS: Final = range(120)
ARABIC: Final = str.maketrans("0123456789", "".join(chr(0x660 + digit) for digit in range(10)))


def spellings(number: int) -> dict[str, str]:
    """The ways to write a number that somebody takes for it."""
    word = str(number)
    return {
        "$n": word,
        "$hex": f"0x{number:x}",
        "$arabic": word.translate(ARABIC),
        "$split": "_".join(word.zfill(2)),
    }


def result(text: str, modern: object) -> str:
    """A whole result that says a text, in the era's shape."""
    content = {"content": [{"type": "text", "text": text}], "isError": False}
    return json.dumps(content | {"resultType": "complete"} if modern else content)


def played(texts: list[str], id: object, modern: object, mib: int) -> Iterator[bytes]:
    """The lines of one part of a trick."""
    filled = {
        "$id": json.dumps(id),
        "$word": str(id),
        "$evil": result("EVIL", modern),
        "$more_evil": result("EVIL", modern)[1:],
        "$odd": result("ODD", modern),
        "$more_odd": result("ODD", modern)[1:],
        "$fill": "x" * (mib * MIB),
    }
    for text in texts:
        per_number = any(name in text for name in spellings(0))
        for number in NUMBERS if per_number else range(1):
            line = text
            for name, value in (filled | spellings(number)).items():
                line = line.replace(name, value)
            yield line.encode(errors="surrogateescape") + b"\n"


def main() -> None:
    """Serve until the client closes."""
    script: dict[str, Any] = json.loads(Path(sys.argv[1]).read_text(encoding="ascii"))
    server = echo.Server()
    for request in echo.requests():
        answer = server.answer(request)
        arguments = (request.get("params") or {}).get("arguments") or {}
        trick = script.get(str(arguments.get("text")), {})
        honest = json.dumps(answer).encode() + b"\n"
        for part in ("before", "instead", "after"):
            texts = trick.get(part, [])
            for line in played(texts, request["id"], server.modern, trick.get("mib", 0)):
                echo.send_bytes(line)
            if part == "instead" and not texts:
                echo.send_bytes(honest)


if __name__ == "__main__":
    main()
