"""A stdout that is full or that nobody reads any more: words instead of tracebacks."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from driver import MCP_JAIL, Home

COMMANDS = (("--help",), ("ps",), ("log", "fs"), ("schema",), ("show", "fs"), ("run", "--help"))


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path)
    made.write_policy("tools: {default: ask}\n")
    return made


def said(
    home: Home, words: tuple[str, ...], streams: str, given: str = ""
) -> subprocess.CompletedProcess[str]:
    """What a command says whose streams a shell has changed; none may end in a traceback."""
    line = f'"$@" {streams}'
    done = subprocess.run(
        ["/bin/sh", "-c", line, "sh", str(MCP_JAIL), *words],
        env=home.environ(),
        cwd=home.path,
        input=given,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    return done


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_full_disk_behind_stdout_is_told_in_words(home: Home, words: tuple[str, ...]) -> None:
    done = said(home, words, ">/dev/full")
    problem = "what was found cannot be written to stdout: no space left on device"
    assert (done.returncode, done.stderr) == (2, f"mcp-jail: error: {problem}\n")


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_reader_that_has_gone_ends_a_command_in_silence(
    home: Home, words: tuple[str, ...]
) -> None:
    assert said(home, words, "| :").stderr == ""
