"""Commands in a working directory that somebody has removed: those that need none go on."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from driver import MCP_JAIL, Home

ENTRY = '{"mcpServers": {"time": {"command": "uvx", "args": ["mcp-server-time"]}}}\n'


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path)
    home.write_policy("server: {command: [cat]}\n")
    file = home.path / ".cursor/mcp.json"
    file.parent.mkdir(parents=True)
    file.write_text(ENTRY)
    return home


def from_nowhere(home: Home, *words: str) -> subprocess.CompletedProcess[str]:
    """A command whose shell stood in a directory until it was removed."""
    folder = home.path / "gone"
    folder.mkdir()
    lines = 'cd "$1" && rmdir "$1" && shift && exec "$@"'
    return subprocess.run(
        ["/bin/sh", "-c", lines, "sh", folder, MCP_JAIL, *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=home.environ(COLUMNS="100"),
        cwd=home.path,
        check=False,
    )


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("wrap --all --yes", 0),
        ("wrap HOME/.cursor/mcp.json --dry-run", 0),
        ("unwrap --all --dry-run", 0),
        ("doctor", 0),
        ("show NAME", 0),
        ("check NAME echo", 1),
        ("run NAME", 0),
        ("diff NAME", 0),
        ("prune --json", 0),
    ],
)
def test_a_command_that_names_no_file_by_its_way_goes_on(home: Home, words: str, code: int) -> None:
    line = words.replace("HOME", str(home.path)).replace("NAME", "fs")
    said = from_nowhere(home, *line.split())
    assert (said.returncode, "Traceback" in said.stderr) == (code, False), said.stderr


@pytest.mark.parametrize(
    "words",
    [
        "wrap mcp.json",
        "unwrap mcp.json",
        "run --policy x.yaml",
        "trust x.yaml",
        "run NAME -- ./cat",
    ],
)
def test_one_that_does_ends_in_one_line_and_a_hint(home: Home, words: str) -> None:
    home.write_policy("")
    said = from_nowhere(home, *words.replace("NAME", "fs").split())
    first, second, *more = said.stderr.splitlines()
    assert (said.returncode, more) == (2, [])
    assert first.startswith("mcp-jail: error: the working directory was removed, so ")
    assert second.startswith("mcp-jail: hint: ")


def test_wrap_says_that_no_project_was_looked_at(home: Home) -> None:
    report = json.loads(from_nowhere(home, "wrap", "--all", "--dry-run", "--json").stdout)
    reasons = [each["reason"] for file in report["files"] for each in file["servers"]]
    assert "the working directory was removed, so no project's file is looked at" in reasons
