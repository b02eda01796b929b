"""What the kernel says of a server that has spoken decides whether it goes on, and is recorded."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from driver import PATIENCE, PYTHON, Home, command, started

POLICY: Final = "filesystem: {read_write: [~/projects/scratch]}\n"
INITIALIZE: Final = (
    b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",'
    b'"capabilities":{},"clientInfo":{"name":"test","version":"1"}}}\n'
)

# `mcp-jail run` whose bubblewrap is never told of the filter.
UNFILTERED: Final = """
import sys
sys.path.insert(0, sys.argv[1])
from mcp_jail.sandbox import launch
told = launch.arguments
def untold(plan, fds):
    options = told(plan, fds)
    at = options.index("--seccomp")
    return options[:at] + options[at + 2 :]
launch.arguments = untold
if sys.argv[2] == "at its first word":  # let the looks before the start see nothing
    launch.Jail._check_that_it_is_held = lambda jail: None
    launch.Jail._check_that_it_ends_with_us = lambda jail: None
from mcp_jail.cli import main
sys.exit(main(sys.argv[3:]))
"""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path)
    made.write_policy(POLICY)
    return made


LOOKS: Final = pytest.mark.parametrize("when", ["before it starts", "at its first word"])


def run_unfiltered(
    home: Home, when: str, *server: str, client_closes: bool = False
) -> tuple[int, bytes, bytes]:
    """The exit code and what was written to a client, which stays unless it is to close at once."""
    source = Path(__file__).resolve().parent.parent.parent / "src"
    with subprocess.Popen(
        [sys.executable, "-c", UNFILTERED, str(source), when, "run", "fs", *server],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=home.environ(),
        cwd=home.path,
    ) as guard:
        assert guard.stdin is not None
        guard.stdin.write(INITIALIZE)
        guard.stdin.flush()
        if client_closes:
            guard.stdin.close()
        code = guard.wait(timeout=PATIENCE)
        assert guard.stdout is not None
        assert guard.stderr is not None
        return code, guard.stdout.read(), guard.stderr.read()


@LOOKS
@pytest.mark.parametrize("client_closes", [False, True])
def test_a_server_without_a_filter_is_stopped(home: Home, when: str, client_closes: bool) -> None:
    # One that stays where its client has gone: what has ended cannot be looked at any more.
    server = command("hang.py", "stubborn")
    code, told, errors = run_unfiltered(home, when, *server, client_closes=client_closes)
    assert code == 4
    assert b"result" not in told
    assert b"the server is not held by the kernel" in errors


# Answers after so many other lines that it needs more than one look into the pipe.
ANSWERS_LATE: Final = """
import json, os, sys, time
asked = json.loads(sys.stdin.readline())
other = json.dumps({"jsonrpc": "2.0", "method": "notifications/x", "params": {"x": "x" * 1000}})
result = {"protocolVersion": "2025-06-18", "capabilities": {},
          "serverInfo": {"name": "late", "version": "1"}}
answer = json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result})
os.write(1, (other + "\\n").encode() * 500 + answer.encode() + b"\\n")
time.sleep(1000)
"""


def test_nothing_that_a_server_without_a_filter_said_arrives(home: Home) -> None:
    late = ("--", PYTHON, "-I", "-S", "-c", ANSWERS_LATE)
    code, told, _ = run_unfiltered(home, "at its first word", *late)
    assert code == 4
    assert b"result" not in told


@LOOKS
def test_how_a_server_was_not_confined_is_in_the_audit(home: Home, when: str) -> None:
    run_unfiltered(home, when, *command("echo.py"))
    end = home.audit()[-1]
    assert end["kind"] == "end"
    assert end["reason"] == "the server is not confined as planned"
    assert end["detail"]["confined"] == {
        "no_new_privs": True,
        "seccomp": "off",
        "capabilities": "none",
    }


def test_how_a_server_was_confined_is_in_the_audit(home: Home) -> None:
    with started(home, "run", "fs", *command("echo.py")) as client:
        client.open()
        assert client.close() == 0
    assert home.audit()[-1]["detail"]["confined"] == {
        "no_new_privs": True,
        "seccomp": "filter",
        "capabilities": "none",
    }


def test_a_server_that_never_spoke_was_not_looked_at(home: Home) -> None:
    with started(home, "run", "fs", "--", "/bin/cat", os.devnull) as client:
        assert client.process.wait(timeout=30) == 1
    assert home.audit()[-1]["detail"]["confined"] == "not looked at"
