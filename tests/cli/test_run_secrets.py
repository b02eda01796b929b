"""A secret of a policy reaches the server, and nothing else that is written, shown or listed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from driver import ERAS, MCP_JAIL, SERVERS, Home, command, processes_with, running, started
from guard_imports import foreign_packages
from mcp_jail.store.places import find_places
from mcp_jail.store.trust import trust

FROM_KEYRING = "kEyRiNg-hunter-2-value"
FROM_FILE = "fIlE-hunter-2/value+"
FROM_COMMAND = "cOmMaNd hunter 2 value"
SHORT = "qx7z"
VALUES = (FROM_KEYRING, FROM_FILE, FROM_COMMAND, SHORT)

POLICY = f"""\
env:
  secret:
    A: keyring:github/me
    B: file:~/key
    C: command:echo 'cOmMaNd hunter 2 value'
    D: command:printf qx7z
filesystem: {{read_only: [{SERVERS}], read_write: [~/projects/scratch]}}
tools: {{default: allow}}
resources: {{default: allow}}
"""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path)
    made.write_policy(POLICY)
    key = made.path / "key"
    key.write_text(FROM_FILE + "\n")
    key.chmod(0o600)
    place = made.path / ".config" / "python_keyring"
    place.mkdir()
    chosen = "[backend]\ndefault-keyring=keyrings.alt.file.PlaintextKeyring\n"
    (place / "keyringrc.cfg").write_text(chosen)
    subprocess.run(
        [MCP_JAIL.with_name("keyring"), "set", "github", "me"],
        env=made.environ(),
        input=FROM_KEYRING,
        text=True,
        check=True,
        capture_output=True,
    )
    return made


def done(home: Home, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [MCP_JAIL, *words],
        env=home.environ(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=home.path,
    )


def text(result: dict[str, object]) -> str:
    content = result["content"]
    assert isinstance(content, list)
    return str(content[0]["text"])


@pytest.mark.parametrize("era", ERAS)
def test_the_server_has_its_secrets_and_nothing_that_is_written_does(home: Home, era: str) -> None:
    with started(home, "run", "fs", *command("shell.py"), era=era) as client:
        client.open()
        seen = text(client.call("sh", line="printenv A B C D"))
        assert seen.splitlines() == list(VALUES)
        assert not [value for value in VALUES[:3] if processes_with(value)]
        for value in VALUES:
            client.call("sh", line=f"true '{value}'")
            client.call(f"no {value}")
            client.request("resources/read", uri=f"echo://{value}")
        client.call("sh", line=f"true {FROM_FILE.replace('/', '%2F').replace('+', '%2B')}")
        client.call("sh", line='printf \'%s\\n\' "<$A $B $C $D" "a line" > /proc/$PPID/fd/2')
        client.wait_for_stderr("a line")
        assert client.close() == 0
    told = client.stderr.decode()
    assert "<[redacted] [redacted] [redacted] [redacted]" in told
    audit = (home.state / "fs.jsonl").read_text()
    for value in VALUES:
        assert value not in told
        assert value not in audit
    assert "fIlE-hunter" not in audit
    (start,) = [entry for entry in home.audit() if entry["kind"] == "start"]
    assert {"A", "B", "C", "D"} <= set(start["detail"]["env"])
    assert done(home, "log", "fs", "--verify").returncode == 0


def test_show_says_where_from_and_asks_nobody(home: Home) -> None:
    (home.path / "key").unlink()
    shown = done(home, "show", "fs", "--", "/bin/true")
    assert shown.returncode == 0
    assert "A from keyring:github/me" in shown.stdout
    assert "B from file:~/key" in shown.stdout
    assert '"B": "file:~/key"' in done(home, "show", "fs", "--json", "--", "/bin/true").stdout
    assert not [value for value in VALUES[:2] if value in shown.stdout]


def test_secrets_that_are_not_to_be_had_start_nothing_and_are_all_told(home: Home) -> None:
    (home.path / "key").chmod(0o640)
    (home.path / ".config" / "python_keyring" / "keyringrc.cfg").write_text(
        "[backend]\ndefault-keyring=keyring.backends.fail.Keyring\n"
    )
    mark = home.scratch / "started"
    said = done(home, "run", "fs", "--", "/bin/touch", str(mark))
    assert said.returncode == 2
    assert "fs.yaml:4:5: secret 'A': this session has no keyring" in said.stderr
    assert f"fs.yaml:5:5: secret 'B': '{home.path}/key' can be read by others" in said.stderr
    assert f"hint: chmod 600 {home.path}/key" in said.stderr
    assert "2 problems" in said.stderr
    assert said.stdout == ""
    assert not mark.exists()
    assert not (home.state / "fs.jsonl").exists()


def test_a_look_at_a_server_gives_it_its_secrets(home: Home) -> None:
    seen = home.scratch / "seen"
    first = f'env:\n  set: {{FIRST: "printenv A > {seen}"}}\n'
    home.write_policy(POLICY.replace("env:\n", first))
    looked = done(home, "diff", "fs", "--live", *command("shell.py"))
    assert seen.read_text() == FROM_KEYRING + "\n"
    assert FROM_KEYRING not in looked.stdout + looked.stderr


def elsewhere(home: Home, *secrets: str) -> tuple[Path, Path]:
    """A policy of a repository, and what its command would leave."""
    mark = home.path / "ran"
    path = home.projects / "mcp-jail.yaml"
    lines = ["name: theirs", "env:", "  secret:", *(f"    {line}" for line in secrets)]
    path.write_text("\n".join(lines).replace("MARK", str(mark)) + "\n")
    return path, mark


def test_a_command_of_a_repository_is_not_run_however_trusted(home: Home) -> None:
    path, mark = elsewhere(home, "A: command:touch MARK", "B: file:~/key")
    said = done(home, "trust", str(path), "--yes")
    assert said.returncode == 2
    assert "4:5: 'A' would run a command outside the jail" in said.stderr
    trust(find_places(home.environ()), str(path), path.read_bytes(), time.time_ns() // 1_000_000)
    for words in (["run"], ["show"]):
        said = done(home, *words, "--policy", str(path), "--", "/bin/true")
        assert (said.returncode, "outside the jail" in said.stderr) == (2, True)
    assert not mark.exists()


def test_trust_names_the_secrets_that_a_policy_hands_out(home: Home) -> None:
    path, _ = elsewhere(home, "B: file:~/key", "C: keyring:github/me")
    said = done(home, "trust", str(path), "--yes")
    assert said.returncode == 0
    assert "its server is handed a secret of yours: B from file:~/key" in said.stdout
    assert "its server is handed a secret of yours: C from keyring:github/me" in said.stdout


def test_a_command_that_leaves_something_running_does_not_outlive_the_run(home: Home) -> None:
    pipe = home.path / "alive"
    os.mkfifo(pipe)
    held = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    script = f"exec 9> {pipe}; setsid sleep 1000 & echo good-value"
    line = f'env: {{secret: {{A: command:sh -c "{script}"}}}}'
    shared = f"filesystem: {{read_only: [{SERVERS}]}}"
    home.write_policy(f"{line}\n{shared}\ntools: {{default: allow}}")
    with started(home, "run", "fs", *command("shell.py")) as client:
        client.open()
        assert text(client.call("sh", line="printenv A")) == "good-value\n"
        with pytest.raises(BlockingIOError):
            os.read(held, 1)  # somebody still holds the other end
        assert client.close() == 0
    os.set_blocking(held, True)
    assert os.read(held, 1) == b""
    os.close(held)


@pytest.mark.parametrize(
    "source",
    [
        "file:~/projects/scratch/key",
        "command:~/projects/scratch/key",
        "command:cat ~/projects/scratch/key",
        "command:git -C ~/projects show HEAD:key",
    ],
)
def test_a_server_may_not_write_what_its_secret_comes_from(home: Home, source: str) -> None:
    (home.scratch / "key").write_text("#!/bin/sh\necho good-value > ran\n")
    (home.scratch / "key").chmod(0o700)
    shared = "filesystem: {read_write: [~/projects/scratch]}"
    home.write_policy(f"env: {{secret: {{A: '{source}'}}}}\n{shared}")
    said = done(home, "run", "fs", "--", "/bin/true")
    assert said.returncode == 2
    told = said.stderr.replace(str(home.path), "~")
    assert "fs.yaml:3:27: '~/projects/scratch' cannot be shared for writing" in told
    assert "is what a secret comes from" in said.stderr


# `mcp-jail run`, and what it had loaded when it ended.
LOADED = """
import sys
from mcp_jail.cli import main
code = main(sys.argv[1:])
sys.stderr.write("loaded " + " ".join(sys.modules) + "\\n")
sys.exit(code)
"""


def test_the_guard_loads_no_keyring_and_runs_no_command_itself(home: Home) -> None:
    words = [sys.executable, "-I", "-c", LOADED, "run", "fs", *command("shell.py")]
    with running(words, home.environ(), home.path) as client:
        client.open()
        assert text(client.call("sh", line="printenv A")) == FROM_KEYRING + "\n"
        assert client.close() == 0
    loaded = set(client.stderr.decode().rpartition("loaded ")[2].split())
    assert "mcp_jail.proxy.secrets" in loaded
    assert not {"keyring", "subprocess", "mcp_jail.store.secrets"} & loaded
    assert not {name for name in foreign_packages(loaded) if not name.startswith("_")}
