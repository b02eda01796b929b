"""Runs `tests/node/client.mjs`: a client made of one of the TypeScript SDKs."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any, Final

CLIENT: Final = Path(__file__).resolve().parent.parent / "node" / "client.mjs"

# Version 1 of the SDK, and version 2 in both ways it can open.
ERAS: Final = ("v1", "v2-legacy", "v2-auto")

Step = str | tuple[str, dict[str, Any]]


def take_steps(
    era: str, command: list[str], environment: dict[str, str], steps: list[Step]
) -> list[Any]:
    """Connect, take each step, close; what each step gave."""
    words = [json.dumps(part) for part in (command, environment, steps)]
    done = subprocess.run(
        ["node", str(CLIENT), era, *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]
