"""A first policy of a client's entry: read as a run reads it, open for what the entry needs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from driver import Home
from mcp_jail.config import load
from mcp_jail.config.starter_policy import ServerEntry, ToolLine, starter_policy
from mcp_jail.config.starter_wants import Offer, Standing
from mcp_jail.core.policy import Filesystem, LockFirst, NetworkMode, Policy, Verdict
from mcp_jail.core.spec import Access
from mcp_jail.errors import JailError
from mcp_jail.proxy.prepare import prepare
from mcp_jail.sandbox.offers import offers

TOKEN = "ghp_0123456789abcdefghij0123456789abcdef"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def text_of(
    home: Home, *command: str, env: dict[str, str] | None = None, cwd: str | None = None
) -> str:
    return starter_policy(
        ServerEntry("fs", command, env or {}, cwd),
        home=str(home.path),
        offers=offers(command, environ=home.environ()),
    )


def policy_of(home: Home, *command: str, **more: str) -> Policy:
    return load(text_of(home, *command, env=more), "fs.yaml").policy


def test_it_begins_with_the_line_that_editors_read(home: Home) -> None:
    first = text_of(home, "server").splitlines()[0]
    assert first == "# yaml-language-server: $schema=./policy.schema.json"


def test_it_asks_reviews_and_has_no_network(home: Home) -> None:
    policy = policy_of(home, "server")
    assert policy.tools.default is Verdict.ASK
    assert policy.lock.first is LockFirst.REVIEW
    assert policy.network.mode is NetworkMode.NONE
    assert policy.server is not None
    assert policy.server.command == ("server",)


def test_a_start_takes_it_as_it_is_and_warns_of_nothing(home: Home) -> None:
    text = text_of(home, "/usr/bin/env", str(home.projects), env={"LOG": "x", "TOKEN": TOKEN})
    path = home.policies / "fs.yaml"
    path.write_text(text)
    path.chmod(0o600)
    prepared = prepare(name="fs", policy_file=None, command=(), environ=home.environ())
    assert prepared.lints == ()
    assert prepared.policy.filesystem.read_only == ("~/projects",)


def test_a_secret_is_passed_by_name_and_its_value_is_nowhere(home: Home) -> None:
    text = text_of(home, "server", env={"GITHUB_TOKEN": TOKEN, "WORD": TOKEN, "LEVEL": "info"})
    assert TOKEN not in text
    assert "GITHUB_TOKEN, WORD may be secrets, so their values" in " ".join(text.split("\n# "))
    assert load(text, "fs.yaml").policy.env.pass_ == ("GITHUB_TOKEN", "WORD", "LEVEL")


def test_the_keyring_that_is_offered_for_a_secret_can_be_written(home: Home) -> None:
    text = text_of(home, "server", env={"GITHUB_TOKEN": TOKEN})
    offered = " ".join(line.removeprefix("# ") for line in text.splitlines() if line[:1] == "#")
    assert "keyring set fs GITHUB_TOKEN" in offered
    line = "secret: {GITHUB_TOKEN: keyring:fs}"
    assert line in offered
    changed = text.replace("  pass: [GITHUB_TOKEN]", f"  {line}")
    assert load(changed, "fs.yaml").policy.env.secret == {"GITHUB_TOKEN": "keyring:fs"}


@pytest.mark.parametrize(
    "name", ["NODE_OPTIONS", "LD_PRELOAD", "PYTHONPATH", "DYLD_INSERT_LIBRARIES", "GCONV_PATH"]
)
def test_a_variable_that_loads_code_is_set_by_value(home: Home, name: str) -> None:
    policy = policy_of(home, "server", **{name: "a value", "PLAIN": "x"})
    assert policy.env.set == {name: "a value"}
    assert policy.env.pass_ == ("PLAIN",)


def test_a_variable_that_loads_code_and_holds_a_secret_is_told(home: Home) -> None:
    text = text_of(home, "server", env={"NODE_OPTIONS": f"--title={TOKEN}"})
    assert TOKEN not in text
    assert "NODE_OPTIONS loads code and looks like a secret" in text


@pytest.mark.parametrize(
    "command",
    [
        ("server", "--token", "abcd"),
        ("server", "--api-key=abcd"),
        ("server", TOKEN),
        ("server", "postgresql://me:hunter22@db/x"),
        ("server", "${HOME}/x"),
        ("server", "{env:SECRET}"),
    ],
)
def test_a_command_with_a_secret_or_a_variable_stays_with_the_client(
    home: Home, command: tuple[str, ...]
) -> None:
    text = text_of(home, *command)
    assert load(text, "fs.yaml").policy.server is None
    assert "The command stays in the client's file" in text
    assert not any(word in text for word in ("abcd", TOKEN, "hunter22", "{env:"))


def test_what_the_client_starts_it_in_is_shared(home: Home) -> None:
    policy = load(text_of(home, "server", cwd=str(home.projects)), "fs.yaml").policy
    assert policy.filesystem.read_only == ("~/projects",)


def test_a_known_server_gets_its_tools_and_hosts(home: Home) -> None:
    policy = policy_of(
        home, "npx", "-y", "@modelcontextprotocol/server-filesystem@2026.8.31", str(home.projects)
    )
    assert policy.tools.rules["read_text_file"] is Verdict.ALLOW
    assert policy.tools.rules["write_file"] is Verdict.ASK
    assert policy.filesystem == Filesystem(read_only=("~/projects",))


def test_what_a_tool_says_of_itself_closes_it_and_never_opens_it(home: Home) -> None:
    command = ("npx", "@modelcontextprotocol/server-filesystem")
    seen = {
        "read_file": ToolLine(Verdict.DENY, "may destroy"),
        "write_file": ToolLine(Verdict.ASK, "only reads"),
        "list_directory": ToolLine(Verdict.ASK, "no hint"),
        "other": ToolLine(Verdict.ASK, "only reads"),
    }
    text = starter_policy(
        ServerEntry("fs", command),
        home=str(home.path),
        offers=offers(command, environ=home.environ()),
        tools=seen,
    )
    assert dict(load(text, "fs.yaml").policy.tools.rules) == {
        "read_file": Verdict.DENY,
        "write_file": Verdict.ASK,
        "list_directory": Verdict.ALLOW,
        "other": Verdict.ASK,
    }


def test_a_name_that_no_policy_may_have_is_told(home: Home) -> None:
    with pytest.raises(JailError, match="a policy cannot be written for this server"):
        starter_policy(
            ServerEntry("My Server", ("x",)),
            home=str(home.path),
            offers=offers(("x",), environ=home.environ()),
        )


# Nothing that a client's entry holds may become a key of the policy or a second line of a comment.
WORDS = st.text(max_size=30) | st.sampled_from(
    ["/a\ntools: {default: allow}", "/\u2028name: x", "\u202e/x", "~/a: b", "/a # b", "/b,\n- /c"]
)


@given(st.lists(WORDS, max_size=4), st.dictionaries(WORDS, WORDS, max_size=3), WORDS)
def test_no_word_of_an_entry_becomes_another_rule(
    words: list[str], env: dict[str, str], cwd: str
) -> None:
    def everything_is_there(path: str, _access: Access) -> Offer:
        return Offer(Standing.DIRECTORY, f"'{path}' is refused" if "b" in path else None)

    entry = ServerEntry("fs", ("server", *words), env, cwd)
    try:
        text = starter_policy(entry, home="/home/me", offers=everything_is_there)
    except JailError:
        return  # told, and nothing is written
    policy = load(text, "fs.yaml").policy
    assert policy.tools == Policy(name="fs").tools
    assert policy.name == "fs"
    assert not policy.network.allow
    assert policy.server is None or policy.server.command == ("server", *words)
    given = {os.path.normpath(p.replace("~", "/home/me", 1)) for p in policy.filesystem.read_only}
    assert all("b" not in path for path in given)


def test_a_whole_line_as_the_command_is_read_as_a_start_reads_it(home: Home) -> None:
    policy = policy_of(home, f"npx -y @modelcontextprotocol/server-filesystem {home.projects}")
    assert policy.server is not None
    assert policy.server.command[:2] == ("npx", "-y")
    assert policy.filesystem.read_only == ("~/projects",)
    assert policy.tools.rules["read_file"] is Verdict.ALLOW
