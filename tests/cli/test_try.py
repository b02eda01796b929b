"""`mcp-jail try`: an unknown server, with nothing of the user's in its reach."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from driver import MCP_JAIL, PYTHON, SERVERS, Home, command, processes_with
from mcp_jail.config import load

ECHO = str(SERVERS / "echo.py")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def tried(home: Home, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [MCP_JAIL, "try", *words],
        capture_output=True,
        text=True,
        env=home.environ(COLUMNS="80", SECRET="do-not-show"),
        cwd=home.path,
        check=False,
    )


def server(home: Home, text: str) -> tuple[str, ...]:
    """A server of one's own that goes on as echo does."""
    path = home.path / "server.py"
    path.write_text(
        f"import os, subprocess, sys\nhome = os.environ['HOME']\n{text}\n"
        f"sys.path.insert(0, {str(SERVERS)!r})\nimport echo\necho.main()\n"
    )
    return ("--", PYTHON, "-I", "-S", str(path), ECHO)


def seen(home: Home, text: str, *words: str) -> dict[str, Any]:
    said = tried(home, "--json", *words, *server(home, text))
    assert said.returncode == 0, said.stderr + said.stdout
    found: dict[str, Any] = json.loads(said.stdout)
    return found


def test_all_that_a_server_would_tell_a_model_is_shown(home: Home) -> None:
    said = tried(home, *command("echo.py"))
    assert said.returncode == 0, said.stderr
    for part in (
        "says     tool/read_file",
        "says     prompt/greet",
        "says     server/instructions",
    ):
        assert part in said.stdout
    assert "    | Say it and it comes back." in said.stdout
    assert "What it tried on the network (there is none here)\n  nothing" in said.stdout


def test_nothing_of_the_user_is_in_its_reach(home: Home) -> None:
    text = (
        f"sys.stderr.write(str([os.path.exists({str(home.secret)!r}), os.listdir(home), "
        "'SECRET' in os.environ, open('/proc/net/dev').read().count(':')]))"
    )
    found = seen(home, text)
    assert found["stderr"] == ["[False, ['server.py'], False, 1]"]


def test_what_it_tried_on_the_network_is_shown(home: Home) -> None:
    text = """
import socket
for place in (("evil.example", 443), ("192.0.2.7", 80), ("127.0.0.1", 9)):
    try:
        socket.create_connection(place, 2)
    except OSError:
        pass
"""
    found = {(each["what"], each["where"]) for each in seen(home, text)["network"]}
    assert found >= {
        ("lookup", "evil.example"),
        ("connect", "192.0.2.7:80"),
        ("connect", "127.0.0.1:9"),
    }
    page = tried(home, *server(home, text)).stdout
    assert page.count("  lookup evil.example\n") == 1


def test_what_it_wrote_and_what_it_runs_is_shown(home: Home) -> None:
    text = """
os.makedirs(home + "/.cache/tracker")
open(home + "/.cache/tracker/id", "w").write("12345")
open("/tmp/dropped", "w").write("x")
os.symlink("/etc/shadow", "/tmp/link")
subprocess.Popen(["sleep", "77"])
"""
    found = seen(home, text)
    files = {each["path"]: (each["kind"], each["size"]) for each in found["files"]}
    assert files[f"{home.path}/.cache/tracker/id"] == ("file", 5)
    assert files["/tmp/dropped"] == ("file", 1)
    assert files["/tmp/link"][0] == "link"
    assert ["sleep", "77"] in found["processes"]
    assert not (home.path / ".cache").exists()
    page = tried(home, *server(home, text)).stdout
    assert "/tmp/dropped (file, 1 bytes)" in page
    assert "sleep 77" in page


def test_nothing_is_left_of_it(home: Home) -> None:
    marker = f"--marker={home.path}"
    before = set(home.path.rglob("*"))
    assert tried(home, "--seconds", "0", *command("echo.py", marker)).returncode == 0
    assert processes_with(marker) == []
    assert set(home.path.rglob("*")) == before


def test_what_it_says_and_writes_cannot_act_on_the_terminal(home: Home) -> None:
    text = """
sys.stderr.write("\\x1b[2J\\x9bevil\\r\\n\\u202ework\\n")
open("/tmp/\\x1b[2Ja\\nWhat it runs", "w").close()
sys.argv[0] = "x"
subprocess.Popen(["sleep", "77", ], executable="/usr/bin/sleep")
"""
    page = tried(home, *server(home, text)).stdout
    assert not set("\x1b\x9b\u202e\r") & {*page}
    assert page.splitlines().count("What it runs") == 1


def test_a_server_that_does_not_answer_is_told_with_what_it_said(home: Home) -> None:
    said = tried(home, *server(home, "sys.stderr.write('no key set'); sys.exit(4)"))
    assert said.returncode == 1
    assert "it does not answer: exit status 4" in said.stdout
    assert "    | no key set" in said.stdout


def test_a_command_that_needs_the_network_is_warned_of(home: Home) -> None:
    program = home.path / "npx"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    said = tried(home, "--seconds", "0", "--", str(program), "-y", "server")
    assert "there is no network in the jail" in " ".join(said.stdout.split())


@pytest.mark.parametrize("words", [[], ["--"], ["npx", "server"], ["--starter", "A/b", "--", "x"]])
def test_a_mistake_is_told(home: Home, words: list[str]) -> None:
    said = tried(home, *words)
    assert said.returncode == 2
    assert said.stderr.startswith("mcp-jail: error: ")
    assert "None" not in said.stderr


def test_a_command_that_is_not_there_is_told(home: Home) -> None:
    said = tried(home, "--", "no-such-server")
    assert said.returncode == 2
    assert "no-such-server" in said.stderr


def test_a_first_policy_can_be_used_as_it_is(home: Home) -> None:
    said = tried(home, "--starter", "fs", *command("echo.py"))
    assert said.returncode == 0, said.stderr
    policy = load(said.stdout, "fs.yaml").policy
    assert policy.name == "fs"
    assert set(policy.tools.rules) >= {"read_file", "delete_file"}
    (home.policies / "fs.yaml").write_text(said.stdout)
    (home.policies / "fs.yaml").chmod(0o600)
    shown = subprocess.run(
        [MCP_JAIL, "diff", "fs", "--live"],
        capture_output=True,
        text=True,
        env=home.environ(),
        check=False,
    )
    assert "items to approve, for the first time" in shown.stdout, shown.stderr


def test_a_tool_without_a_rule_is_told_beside_the_first_policy(home: Home) -> None:
    odd = 'echo.TOOLS[:] = [dict(echo.TOOLS[0], name=name) for name in ("echo", "a\\tb")]'
    path = f"sys.path.insert(0, {str(SERVERS)!r})"
    said = tried(home, "--starter", "fs", *server(home, f"{path}\nimport echo\n{odd}"))
    assert said.returncode == 0, said.stderr
    assert set(load(said.stdout, "fs.yaml").policy.tools.rules) == {"echo"}
    assert "without a rule: " in said.stderr
    assert "the default holds" in said.stderr


def test_no_first_policy_is_printed_for_a_server_that_says_nothing(home: Home) -> None:
    said = tried(home, "--starter", "fs", *server(home, "sys.exit(4)"))
    assert said.returncode == 1
    assert said.stdout == ""


def test_a_page_fits_eighty_columns(home: Home) -> None:
    page = tried(home, *command("echo.py")).stdout
    places = (str(home.path), str(SERVERS.parent.parent))
    wide = [line for line in page.splitlines() if len(line) > 80]
    assert [line for line in wide if not any(place in line for place in places)] == []
