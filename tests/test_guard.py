"""What a whole run loads: the standard library's quick parts, msgspec and PyYAML."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

import mcp_jail
from clients.ways import Jailed
from guard_imports import GUARD_SHUNS, foreign_packages

SERVERS: Final = Path(__file__).resolve().parent / "servers"

# `mcp-jail run`, and what it had loaded when it ended.
RUN: Final = """
import sys
before = set(sys.modules)
sys.path.insert(0, sys.argv[1])
from mcp_jail.cli import main
code = main(sys.argv[3:])
with open(sys.argv[2], "w") as file:
    file.write(" ".join(set(sys.modules) - before))
sys.exit(code)
"""


CONVERSATION: Final[list[dict[str, Any]]] = [
    {
        "jsonrpc": "2.0",
        "id": 0,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    },
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
    {
        "jsonrpc": "2.0",
        "id": 2,
        "method": "tools/call",
        "params": {"name": "add", "arguments": {"a": 1, "b": 2}},
    },
]


@pytest.fixture
def loaded(python: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The modules that a run adds to a bare interpreter, from its start to its end."""
    jailed = Jailed(tmp_path_factory.mktemp("home"))
    command = [python, "-I", "-S", str(SERVERS / "echo.py")]
    _, *arguments = jailed.command("echo", command, tmp_path)
    listed = tmp_path_factory.mktemp("loaded") / "modules"
    source = str(Path(mcp_jail.__file__).parent.parent)
    done = subprocess.run(
        [sys.executable, "-I", "-c", RUN, source, str(listed), *arguments],
        input="".join(json.dumps(message) + "\n" for message in CONVERSATION).encode(),
        env=jailed.environment,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == [0, 1, 2]
    return set(listed.read_text().split())


def test_a_run_loads_two_packages_and_nothing_slow(loaded: set[str]) -> None:
    assert foreign_packages(loaded) == set()
    assert GUARD_SHUNS & loaded == set()


def test_a_run_loads_no_room_that_it_does_not_use(loaded: set[str]) -> None:
    rooms = {name.split(".")[1] for name in loaded if name.startswith("mcp_jail.")}
    used = {"asks", "cli", "config", "core", "errors", "gate", "proxy", "sandbox", "store"}
    assert rooms <= used
