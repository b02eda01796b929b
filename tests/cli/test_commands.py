"""The small commands, each as a person or a script calls it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Final

import pytest

from driver import MCP_JAIL, Home, command, started
from mcp_jail.cli.commands import COMMANDS

POLICY = """\
filesystem: {read_write: [~/projects/scratch]}
tools:
  default: deny
  rules:
    write_file: {decision: allow, args: {path: {under: [~/projects/scratch]}}}
    echo: ask
resources: {default: allow, rules: {"file://**": deny}}
"""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path)
    made.write_policy(POLICY)
    return made


def done(home: Home, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [MCP_JAIL, *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        env=home.environ(COLUMNS="80"),
        cwd=home.path,
        check=False,
    )


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_a_help_with_an_example(home: Home, name: str) -> None:
    said = done(home, name, "--help")
    assert said.returncode == 0, said.stderr
    assert "xample" in said.stdout
    assert f"mcp-jail {name}" in said.stdout


def test_without_a_command_the_commands_are_named(home: Home) -> None:
    said = done(home)
    assert said.returncode == 2
    assert all(name in said.stdout for name in COMMANDS)


@pytest.mark.parametrize(
    ("line", "hint"),
    [(["shwo"], "mcp-jail show"), (["show", "--bogus"], "show --help"), (["log", "a", "b"], "log")],
    ids=str,
)
def test_a_mistake_is_told_with_a_hint_and_without_a_traceback(
    home: Home, line: list[str], hint: str
) -> None:
    said = done(home, *line)
    assert said.returncode == 2
    assert said.stderr.startswith("mcp-jail: error: ")
    assert hint in said.stderr.partition("mcp-jail: hint: ")[2]
    assert "Traceback" not in said.stderr


@pytest.mark.parametrize(
    ("words", "verdict"),
    [
        (["write_file", '{"path": "%s/projects/scratch/a"}'], "allow"),
        (["write_file", '{"path": "%s/projects/a"}'], "deny"),
        (["write_file", '{"path": "%s/projects/scratch/../a"}'], "deny"),
        (["echo"], "ask"),
        (["other"], "deny"),
        (["--resource", "x://y"], "allow"),
        (["--resource", "file:///etc/passwd"], "deny"),
        (["--prompt", "p"], "allow"),
    ],
    ids=str,
)
def test_check_says_what_the_policy_would_say(home: Home, words: list[str], verdict: str) -> None:
    filled = [word.replace("%s", str(home.path)) for word in words]
    said = done(home, "check", "fs", *filled, "--json")
    assert json.loads(said.stdout)["verdict"] == verdict
    assert said.returncode == (0 if verdict == "allow" else 1)


@pytest.mark.parametrize("text", ["[]", "NaN", "", "path=/x"])
def test_check_takes_an_object(home: Home, text: str) -> None:
    said = done(home, "check", "fs", "write_file", text)
    assert said.returncode == 2
    assert "the arguments must be a JSON object, e.g. '{" in said.stderr


def test_check_says_why_a_relative_path_does_not_do(home: Home) -> None:
    said = done(home, "check", "fs", "write_file", '{"path": "projects/scratch/a"}')
    assert said.returncode == 1
    assert "'path' is a relative path" in said.stdout


def test_check_says_that_a_person_is_asked(home: Home) -> None:
    said = done(home, "check", "fs", "echo")
    assert "ask" in said.stdout
    assert "needs the user's approval" in said.stdout


@pytest.mark.parametrize("text", ["{", '{"a":1,"a":2}', '{"a":1,"A":2}'])
def test_check_takes_only_what_a_call_can_have(home: Home, text: str) -> None:
    said = done(home, "check", "fs", "write_file", text)
    assert said.returncode == 2
    assert "the arguments are not what a call can have" in said.stderr


def test_why_shows_the_last_denials_with_the_policy_line(home: Home) -> None:
    with started(home, "run", "fs", *command("echo.py")) as client:
        client.open()
        client.call("write_file", path="/etc/passwd", content="x")
        client.close()
    said = done(home, "why", "fs")
    assert said.returncode == 0
    assert "must lie under ~/projects/scratch" in said.stdout
    assert "write_file: {decision: allow" in said.stdout


def test_why_says_what_would_allow_what_no_rule_names(home: Home) -> None:
    with started(home, "run", "fs", *command("echo.py")) as client:
        client.open()
        client.call("add", a=1, b=2)
        client.close()
    said = done(home, "why", "fs")
    assert 'to allow it, add under tools.rules: "add": allow' in said.stdout


TRIES: Final = "import socket; socket.gethostbyname('evil.example')"


@pytest.mark.parametrize(
    ("network", "place"),
    [
        ("network: {mode: none}", "fs.yaml:2:11: network: {mode: none}"),
        ("network:\n  private: deny", "fs.yaml:2:1: network:"),
        (
            "network:\n  mode: allowlist\n  allow: [api.example.com]",
            "fs.yaml:4:3: allow: [api.example.com]",
        ),
        ("# none", "the default of mcp-jail"),
    ],
)
def test_why_shows_what_of_the_policy_refused_an_attempt_on_the_network(
    home: Home, network: str, place: str
) -> None:
    home.write_policy(f"{network}\ntools: {{default: allow}}")
    with started(home, "run", "fs", *command("shell.py")) as client:
        client.open()
        client.call("sh", line=f'$PYTHON -c "{TRIES}"')
        client.close()
    said = done(home, "why", "fs").stdout
    assert "network lookup evil.example" in said
    assert place in said


def test_why_shows_no_line_of_a_policy_that_was_changed_since(home: Home) -> None:
    policy = home.policies / "fs.yaml"
    with started(home, "run", "fs", *command("echo.py")) as client:
        client.open()
        client.call("write_file", path="/etc/passwd", content="x")
        client.close()
    policy.write_text("# one line more\n" + policy.read_text())
    said = done(home, "why", "fs")
    assert "(the file has changed since)" in said.stdout
    assert "write_file: {decision: allow" not in said.stdout


def test_why_needs_no_more_than_the_audit(home: Home) -> None:
    cloned = home.projects / "jail.yaml"
    cloned.write_text("name: cloned\ntools:\n  default: deny\n")
    cloned.chmod(0o600)
    assert done(home, "trust", str(cloned), "--yes").returncode == 0
    with started(home, "run", "--policy", str(cloned), *command("echo.py")) as client:
        client.open()
        client.call("echo", text="x")
        client.close()
    (marked,) = (path.stem for path in home.state.glob("cloned-*.jsonl"))
    for which in ([marked], ["--policy", str(cloned)]):
        said = done(home, "why", *which)
        assert said.returncode == 0, said.stderr
        assert f"{cloned}:3:3: default: deny" in said.stdout
    cloned.unlink()
    said = done(home, "why", marked)
    assert said.returncode == 0
    assert f"{cloned}:3:3" in said.stdout


def test_why_without_entries_is_a_no_and_without_a_policy_a_mistake(home: Home) -> None:
    said = done(home, "why", "fs")
    assert (said.returncode, said.stdout.strip()) == (1, "no entries yet")
    assert done(home, "why", "sf").returncode == 2


def test_a_policy_of_ones_own_needs_no_trust(home: Home) -> None:
    said = done(home, "trust", str(home.policies / "fs.yaml"))
    assert said.returncode == 0
    assert said.stdout.startswith("not needed: ")


def test_a_tool_the_server_does_not_have_is_not_suggested(home: Home) -> None:
    with started(home, "run", "fs", *command("echo.py")) as client:
        client.open()
        client.request("tools/list")
        client.call("imagined")
        client.close()
        assert b"denied imagined: " in client.stderr
        assert b"the server has listed no tool of this name" in client.stderr
        assert b"to allow it" not in client.stderr


def test_a_policy_elsewhere_counts_only_once_it_is_trusted(home: Home) -> None:
    cloned = home.projects / "jail.yaml"
    cloned.write_text("name: cloned\ntools: {default: allow}\n")
    cloned.chmod(0o600)
    refused = done(home, "show", "--policy", str(cloned))
    assert refused.returncode == 2
    assert "is not trusted" in refused.stderr
    assert done(home, "trust", str(cloned)).returncode == 2  # no terminal, no --yes
    assert done(home, "trust", str(cloned), "--yes").returncode == 0
    assert done(home, "show", "--policy", str(cloned)).returncode == 0
    cloned.write_text("name: cloned\ntools: {default: deny}\n")
    changed = done(home, "show", "--policy", str(cloned))
    assert changed.returncode == 2
    assert "has changed since it was trusted" in changed.stderr
    assert done(home, "trust", str(cloned), "--yes").returncode == 0
    assert done(home, "trust", str(cloned), "--withdraw").returncode == 0
    assert done(home, "show", "--policy", str(cloned)).returncode == 2


def test_a_policy_that_cannot_be_used_cannot_be_trusted(home: Home) -> None:
    bad = home.projects / "bad.yaml"
    bad.write_text("name: bad\nrulez: 1\n")
    bad.chmod(0o600)
    said = done(home, "trust", str(bad), "--yes")
    assert said.returncode == 2
    assert "rulez" in said.stderr


def test_an_untrusted_policy_starts_nothing(home: Home) -> None:
    cloned = home.projects / "jail.yaml"
    cloned.write_text("name: cloned\ntools: {default: allow}\n")
    cloned.chmod(0o600)
    with started(home, "run", "--policy", str(cloned), *command("echo.py")) as client:
        assert client.wait() == 2


def test_doctor_says_that_a_jail_works_here(home: Home) -> None:
    said = done(home, "doctor", "--json")
    assert said.returncode == 0
    found = json.loads(said.stdout)
    assert found["jail"]["works"] is True
    assert found["gaps"] == []
    page = done(home, "doctor").stdout
    assert "works" in page
    wide = [line for line in page.splitlines() if len(line) > 80]
    assert [line for line in wide if str(home.path) not in line] == []  # a path is not broken


def test_schema_is_json_and_knows_every_key(home: Home) -> None:
    schema = json.loads(done(home, "schema").stdout)
    text = json.dumps(schema)
    for key in ("read_write", "one_of", "hide_denied", "channels"):
        assert key in text


def test_a_closed_pipe_is_no_traceback(home: Home) -> None:
    done_ = subprocess.run(
        f"{MCP_JAIL} schema | head -c 1",
        shell=True,
        capture_output=True,
        text=True,
        env=home.environ(),
        check=False,
    )
    assert "Traceback" not in done_.stderr
