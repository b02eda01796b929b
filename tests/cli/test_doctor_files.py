"""What `doctor` says of policies: weaker ones, and those that no run can start."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from driver import MCP_JAIL, PYTHON, SERVERS, Home

WITHOUT_SETNS: Final = str(Path(__file__).resolve().parent.parent / "without_setns.py")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def doctor(home: Home, *more: str, **variables: str) -> tuple[int, Any]:
    """Exit code and findings."""
    said = subprocess.run(
        [MCP_JAIL, "doctor", "--json", *more],
        capture_output=True,
        text=True,
        env=home.environ(**variables),
        cwd=home.path,
        check=False,
    )
    assert said.stdout, said.stderr
    return said.returncode, json.loads(said.stdout)


def command(home: Home, *words: str) -> None:
    """A command that has to work."""
    subprocess.run([MCP_JAIL, *words], capture_output=True, env=home.environ(), check=True)


def policy(home: Home, text: str) -> None:
    home.write_policy(text + ("" if "lock:" in text else "\nlock: {first: review}"), "w")


@pytest.mark.parametrize(
    ("text", "message", "cure"),
    [
        ("lock: {first: trust}", "approved unread", "take out: lock.first"),
        ("package: {npm: x, unpinned: true}", "fetched at each start", "out: package.unpinned"),
        ('tools: {rules: {"*": allow}}', "every tool may be called", 'out: tools.rules: "*"'),
        ("env: {pass: [LD_PRELOAD]}", "your LD_PRELOAD decides", "out: env.pass: LD_PRELOAD"),
    ],
)
def test_a_weaker_policy_fails_only_where_it_is_to_be_strict(
    home: Home, text: str, message: str, cure: str
) -> None:
    policy(home, text)
    code, found = doctor(home)
    (weak,) = found["policies"]
    assert code == 0
    assert message in weak["message"]
    assert weak["cure"] == f"in {home.policies}/w.yaml, take out: {cure.partition(': ')[2]}"
    assert doctor(home, "--strict")[0] == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("filesystem: {read_only: [~/gone]}", "gone"),
        ("server: {command: [/no/such/server]}", "command '/no/such/server' is not there"),
        ("server: {command: [/usr/bin/true], cwd: ~/gone}", "is no directory"),
        ("server: {command: [./server], cwd: ~/projects}", "command './server' is not there"),
    ],
)
def test_a_policy_that_no_run_can_start_is_told(home: Home, text: str, message: str) -> None:
    policy(home, text)
    code, found = doctor(home)
    (fault,) = found["policies"]
    assert code == 1
    assert fault["message"].startswith("cannot be started: ")
    assert message in fault["message"]
    assert fault["cure"] == "mcp-jail show w"


@pytest.mark.parametrize("kind", ["gone", "still", "broken", "own"])
def test_a_policy_that_wrap_made_fails_nothing_once_no_entry_goes_by_it(
    home: Home, kind: str
) -> None:
    entry = {"command": "/bin/sh", "args": ["x"]}
    path = home.path / ".cursor" / "mcp.json"
    path.parent.mkdir()
    path.write_text(json.dumps({"mcpServers": {"w": entry, "v": entry | {"args": ["y"]}}}))
    command(home, "wrap", "--all", "--yes")
    file = home.policies / "w.yaml"
    text = file.read_text()
    assert "/bin/sh" in text
    file.write_text(text.replace("/bin/sh", "/no/such/server"))
    if kind != "still":
        command(home, "unwrap", str(path), "--server", "w", "--yes")
    if kind == "broken":
        (home.path / ".claude.json").write_text("{")
    if kind == "own":
        file.write_text("name: w\nserver: {command: [/no/such/server]}\n")
    found = doctor(home)[1]
    faults = [each for each in found["policies"] if each["policy"] == "w"]
    (fault,) = (each for each in faults if "cannot be started" in each["message"])
    assert fault["fails"] is (kind != "gone")
    assert (fault["cure"] == f"no entry goes by it: remove the file {file}") is (kind == "gone")


def test_a_name_that_is_nowhere_is_told_and_fails_nothing(home: Home) -> None:
    policy(home, "server: {command: [no-such-server]}")
    code, found = doctor(home)
    (fault,) = found["policies"]
    assert (code, fault["fails"]) == (0, False)
    assert "command 'no-such-server' not found" in fault["message"]


def test_a_policy_with_the_name_of_another_is_told(home: Home) -> None:
    policy(home, "")
    (home.policies / "w.yaml").write_text("name: other\n")
    code, found = doctor(home)
    (fault,) = found["policies"]
    assert code == 1
    assert "names itself 'other', expected 'w'" in fault["message"]


@pytest.mark.parametrize(
    "text",
    [
        f"server: {{command: [{PYTHON}, -I, {SERVERS}/echo.py]}}",
        "server: {command: [my-server]}",  # found as a login would, by the short PATH of cron
        "server: {command: [./server]}",  # where that is, only its client knows
        "filesystem: {read_only: [~/projects]}",
    ],
)
def test_a_policy_that_can_be_started_is_no_finding(home: Home, text: str) -> None:
    tool = home.path / ".local" / "bin" / "my-server"
    tool.parent.mkdir(parents=True)
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    policy(home, text)
    code, found = doctor(home, "--strict", PATH="/usr/bin:/bin")
    assert (code, found["policies"]) == (0, [])


@pytest.mark.parametrize(
    ("network", "is_told"),
    [
        ("{mode: allowlist, allow: [a.example]}", True),
        ("{mode: none}", True),
        ("{mode: host}", False),
    ],
)
def test_a_policy_whose_gate_cannot_be_built_here_is_told(
    home: Home, network: str, is_told: bool
) -> None:
    policy(home, f"network: {network}")
    said = subprocess.run(
        [sys.executable, WITHOUT_SETNS, str(MCP_JAIL), "doctor", "--json"],
        capture_output=True,
        text=True,
        env=home.environ(),
        check=False,
    )
    found = json.loads(said.stdout)
    assert found["gate"]["works"] is False
    faults = [each for each in found["policies"] if each["fails"]]
    assert (said.returncode == 1) is bool(faults) is is_told
    assert all("no gate can be built here" in each["message"] for each in faults)


def test_a_finding_and_its_cure_are_a_line_each(home: Home) -> None:
    policy(home, "network: {mode: host}\nserver: {command: [/no/such/server]}")
    said = subprocess.run(
        [MCP_JAIL, "doctor"], capture_output=True, text=True, env=home.environ(), check=False
    ).stdout
    assert said.partition("Policies\n")[2].splitlines() == [
        "  w: it has your whole network",
        f"    in {home.policies}/w.yaml, take out: network.mode",
        "  w: cannot be started: command '/no/such/server' is not there",
        "    mcp-jail show w",
    ]
