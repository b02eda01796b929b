"""Streams that are closed or full: words instead of tracebacks, and nobody's file written to."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from driver import MCP_JAIL, Home, command

COMMANDS = (("--help",), ("ps",), ("log", "fs"), ("schema",), ("show", "fs"), ("run", "--help"))
PING = '{"jsonrpc":"2.0","id":1,"method":"ping"}\n'


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


@pytest.mark.parametrize("streams", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_closed_stream_changes_nothing_else(
    home: Home, words: tuple[str, ...], streams: str
) -> None:
    whole, done = said(home, words, ""), said(home, words, streams)
    assert done.returncode == whole.returncode
    assert done.stdout == ("" if ">&-" in streams.replace("2>&-", "") else whole.stdout)
    assert done.stderr == ("" if "2>&-" in streams else whole.stderr)


@pytest.mark.parametrize("streams", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_guard_without_a_stream_writes_the_client_s_messages_to_no_file(
    home: Home, streams: str
) -> None:
    home.write_policy("tools: {default: allow}\n")
    done = said(home, ("run", "fs", *command("echo.py")), streams, PING)
    assert done.returncode == 0
    is_heard = streams == "2>&-"
    assert done.stdout == ('{"id":1,"result":{},"jsonrpc":"2.0"}\n' if is_heard else "")
    (end,) = [entry for entry in home.audit() if entry["kind"] == "end"]
    assert end["reason"] == "the client closed"
