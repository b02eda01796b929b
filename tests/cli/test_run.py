"""`mcp-jail run` with a real server in a real jail: what the policy forbids does not happen."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from driver import ERAS, MCP_JAIL, PYTHON, SERVERS, Home, command, started
from mcp_jail.cli.run import loader_variables, parse
from mcp_jail.errors import UsageError

POLICY = """\
filesystem:
  read_only: [~/projects]
  read_write: [~/projects/scratch]
tools:
  default: ask
  rules:
    "read_*": allow
    "list_*": allow
    echo: allow
    "delete_*": deny
    write_file: {decision: allow, args: {path: {under: [~/projects/scratch]}}}
"""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path)
    made.write_policy(POLICY)
    return made


def text(result: dict[str, object]) -> str:
    content = result["content"]
    assert isinstance(content, list)
    return str(content[0]["text"])


@pytest.mark.parametrize("era", ERAS)
def test_a_jailed_server_serves_what_the_policy_allows(home: Home, era: str) -> None:
    with started(home, "run", "fs", *command("echo.py"), era=era) as client:
        client.open()
        tools = client.request("tools/list")["result"]["tools"]
        assert "read_file" in {tool["name"] for tool in tools}
        assert "delete_file" not in {tool["name"] for tool in tools}
        read = client.call("read_file", path=str(home.projects / "readme.txt"))
        assert text(read) == "hello from inside\n"
        written = home.scratch / "new.txt"
        assert not client.call("write_file", path=str(written), content="x").get("isError")
        assert written.read_text() == "x"
        assert client.close() == 0


@pytest.mark.parametrize("era", ERAS)
def test_the_kernel_refuses_what_no_rule_speaks_of(home: Home, era: str) -> None:
    with started(home, "run", "fs", *command("echo.py"), era=era) as client:
        client.open()
        result = client.call("read_file", path=str(home.secret))
        assert result["isError"] is True
        assert "CANARY" not in str(result)
        assert "No such file" in text(result)


@pytest.mark.parametrize("era", ERAS)
def test_the_policy_refuses_where_a_rule_says_so_and_names_what_did_not_hold(
    home: Home, era: str
) -> None:
    with started(home, "run", "fs", *command("echo.py"), era=era) as client:
        client.open()
        outside = home.projects / "outside.txt"
        result = client.call("write_file", path=str(outside), content="x")
        assert result["isError"] is True
        assert "must lie under ~/projects/scratch" in text(result)
        assert ("resultType" in result) == (era == "modern")
        assert not outside.exists()


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("tool", ["delete_file", "no_such_tool", "add"])
def test_denied_unknown_and_to_be_asked_tools_never_reach_the_server(
    home: Home, tool: str, era: str
) -> None:
    log = home.scratch / "log"
    home.write_policy(POLICY + "ask: {wait: 0s}\n")
    with started(home, "run", "fs", *command("echo.py", "--log", str(log)), era=era) as client:
        client.open()
        victim = home.scratch / "victim"
        victim.write_text("still here")
        assert client.call(tool, path=str(victim))["isError"] is True
        assert victim.exists()
        client.close()
    assert tool not in log.read_text()


def test_every_call_is_in_the_audit_with_verdict_and_rule(home: Home) -> None:
    with started(home, "run", "fs", *command("echo.py")) as client:
        client.open()
        client.call("read_file", path=str(home.projects / "readme.txt"))
        client.call("delete_file", path="/x")
        client.call("read_file", path="/nowhere")
        client.close()
    entries = [entry for entry in home.audit() if entry["kind"] != "lock"]
    kinds = [(e["kind"], e.get("verdict"), e.get("rule"), e.get("is_error")) for e in entries]
    assert kinds == [
        ("start", None, None, None),
        ("call", "allow", "tools.rules.read_*", None),
        ("result", None, None, None),
        ("call", "deny", "tools.rules.delete_*", None),
        ("call", "allow", "tools.rules.read_*", None),
        ("result", None, None, True),
        ("end", None, None, None),
    ]
    assert entries[1]["where"] == "~/.config/mcp-jail/policies/fs.yaml:8:5"
    assert entries[0]["detail"]["network"]["mode"] == "none"
    assert entries[-1]["detail"]["calls"] == 3


def test_the_audit_keeps_no_secret_of_command_environment_or_arguments(home: Home) -> None:
    token = "ghp_" + "a1B2" * 9
    home.write_policy(POLICY + "env: {pass: [API_KEY]}\n")
    env = home.environ(API_KEY="s3cr3t-value-of-the-key")
    with started(home, "run", "fs", *command("echo.py", f"--token={token}"), env=env) as client:
        client.open()
        client.call("echo", text=f"{token} and s3cr3t-value-of-the-key")
        client.close()
    audit = (home.state / "fs.jsonl").read_text()
    assert token not in audit
    assert "s3cr3t" not in audit
    assert "[redacted]" in audit


def test_the_server_has_no_network_and_none_of_our_environment(home: Home) -> None:
    env = home.environ(SECRET_TOKEN="do-not-show")
    with started(home, "run", "fs", *command("echo.py"), env=env) as client:
        client.open()
        assert "SECRET_TOKEN" not in text(client.call("read_file", path="/proc/self/environ"))
        interfaces = text(client.call("read_file", path="/proc/net/dev"))
        names = [line.partition(":")[0].strip() for line in interfaces.splitlines()[2:]]
        assert names == ["lo"]


def test_a_server_without_the_policys_command_is_not_started(home: Home) -> None:
    home.write_policy(POLICY + "server: {command: [/usr/bin/true]}\n")
    with started(home, "run", "fs", *command("echo.py")) as client:
        assert client.wait() == 3
        assert b"/usr/bin/true" in client.stderr


def test_the_policy_may_name_the_command(home: Home) -> None:
    words = [PYTHON, "-I", "-S", str(SERVERS / "echo.py")]
    home.write_policy(POLICY + f"server: {{command: {words}}}\n".replace("'", '"'))
    with started(home, "run", "fs") as client:
        client.open()
        assert client.close() == 0


def test_no_policy_no_server(home: Home) -> None:
    with started(home, "run", "other", *command("echo.py")) as client:
        assert client.wait() == 2
        assert b"no policy named 'other'" in client.stderr
        assert b"hint:" in client.stderr


def test_a_malformed_policy_starts_nothing_and_tells_all_its_problems(home: Home) -> None:
    home.write_policy("tools:\n  default: alow\n  rulez: {}\nnetwork: {mode: some}\n")
    with started(home, "run", "fs", *command("echo.py")) as client:
        assert client.wait() == 2
        told = client.stderr.decode()
    for part in ("fs.yaml:3:12", "alow", "rulez", "some", "^"):
        assert part in told


def test_a_missing_directory_is_told_and_nothing_is_started(home: Home) -> None:
    home.write_policy("filesystem: {read_only: [~/gone, ~/gone-too]}\n")
    with started(home, "run", "fs", *command("echo.py")) as client:
        assert client.wait() == 2
        assert b"fs.yaml:2:26: '" in client.stderr
        assert b"fs.yaml:2:34: '" in client.stderr
        assert b"2 problems in '~/.config/mcp-jail/policies/fs.yaml', above" in client.stderr


@pytest.mark.parametrize(
    "line",
    [["run", "fs", "echo"], ["run", "--policy", "f", "echo"], ["show", "fs", "echo", "-x"]],
    ids=str,
)
def test_a_command_without_two_dashes_is_told_where_they_go(home: Home, line: list[str]) -> None:
    with started(home, *line) as client:
        assert client.wait() == 2
        assert b"-- echo ..." in client.stderr


def test_a_person_who_starts_it_in_a_terminal_is_told_what_it_waits_for(home: Home) -> None:
    home.write_policy("tools: {default: deny}\n")
    ours, theirs = os.openpty()
    with os.fdopen(ours, "rb"), os.fdopen(theirs, "rb") as terminal:
        process = subprocess.Popen(
            [MCP_JAIL, "run", "fs", *command("echo.py")],
            stdin=terminal,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=home.environ(),
        )
        assert process.stderr is not None
        assert b"waits for an MCP client" in process.stderr.readline()
        process.terminate()
        process.communicate()


def test_a_command_that_looks_its_package_up_is_warned_of(home: Home) -> None:
    home.write_policy("tools: {default: deny}\n")
    program = home.path / "npx"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    with started(home, "run", "fs", "--", str(program), "-y", "server") as client:
        client.wait()
        assert b"'npx' looks the package up at each start" in client.stderr


def test_nothing_but_the_protocol_is_on_stdout(home: Home) -> None:
    home.write_policy(POLICY + "env: {pass: [LD_PRELOAD]}\n")  # a lint, said at the start
    with started(home, "run", "fs", *command("flood.py", "stderr", "1")) as client:
        client.open()
        number = client.ask("tools/call", name="echo", arguments={"text": "x"})
        client.ask("tools/call", name="delete_file", arguments={})
        while client.read().get("id") != number:
            pass
        assert client.close() == 0
        assert b"[fs] noise" in client.stderr
        assert b"mcp-jail: warning: " in client.stderr
        assert b"mcp-jail: denied delete_file: " in client.stderr


def test_variables_that_load_code_are_gone_before_anything_is_started(home: Home) -> None:
    evil = home.path / "evil"
    evil.mkdir()
    ran = home.path / "ran"
    (evil / "msgspec.py").write_text(f"open({str(ran)!r}, 'w')\nraise SystemExit(9)\n")
    env = home.environ(PYTHONPATH=str(evil), NODE_OPTIONS="--require=/x")
    with started(home, "run", "fs", *command("echo.py"), env=env) as client:
        client.open()
        assert client.close() == 0
        assert b"NODE_OPTIONS, PYTHONPATH would run code" in client.stderr
    assert not ran.exists()


def test_loader_variables_are_known_and_harmless_ones_are_left() -> None:
    environ = dict.fromkeys(
        ["LD_PRELOAD", "PYTHONSTARTUP", "DYLD_X", "GCONV_PATH", "PATH", "PYTHONUNBUFFERED"], "x"
    )
    assert loader_variables(environ) == ["DYLD_X", "GCONV_PATH", "LD_PRELOAD", "PYTHONSTARTUP"]


@pytest.mark.parametrize(
    ("line", "read"),
    [
        (["fs"], ("fs", None, ())),
        (["fs", "--", "a", "--", "b"], ("fs", None, ("a", "--", "b"))),
        (["--policy", "f.yaml", "--", "a"], (None, "f.yaml", ("a",))),
        (["--policy=f.yaml"], (None, "f.yaml", ())),
    ],
)
def test_a_run_line_is_read(line: list[str], read: tuple[object, ...]) -> None:
    assert parse(line) == read


@pytest.mark.parametrize(
    "line", [[], ["--"], ["fs", "--"], ["fs", "a"], ["--policy"], ["--bad", "fs"], ["-x"]], ids=repr
)
def test_a_run_line_that_means_nothing_is_refused(line: list[str]) -> None:
    with pytest.raises(UsageError):
        parse(line)


def test_run_has_a_help_with_an_example() -> None:
    said = subprocess.run([MCP_JAIL, "run", "--help"], capture_output=True, check=True, text=True)
    assert "Example" in said.stdout


def test_a_client_that_says_nothing_and_closes_ends_the_run_cleanly(home: Home) -> None:
    with started(home, "run", "fs", *command("echo.py")) as client:
        assert client.close() == 0


def test_a_policy_from_elsewhere_gets_at_nothing_of_the_users_own_of_that_name(home: Home) -> None:
    home.write_policy(POLICY.replace("filesystem:", "filesystem:\n  home: keep"))
    cloned = home.projects / "jail.yaml"
    cloned.write_text(
        "name: fs\ntools: {default: allow}\nfilesystem: {home: keep}\nlock: {first: trust}\n"
    )
    cloned.chmod(0o600)
    note = str(home.path / "note.txt")
    trusted = [str(MCP_JAIL), "trust", str(cloned), "--yes"]
    subprocess.run(trusted, env=home.environ(), check=True, capture_output=True)
    lines = []
    for policy in (["--policy", str(cloned)], ["fs"]):
        with started(home, "run", *policy, *command("echo.py")) as client:
            client.open()
            client.call("write_file", path=note, content="from elsewhere")
            lines.append(str(client.call("read_file", path=note)))
            assert client.close() == 0
    assert "from elsewhere" in lines[0]
    assert "from elsewhere" not in lines[1]
    assert {entry["kind"] for entry in home.audit("fs")} >= {"start", "end"}
    assert sum(entry["kind"] == "start" for entry in home.audit("fs")) == 1
    # 128 bits: for fewer, somebody finds a directory whose file has the marks of another's.
    assert [len(each.stem) for each in home.state.glob("fs-*.jsonl")] == [len("fs-") + 32]


def test_what_a_clients_entry_sets_is_read_by_nothing_that_is_loaded_later() -> None:
    """As a C library sees it, which asks for any name it likes, and at any time."""
    code = (
        "import ctypes, os; from mcp_jail.cli.run import keep_ours\n"
        "given = keep_ours(os.environ)\n"
        "get = ctypes.CDLL(None).getenv; get.restype = ctypes.c_char_p\n"
        "print(given['SOME_CONF'], get(b'SOME_CONF'), get(b'HOME'), sorted(os.environ))"
    )
    environ = {"SOME_CONF": "/tmp/evil.cnf", "HOME": "/home/me", "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "/tmp/evil.cnf None b'/home/me' ['HOME', 'PATH']"
