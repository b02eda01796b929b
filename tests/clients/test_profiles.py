"""Each profile against the real server: its first policy runs it, and names the tools it has."""

from __future__ import annotations

import json
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from driver import MCP_JAIL, Client, Home, started
from mcp_jail.config.profile import Profile, profiles
from mcp_jail.config.starter_policy import ServerEntry, starter_policy
from mcp_jail.core.policy import Verdict
from mcp_jail.proxy.prepare import prepare
from mcp_jail.sandbox.offers import offers

NPM: Final = {
    "everything": "@modelcontextprotocol/server-everything/dist/index.js",
    "filesystem": "@modelcontextprotocol/server-filesystem/dist/index.js",
    "github": "@modelcontextprotocol/server-github/dist/index.js",
    "memory": "@modelcontextprotocol/server-memory/dist/index.js",
    "playwright": "@playwright/mcp/cli.js",
    "postgres": "@modelcontextprotocol/server-postgres/dist/index.js",
    "sequential-thinking": "@modelcontextprotocol/server-sequential-thinking/dist/index.js",
}
PYPI: Final = {
    "fetch": "mcp-server-fetch",
    "git": "mcp-server-git",
    "sqlite": "../older/bin/mcp-server-sqlite",
    "time": "mcp-server-time",
}
ARGUMENTS: Final = {
    "filesystem": ["HOME/projects"],
    "git": ["--repository", "HOME/projects"],
    "postgres": ["postgresql://127.0.0.1:9/nobody"],
    "sqlite": ["--db-path", "HOME/data/notes.db"],
}
TOKEN: Final = "ghp_0123456789abcdefghij0123456789abcdef"
VARIABLES: Final = {"github": {"GITHUB_PERSONAL_ACCESS_TOKEN": TOKEN}}


class Wrapped:
    """A home with the first policy of one server, and what starts it."""

    def __init__(self, home: Home, name: str, command: tuple[str, ...]) -> None:
        self.home = home
        self.name = name
        self.command = tuple(word.replace("HOME", str(home.path)) for word in command)
        self.variables = VARIABLES.get(name, {})
        (home.path / "data").mkdir()
        subprocess.run(["git", "init", "-q", home.projects], check=True)
        self.text = starter_policy(
            ServerEntry(name, self.command, self.variables),
            home=str(home.path),
            offers=offers(self.command, environ=home.environ()),
        )
        self.write(self.text)

    def write(self, text: str) -> None:
        path = self.home.policies / f"{self.name}.yaml"
        path.write_text(text)
        path.chmod(0o600)

    def done(self, *words: str) -> str:
        said = subprocess.run(
            [MCP_JAIL, *words],
            capture_output=True,
            text=True,
            env=self.home.environ(**self.variables),
            check=False,
        )
        return said.stdout + said.stderr

    def approve(self) -> None:
        """As a script does, for somebody who has read it."""
        lines = self.done("diff", self.name).splitlines()
        digest = next(line for line in lines if line.startswith("What is shown: "))
        seen = digest.removeprefix("What is shown: ")
        said = self.done("approve", self.name, "--yes", "--seen", seen)
        assert "approved: " in said, said

    def talk(self, act: Callable[[Client], Any]) -> Any:
        """What a client does with the server, started as its entry would."""
        with started(
            self.home,
            "run",
            self.name,
            "--",
            *self.command,
            env=self.home.environ(**self.variables),
        ) as client:
            client.open()
            found = act(client)
            client.close()
        return found


def listed(client: Client) -> set[str]:
    answer = client.request("tools/list")
    assert "result" in answer, client.stderr.decode()
    return {tool["name"] for tool in answer["result"]["tools"]}


@pytest.fixture
def wrapped(tmp_path: Path, npm_tree: Path, python_servers: Path) -> Callable[[str], Wrapped]:
    def of(name: str) -> Wrapped:
        start: tuple[str, ...] = (str((python_servers / PYPI.get(name, "")).resolve()),)
        if name in NPM:
            start = ("node", str(npm_tree / NPM[name]))
        return Wrapped(Home(tmp_path), name, (*start, *ARGUMENTS.get(name, [])))

    return of


each = pytest.mark.parametrize("profile", profiles(), ids=lambda profile: profile.name)


def test_each_profile_is_tried() -> None:
    assert {*NPM, *PYPI} == {profile.name for profile in profiles()}


@each
def test_its_first_policy_runs_the_real_server_and_names_all_its_tools(
    profile: Profile, wrapped: Callable[[str], Wrapped]
) -> None:
    server = wrapped(profile.name)
    assert server.talk(listed) == set()  # nobody has approved anything
    server.approve()
    assert server.talk(listed) == {*profile.tools.reading, *profile.tools.acting}


@each
def test_its_first_policy_is_warned_of_nothing(
    profile: Profile, wrapped: Callable[[str], Wrapped]
) -> None:
    server = wrapped(profile.name)
    prepared = prepare(
        name=profile.name,
        policy_file=None,
        command=server.command,
        environ=server.home.environ(**server.variables),
    )
    assert prepared.lints == ()
    assert prepared.plan.gaps == ()
    assert f"# {profile.name}: " in server.text


@each
def test_what_acts_is_asked_about_and_what_reads_is_not(
    profile: Profile, wrapped: Callable[[str], Wrapped]
) -> None:
    server = wrapped(profile.name)
    policy = prepare(
        name=profile.name,
        policy_file=None,
        command=server.command,
        environ=server.home.environ(**server.variables),
    ).policy
    rules = policy.tools.rules
    assert {rules[tool] for tool in profile.tools.acting} <= {Verdict.ASK}
    assert {rules[tool] for tool in profile.tools.reading} <= {Verdict.ALLOW}


def test_what_the_memory_server_is_told_is_there_at_its_next_start(
    wrapped: Callable[[str], Wrapped],
) -> None:
    server = wrapped("memory")
    server.write(server.text.replace('"create_entities": ask', '"create_entities": allow'))
    server.talk(listed)
    server.approve()
    entity = {"name": "Ann", "entityType": "person", "observations": ["sings"]}
    server.talk(lambda client: client.call("create_entities", entities=[entity]))
    found = server.talk(lambda client: client.call("read_graph"))
    assert "sings" in json.dumps(found)
    kept = server.home.path / ".local/share/mcp-jail/homes/memory/memory.jsonl"
    assert "sings" in kept.read_text()


def test_the_sqlite_server_reads_its_database_and_its_writing_is_asked_about(
    wrapped: Callable[[str], Wrapped],
) -> None:
    server = wrapped("sqlite")
    server.write(server.text + "ask: {wait: 1s}\n")
    server.talk(listed)
    server.approve()
    tables = server.talk(lambda client: client.call("list_tables"))
    assert not tables.get("isError")
    create = {"query": "CREATE TABLE x (y)"}
    refused = server.talk(
        lambda client: client.request("tools/call", name="create_table", arguments=create)
    )
    assert "CREATE" not in json.dumps(refused)
    after = server.talk(lambda client: client.call("list_tables"))
    assert after["content"] == tables["content"]


def test_the_postgres_server_reaches_the_database_of_its_url(
    wrapped: Callable[[str], Wrapped], monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as database:
        url = f"postgresql://127.0.0.1:{database.getsockname()[1]}/notes"
        monkeypatch.setitem(ARGUMENTS, "postgres", [url])
        server = wrapped("postgres")

        def connects(client: Client) -> bytes:
            client.ask("resources/list")
            connection, _ = database.accept()
            with connection:
                return connection.recv(8)

        assert server.talk(connects)[4:] == b"\0\3\0\0"  # version 3.0 of its protocol


def test_the_github_servers_token_is_in_no_file(wrapped: Callable[[str], Wrapped]) -> None:
    server = wrapped("github")
    server.talk(listed)
    server.approve()
    files = [path for path in server.home.path.rglob("*") if path.is_file()]
    assert files
    assert [path for path in files if TOKEN in path.read_text(errors="replace")] == []
