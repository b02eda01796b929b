"""Closed streams and deaf parents: what starts us leaves no file, no server and no wait behind."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest

from cli.test_streams import COMMANDS, said
from driver import MCP_JAIL, PATIENCE, Home, command, running

PING = '{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
# Becomes a command, after it has blocked and ignored all that can be.
DEAF = """
import os, signal, sys
for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
    signal.signal(number, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
os.execv(sys.argv[1], sys.argv[1:])
"""
SLOW = "(a|a)*b"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path)
    made.write_policy("tools: {default: allow}\n")
    return made


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
    done = said(home, ("run", "fs", *command("echo.py")), streams, PING)
    assert done.returncode == 0
    is_heard = streams == "2>&-"
    assert done.stdout == ('{"id":1,"result":{},"jsonrpc":"2.0"}\n' if is_heard else "")
    (end,) = [entry for entry in home.audit() if entry["kind"] == "end"]
    assert end["reason"] == "the client closed"


def deaf(*words: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", DEAF, str(MCP_JAIL), *words]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_guard_of_a_deaf_parent_ends_by_a_signal(home: Home, number: signal.Signals) -> None:
    words = deaf("run", "fs", *command("echo.py"))
    with running(words, home.environ(), home.path) as client:
        client.open()
        client.process.send_signal(number)
        assert client.process.wait(PATIENCE) == 0
    assert home.audit()[-1]["reason"] == "a signal"


def test_a_pattern_that_takes_too_long_is_stopped_below_a_deaf_parent(home: Home) -> None:
    rule = f"sh: {{decision: allow, args: {{line: {{matches: '{SLOW}'}}}}}}"
    home.write_policy(f"tools: {{default: allow, rules: {{{rule}}}}}\n")
    words = deaf("run", "fs", *command("shell.py"))
    with running(words, home.environ(), home.path) as client:
        client.open()
        refused = client.call("sh", line="a" * 60)
    assert refused["isError"]


def test_a_server_hears_every_signal_below_a_deaf_parent(home: Home) -> None:
    words = deaf("run", "fs", *command("shell.py"))
    with running(words, home.environ(), home.path) as client:
        client.open()
        line = "exec /bin/grep -E 'Sig(Ign|Blk)' /proc/self/status"
        said_inside = str(client.call("sh", line=line)["content"][0]["text"])
    masks = [int(word, 16) for word in said_inside.split()[1::2]]
    assert len(masks) == 2
    assert not any(mask & 1 << number - 1 for mask in masks for number in HEARD)


# All but those that the C library keeps to itself, which are no valid ones, and those that Python
# ignores where it runs.
HEARD = signal.valid_signals() - {signal.SIGPIPE, signal.SIGXFSZ}
