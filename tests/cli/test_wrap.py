"""`wrap` and `unwrap` as a person, a script and a client see them."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from driver import MCP_JAIL, PYTHON, SERVERS, Home, running
from programs import with_disk
from terminal import terminal

ENTRY = '{"mcpServers": {"time": {"command": "uvx", "args": ["mcp-server-time"]}}}\n'
URL = '{"mcpServers": {"far": {"url": "https://far.example/mcp"}}}\n'


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def write(home: Home, name: str, text: str = ENTRY) -> Path:
    path = home.path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def done(
    home: Home, *words: str | Path, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [MCP_JAIL, *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=home.environ(COLUMNS="100"),
        cwd=cwd or home.path,
        check=False,
    )


def report(said: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(said.stdout)
    return found


def test_all_clients_are_wrapped_and_unwrapped_to_the_byte(home: Home) -> None:
    files = {
        ".cursor/mcp.json": ENTRY,
        ".codex/config.toml": "[mcp_servers.time]\ncommand = 'uvx'\nargs = ['mcp-server-time']\n",
        ".config/goose/config.yaml": "extensions:\n  time:\n    cmd: uvx\n    args: [a]\n",
    }
    paths = [write(home, name, text) for name, text in files.items()]
    said = done(home, "wrap", "--all", "--yes")
    assert said.returncode == 0, said.stderr
    assert "Wrapped 3 servers in 3 files" in said.stdout
    for path in paths:
        assert str(MCP_JAIL) in path.read_text()
    names = sorted(each.name for each in home.policies.iterdir())
    assert names == ["time-goose.yaml", "time.yaml"], "cursor and codex start the same"
    again = done(home, "wrap", "--all")
    assert again.returncode == 0
    assert "Already wrapped: 3" in again.stdout
    assert "Nothing was written" in again.stdout
    said = done(home, "unwrap", "--all", "--yes")
    assert "Unwrapped 3 servers in 3 files" in said.stdout
    assert [path.read_text() for path in paths] == list(files.values())


def test_a_wrapped_entry_starts_its_server_in_a_jail(home: Home) -> None:
    server = SERVERS / "echo.py"
    copied = home.projects / "server.py"
    copied.write_text(server.read_text())
    entry = {"command": PYTHON, "args": [str(copied)], "env": {"PYTHONSTARTUP": "/x", "A": "1"}}
    path = write(home, ".cursor/mcp.json", json.dumps({"mcpServers": {"plain": entry}}))
    assert done(home, "wrap", path, "--yes").returncode == 0
    wrapped = json.loads(path.read_text())["mcpServers"]["plain"]
    assert wrapped["env"] == {"A": "1"}
    policy = home.policies / "plain.yaml"
    policy.write_text(policy.read_text().replace("first: review", "first: trust"))
    words = [wrapped["command"], *wrapped["args"]]
    with running(words, home.environ(**wrapped["env"]), home.path, "legacy") as client:
        assert client.open()["result"]["serverInfo"]
        assert client.request("tools/list")["result"]["tools"]
        assert client.close() == 0
    assert home.audit("plain")[0]["kind"] == "start"


def test_nothing_is_written_without_an_answer(home: Home) -> None:
    path = write(home, ".cursor/mcp.json")
    said = done(home, "wrap", "--all")
    assert said.returncode == 2
    assert "To wrap: 1" in said.stdout, "what would be done is shown first"
    assert "this is no terminal" in said.stderr
    assert path.read_text() == ENTRY
    assert not list(home.policies.iterdir())


@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("n\n", 1), ("\n", 1)])
def test_a_person_is_asked_once(home: Home, answer: str, code: int) -> None:
    path = write(home, ".cursor/mcp.json")
    with terminal([MCP_JAIL, "wrap", "--client", "cursor"], home.environ(), home.path) as person:
        person.wait_for("Write 1 file? [y/N]")
        assert "- uvx mcp-server-time" in person.shown
        assert "run time -- uvx mcp-server-time" in person.shown
        person.type(answer)
        if code == 0:
            person.wait_for("Fetch and pin the packages of time now? [Y/n]")
            person.type("n\n")
        assert person.end() == code
    assert (path.read_text() != ENTRY) is (code == 0)


def test_what_is_fetched_at_each_start_is_told_with_the_way_to_pin_it(home: Home) -> None:
    write(home, ".cursor/mcp.json")
    said = done(home, "wrap", "--client", "cursor", "--yes")
    assert "pin them, once: mcp-jail install time\n" in said.stdout
    write(home, ".cursor/mcp.json", URL.replace("url", "command").replace("https:", "/bin"))
    said = done(home, "wrap", "--client", "cursor", "--yes")
    assert "pin them" not in said.stdout


def test_a_package_that_cannot_be_had_leaves_its_server_wrapped(home: Home) -> None:
    path = write(home, ".cursor/mcp.json", ENTRY.replace("mcp-server-time", "./nowhere"))
    environ = home.environ(PATH="/nowhere")
    with terminal([MCP_JAIL, "wrap", "--client", "cursor"], environ, home.path) as person:
        person.wait_for("Write 1 file? [y/N]")
        person.type("y\n")
        assert person.end() == 0
    assert "mcp-jail" in path.read_text()


def test_many_wraps_and_unwraps_at_the_same_time_lose_nothing(home: Home) -> None:
    """Who comes second waits, and is told that the file is not as it was read."""
    entry = '{"command": "node", "args": ["s.js"], "env": {"NODE_OPTIONS": "--x", "K": "v"}}'
    text = '{"mcpServers": {' + ", ".join(f'"s{number}": {entry}' for number in range(8)) + "}}"
    path = write(home, ".cursor/mcp.json", text)
    for verbs in (["wrap"] * 4, ["wrap", "unwrap"] * 2) * 4:
        at_once = [
            subprocess.Popen(
                [MCP_JAIL, verb, "--client", "cursor", "--yes"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                env=home.environ(),
            )
            for verb in verbs
        ]
        said = [each.communicate()[0] for each in at_once]
        assert [each for each in said if "Traceback" in each] == []
        assert path.read_text() == text or path.read_text().count(f'"{MCP_JAIL}"') == 8
        done(home, "unwrap", "--client", "cursor", "--yes")
        assert path.read_text() == text, said
        assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_a_dry_run_shows_and_writes_nothing(home: Home) -> None:
    path = write(home, ".cursor/mcp.json")
    said = done(home, "wrap", "--all", "--dry-run")
    assert said.returncode == 0
    assert "To wrap: 1" in said.stdout
    assert path.read_text() == ENTRY
    assert not home.state.exists()


def test_the_four_groups_are_told_and_a_refusal_ends_with_1(home: Home) -> None:
    write(home, ".cursor/mcp.json")
    write(home, ".junie/mcp/mcp.json", URL)
    write(home, ".ai/mcp/mcp.json", "{")
    assert done(home, "wrap", "--client", "cursor", "--yes").returncode == 0
    write(home, ".lmstudio/mcp.json")
    said = done(home, "wrap", "--all", "--json", "--yes")
    assert said.returncode == 1
    groups = {
        each["client"]: each["group"] for file in report(said)["files"] for each in file["servers"]
    }
    assert groups == {
        "Cursor": "already",
        "Junie": "skipped",
        "JetBrains AI Assistant": "refused",
        "LM Studio": "done",
    }
    assert report(said)["written"] is True


def test_a_projects_files_are_left_unless_named_or_asked_for(home: Home) -> None:
    path = write(home, "projects/.mcp.json")
    said = done(home, "wrap", "--all", "--yes", cwd=home.projects)
    assert "it is a project's file" in said.stdout
    assert path.read_text() == ENTRY
    said = done(home, "wrap", "--all", "--project", "--yes", cwd=home.projects)
    assert "Wrapped 1 server" in said.stdout
    done(home, "unwrap", "--all", "--project", "--yes", cwd=home.projects)
    assert path.read_text() == ENTRY
    assert "Wrapped 1 server" in done(home, "wrap", ".mcp.json", "--yes", cwd=home.projects).stdout


def test_one_server_is_wrapped_by_its_name(home: Home) -> None:
    two = '{"mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}}}'
    path = write(home, ".cursor/mcp.json", two)
    said = done(home, "wrap", path, "--server", "b", "--yes", "--json")
    assert [each["server"] for each in report(said)["files"][0]["servers"]] == ["b"]
    assert json.loads(path.read_text())["mcpServers"]["a"] == {"command": "x"}
    assert done(home, "unwrap", path, "--server", "b", "--yes").returncode == 0
    assert path.read_text() == two


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["wrap"], "which files?"),
        (["unwrap"], "which files?"),
        (["wrap", "--client", "cursr"], "no client 'cursr' is known"),
        (["wrap", "no.json"], "there is no file 'no.json'"),
        (["wrap", "no"], "there is no file 'no'"),
        (["wrap", "x.json", "--all"], "do not go together"),
        (["wrap", ".cursor/mcp.json", "--server", "none"], "there is no server 'none'"),
        (["wrap", "notes.txt"], "no file of a known client"),
    ],
    ids=" ".join,
)
def test_a_mistake_is_told(home: Home, words: list[str], says: str) -> None:
    write(home, ".cursor/mcp.json")
    write(home, "notes.txt", "hello")
    said = done(home, *words)
    assert said.returncode == 2
    assert says in said.stderr
    assert "Traceback" not in said.stderr


def test_without_files_the_clients_that_are_here_are_named(home: Home) -> None:
    write(home, ".cursor/mcp.json")
    assert "here are files of: cursor" in done(home, "wrap").stderr


def test_a_running_client_that_writes_its_file_itself_is_told(home: Home, tmp_path: Path) -> None:
    write(home, ".claude.json")
    program = tmp_path / "claude"
    program.symlink_to(PYTHON)
    words = [str(program), "-c", "import sys; sys.stdin.read()"]
    with subprocess.Popen(words, stdin=subprocess.PIPE) as client:
        said = done(home, "wrap", "--all", "--dry-run", "--json")
        client.communicate(b"")
    (note,) = [each for each in report(said)["notes"] if str(client.pid) in each]
    assert "quit it first" in note


def test_the_stable_path_of_mcp_jail_is_written(home: Home) -> None:
    """The one that stays when the version behind it changes."""
    stable = home.path / ".local/bin/mcp-jail"
    stable.parent.mkdir(parents=True)
    stable.symlink_to(MCP_JAIL)
    path = write(home, ".cursor/mcp.json")
    assert done(home, "wrap", path, "--yes").returncode == 0
    assert json.loads(path.read_text())["mcpServers"]["time"]["command"] == str(stable)


def test_text_of_a_file_acts_on_no_terminal(home: Home) -> None:
    escape, bell = "\\u001b[2J", "\\u001b]0;x\\u0007"
    entries = (
        f'"a{escape}": {{"command": "{bell}"}}, "b": {{"{escape}": 1, "{escape}": 2}}, '
        f'"c": {{"command": "x", "env": {{"LD_{escape}": 1}}}}'
    )
    path = write(home, ".cursor/mcp.json", '{"mcpServers": {' + entries + "}}")
    for words in (["wrap", "--all", "--dry-run"], ["doctor"], ["wrap", str(path), "--yes"]):
        said = done(home, *words)
        assert said.stdout
        assert not {"\x1b", "\x07"} & {*said.stdout, *said.stderr}
    write(
        home, ".cursor/mcp.json", '{"mcpServers": {' + entries.replace("command", "Command") + "}}"
    )
    assert not {"\x1b", "\x07"} & {*done(home, "doctor").stdout}


def test_doctor_finds_an_entry_that_came_back_bare_and_the_cure_mends_it(home: Home) -> None:
    path = write(home, ".cursor/mcp.json")
    assert done(home, "wrap", path, "--yes").returncode == 0
    assert done(home, "doctor").returncode == 0
    path.write_text(ENTRY)
    said = done(home, "doctor", "--json")
    assert said.returncode == 1
    (found,) = json.loads(said.stdout)["clients"]
    assert found["what"] == "reverted"
    assert f"mcp-jail wrap {path} --server time" in done(home, "doctor").stdout
    assert done(home, *found["cure"].split()[1:], "--yes").returncode == 0
    assert done(home, "doctor").returncode == 0


def test_doctor_tells_of_a_package_that_is_missing_or_fetched_at_each_start(home: Home) -> None:
    write(home, ".cursor/mcp.json")
    assert done(home, "wrap", "--client", "cursor", "--yes").returncode == 0
    said = done(home, "doctor")
    assert said.returncode == 0
    assert "time: its package is fetched at each start" in said.stdout
    policy = home.policies / "time.yaml"
    policy.write_text(policy.read_text() + '\npackage: {pypi: mcp-server-time, version: "1.0"}\n')
    said = done(home, "doctor")
    assert said.returncode == 1
    assert "its package pypi mcp-server-time 1.0 is not installed" in said.stdout
    assert "mcp-jail install time" in said.stdout


def test_doctor_tells_of_weaker_policies_and_fails_only_when_it_is_to_be_strict(home: Home) -> None:
    home.write_policy("network: {mode: host}\nlock: {enabled: false}\n", "weak")
    said = done(home, "doctor")
    assert said.returncode == 0
    assert "weak: it has your whole network" in said.stdout
    assert "take out: lock.enabled" in said.stdout
    assert done(home, "doctor", "--strict").returncode == 1
    home.write_policy("tools: {default: alow}\n", "broken")
    said = done(home, "doctor")
    assert said.returncode == 1
    assert "broken: cannot be used" in said.stdout


def test_a_home_of_ours_that_clients_do_not_know_is_told(home: Home) -> None:
    write(home, ".cursor/mcp.json")
    environ = home.environ(MCP_JAIL_HOME=str(home.path / "mine"))
    words = (MCP_JAIL, "wrap", "--all", "--dry-run", "--json")
    said = subprocess.run(words, capture_output=True, text=True, env=environ, check=False)
    (note,) = [each for each in report(said)["notes"] if "MCP_JAIL_HOME" in each]
    assert "clients" in note


def test_unwrap_changes_nothing_where_it_could_not_note_it(home: Home) -> None:
    """Its state is read-only, for root too."""
    path = write(home, ".cursor/mcp.json")
    assert done(home, "wrap", path, "--yes").returncode == 0
    wrapped = path.read_text()
    state, mine = str(home.state / "clients"), str(home.path)
    said = subprocess.run(
        [
            *with_disk("--bind", mine, mine, "--ro-bind", state, state),
            *(MCP_JAIL, "unwrap", "--all", "--yes"),
        ],
        capture_output=True,
        text=True,
        env=home.environ(),
        check=False,
    )
    assert "Read-only file system" in said.stdout, said.stderr
    assert "Nothing was written" in said.stdout
    assert "Traceback" not in said.stderr
    assert path.read_text() == wrapped


def test_a_report_shows_no_secret_of_a_command(home: Home) -> None:
    entry = '{"command": "x", "args": ["--token", "hunter2hunter2", "https://u:pw4711@h/"]}'
    write(home, ".cursor/mcp.json", '{"mcpServers": {"a": ' + entry + "}}")
    for more in ([], ["--json"]):
        said = done(home, "wrap", "--all", "--dry-run", *more)
        assert "--token" in said.stdout
        assert "hunter2" not in said.stdout
        assert "pw4711" not in said.stdout


def test_a_program_in_a_cache_is_not_written_into_files(home: Home) -> None:
    cached = home.path / ".cache/uv/archive-v0/abc/bin/mcp-jail"
    cached.parent.mkdir(parents=True)
    script = f"import sys\nsys.argv[0] = {str(cached)!r}\n"
    Path(f"{cached}.py").write_text(script + "from mcp_jail.cli import main\nsys.exit(main())\n")
    cached.write_text(f'#!/bin/sh\nexec {MCP_JAIL.parent}/python {cached}.py "$@"\n')
    cached.chmod(0o755)
    write(home, ".cursor/mcp.json")
    said = subprocess.run(
        [cached, "wrap", "--all", "--yes"],
        capture_output=True,
        text=True,
        env=home.environ(),
        check=False,
    )
    assert said.returncode == 2
    assert "lies in a cache" in said.stderr


def test_what_is_not_covered_is_told(home: Home) -> None:
    write(home, ".cursor/mcp.json")
    write(home, ".config/crush/crushrc", "mcp add files --command node\n")
    said = done(home, "wrap", "--all", "--yes")
    assert said.returncode == 0
    assert "Crush, ~/.config/crush/crushrc" in said.stdout
    assert "it is a shell script" in said.stdout
    assert "Wrapped 1 server in 1 file" in said.stdout


@pytest.fixture
def forgotten(home: Home) -> Path:
    """A wrapped file that its client has removed."""
    path = write(home, ".cursor/mcp.json", ENTRY)
    done(home, "wrap", "--all", "--yes")
    path.unlink()
    return path


@pytest.mark.parametrize("words", [["--all"], ["--client", "cursor"], ["FILE"]], ids=str)
def test_what_was_kept_of_a_file_that_is_gone_goes_with_unwrap(
    home: Home, forgotten: Path, words: list[str]
) -> None:
    kept = forgotten.with_name(forgotten.name + ".mcp-jail.bak")
    assert kept.read_text() == ENTRY
    finding = done(home, "doctor").stdout
    assert f"mcp-jail unwrap {forgotten}" in finding
    assert kept.name in finding
    line = [str(forgotten) if word == "FILE" else word for word in words]
    assert kept.name in done(home, "unwrap", *line, "--dry-run").stdout
    assert kept.exists()
    said = done(home, "unwrap", *line, "--yes")
    assert said.returncode == 0, said.stderr
    assert not kept.exists()
    assert str(forgotten) not in done(home, "doctor").stdout


def test_a_file_whose_directory_is_gone_too_is_forgotten_by_its_name_alone(
    home: Home, forgotten: Path
) -> None:
    """Its disk may not be mounted."""
    away = forgotten.parent.rename(home.path / "away")
    assert "Nothing was written" in done(home, "unwrap", "--all", "--yes").stdout
    assert (away / (forgotten.name + ".mcp-jail.bak")).exists()
    assert "forgets it" in done(home, "unwrap", str(forgotten), "--yes").stdout


def test_a_file_that_came_back_meanwhile_is_unwrapped_as_any_other(
    home: Home, forgotten: Path
) -> None:
    forgotten.write_text(ENTRY)
    assert done(home, "unwrap", str(forgotten), "--yes").returncode == 0
    assert forgotten.read_text() == ENTRY


@pytest.mark.parametrize(
    ("kind", "says"), [("pipe", "a pipe"), ("folder", "a directory"), ("loop", "symbolic link")]
)
def test_what_is_no_file_is_told_by_its_kind(home: Home, kind: str, says: str) -> None:
    path = home.path / "mcp.json"
    makers = {"pipe": os.mkfifo, "folder": os.mkdir, "loop": lambda to: os.symlink(to, to)}
    makers[kind](path)
    said = done(home, "wrap", str(path))
    assert says in said.stderr
    assert said.returncode == 2


FILLED = """\
{"servers": {
 "fs": {"command": "npx", "args": ["-y", "@scope/server-files", "--", "${workspaceFolder}/a b"]},
 "git": {"command": "uvx", "args": ["--from", "git+https://example.com/x/y", "z"]},
 "tgz": {"command": "npx", "args": ["-y", "https://example.com/x.tgz"]},
 "bun": {"command": "bunx", "args": ["server"]},
 "here": {"command": "cat"}
}}
"""


@pytest.mark.parametrize("more", [["--dry-run"], ["--yes"]], ids=str)
def test_what_wrapping_makes_dead_is_told_with_what_to_do(home: Home, more: list[str]) -> None:
    write(home, ".config/Code/User/mcp.json", FILLED)
    said = done(home, "wrap", "--all", *more, "--json")
    notes = [note for note in report(said)["notes"] if "will not start" in note]
    assert [note.split()[0] for note in notes] == ["'git'", "'tgz'", "'bun'"]
    assert all("unpinned: true" in note for note in notes[:2])
    assert "npm install" in notes[2]


def test_the_cure_for_what_a_client_fills_in_names_the_package(home: Home) -> None:
    write(home, ".config/Code/User/mcp.json", FILLED)
    said = done(home, "wrap", "--all", "--yes").stdout
    (line,) = (line for line in said.splitlines() if "mcp-jail install" in line)
    assert line.strip() == "pin them, once: mcp-jail install fs -- npx -y @scope/server-files"
    warned = done(home, "show", "fs", "--", "cat")
    assert warned.returncode == 0, "its policy names no command, so it is for any"
    nameless = done(home, "install", "fs")
    assert (nameless.returncode, "install fs -- npx -y PACKAGE" in nameless.stderr) == (2, True)


def test_a_directory_that_the_client_fills_in_is_told_with_the_line_to_add(home: Home) -> None:
    write(home, ".config/Code/User/mcp.json", FILLED)
    notes = report(done(home, "wrap", "--all", "--dry-run", "--json"))["notes"]
    (note,) = (note for note in notes if note.startswith("'fs'"))
    assert "is filled in by the client" in note
    assert "filesystem: {read_write: [" in note


def test_the_preview_says_what_a_policy_opens(home: Home) -> None:
    (home.path / "docs").mkdir()
    entry = {"command": "srv", "args": [str(home.path / "docs")], "env": {"DATA": "x"}}
    write(home, ".cursor/mcp.json", json.dumps({"mcpServers": {"a": entry}}))
    said = done(home, "wrap", "--all", "--dry-run")
    assert "reads ~/docs; variables DATA" in said.stdout
    assert "no file of yours, no network" in done_of_one(home, '{"command": "srv"}').stdout


def done_of_one(home: Home, entry: str) -> subprocess.CompletedProcess[str]:
    """The preview of a file with one server."""
    path = write(home, ".cursor/mcp.json", f'{{"mcpServers": {{"b": {entry}}}}}')
    return done(home, "wrap", str(path), "--dry-run")
