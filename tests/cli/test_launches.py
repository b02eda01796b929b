"""What a client starts against what a person approved: swapped, forged, smuggled and moved.

Each is an attack on the entry of a client's configuration, or on what that names, in a real jail.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest

from driver import MCP_JAIL, PYTHON, SERVERS, Client, Home, command, started

ECHO: Final = str(SERVERS / "echo.py")
TRUST: Final = f"filesystem: {{read_only: [~/projects, {SERVERS}]}}\ntools: {{default: allow}}\n"
# A server in one word, as `python -c` takes it: echo, started from a string.
CODE: Final = f"import sys; sys.path.insert(0, {str(SERVERS)!r}); import echo; echo.main()"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path)
    home.write_policy(TRUST)
    return home


def tools(client: Client) -> list[str]:
    client.open()
    return [tool["name"] for tool in client.request("tools/list")["result"]["tools"]]


def run(
    home: Home, *words: str, env: dict[str, str] | None = None, cwd: Path | None = None
) -> tuple[int, str, list[str]]:
    """Exit code, error stream and listed tools of a start; none for one that is refused."""
    environ = home.environ(**(env or {}))
    with started(home, "run", *words, env=environ, cwd=cwd) as client:
        client.ask(
            "initialize",
            protocolVersion="2025-11-25",
            capabilities={},
            clientInfo={"name": "mcp", "version": "1"},
        )
        answered = client.read_line() is not None
        listed: list[str] = []
        if answered:
            client.send(method="notifications/initialized")
            listed = [each["name"] for each in client.request("tools/list")["result"]["tools"]]
        code = client.close()
    return code, client.stderr.decode(), listed


def tells(said: str, *lines: str) -> bool:
    """Whether these lines stand behind the gutter one after the other, however they are folded."""
    behind = [line[6:] for line in said.splitlines() if line.startswith("    | ")]
    return "".join("".join(lines).split()) in "".join("".join(behind).split())


def server(home: Home, text: str = "", name: str = "server.py") -> str:
    """A script of one's own that goes on as echo does; where it lies is shared."""
    path = home.projects / name
    path.write_text(
        f"#!/usr/bin/env python3\nimport sys\n{text}\n"
        f"sys.path.insert(0, {str(SERVERS)!r})\nimport echo\necho.main()\n"
    )
    path.chmod(0o755)
    return str(path)


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


# The same name, another server (CVE-2025-54136).


@pytest.mark.parametrize(
    "words",
    [
        ("--", PYTHON, "-I", "-S", ECHO, "--log", "/dev/null"),
        ("--", PYTHON, "-I", "-S", str(SERVERS / "rogue.py"), "honest"),
        ("--", "/bin/sh", "-c", "exec python3 -I -S " + ECHO),
    ],
    ids=["an argument more", "another script", "a shell"],
)
def test_another_launch_under_an_approved_name_is_refused_with_what_changed(
    home: Home, words: tuple[str, ...]
) -> None:
    assert run(home, "fs", *command("echo.py"))[0] == 0
    code, said, listed = run(home, "fs", *words)
    assert code == 3
    assert listed == []
    assert "another server is started than the one you approved" in said
    assert tells(said, f"- {PYTHON} -I -S {ECHO}", f"+ {words[1]} ")
    assert "mcp-jail diff fs" in said
    assert run(home, "fs", *command("echo.py"))[0] == 0  # what was approved still starts


def test_a_policy_that_is_for_no_command_says_at_each_start_what_gets_its_jail(home: Home) -> None:
    home.write_policy(f"filesystem: {{read_only: [{SERVERS}]}}\nlock: {{first: review}}\n")
    words = (*command("echo.py"), "--token", "hunter2")
    for _ in range(2):
        code, said, listed = run(home, "fs", *words)
        assert (code, listed) == (0, [])
        assert "the policy names no command and none was approved" in said
        assert f"now that is: {PYTHON} -I -S {ECHO} --token [secret]" in said
    approve = [str(MCP_JAIL), "approve", "fs", "--yes", "--seen", digest_of(home)]
    subprocess.run(approve, env=home.environ(), check=True, capture_output=True)
    assert "names no command" not in run(home, "fs", *words)[1]
    named = f"filesystem: {{read_only: [{SERVERS}]}}\nserver: {{command: [{PYTHON}, {ECHO}]}}\n"
    home.write_policy(named, "named")
    assert "names no command" not in run(home, "named")[1]


def digest_of(home: Home) -> str:
    """What `diff` says is shown."""
    diff = [str(MCP_JAIL), "diff", "fs", "--json"]
    said = subprocess.run(diff, env=home.environ(), check=True, capture_output=True, text=True)
    return str(json.loads(said.stdout)["digest"])


def test_what_a_policy_passes_more_is_another_launch(home: Home) -> None:
    assert run(home, "fs", *command("echo.py"))[0] == 0
    home.write_policy(TRUST + "env: {pass: [API_KEY], set: {LD_PRELOAD: /tmp/x.so}}\n")
    code, said, _ = run(home, "fs", *command("echo.py"))
    assert code == 3
    assert tells(said, "+ variable API_KEY", "+ variable LD_PRELOAD")


def test_a_variable_that_an_entry_gained_does_not_reach_the_server(home: Home) -> None:
    with started(home, "run", "fs", *command("echo.py"), env=home.environ(EVIL="1")) as client:
        client.open()
        seen = str(client.call("read_file", path="/proc/self/environ"))
        assert "PATH=" in seen
        assert "EVIL" not in seen
        assert client.close() == 0


# Code in the entry itself.


@pytest.mark.parametrize(
    "words",
    [
        (PYTHON, "-I", "-S", "-c", CODE),
        ("/usr/bin/env", "-S", f"{PYTHON} -I -S {ECHO}"),
        ("/bin/sh", "-c", f"exec {PYTHON} -I -S {ECHO}"),
        ("/usr/bin/awk", f'BEGIN{{system("{PYTHON} -I -S {ECHO}")}}'),
        ("/usr/bin/perl", "-e", f'exec "{PYTHON}", "-I", "-S", "{ECHO}"'),
    ],
    ids=["python -c", "env -S", "sh -c", "awk", "perl -e"],
)
def test_code_in_the_entry_is_told_at_the_first_contact_and_says_nothing_to_a_model(
    home: Home, words: tuple[str, ...]
) -> None:
    home.write_policy(f"filesystem: {{read_only: [{SERVERS}]}}\nlock: {{first: review}}\n")
    code, said, listed = run(home, "fs", "--", *words)
    assert code == 0, said
    assert "that stands in the command itself" in said
    assert listed == []


@pytest.mark.parametrize(
    "words",
    [
        ("node", "-e", "process.stdin.resume()"),
        ("node", "--import", "data:text/javascript,0", "/nowhere.js"),
    ],
    ids=["node -e", "node --import"],
)
def test_code_for_node_is_told(home: Home, npm_tree: Path, words: tuple[str, ...]) -> None:
    path = f"{os.environ['PATH']}:/usr/bin"
    said = subprocess.run(
        [MCP_JAIL, "run", "fs", "--", *words],
        input="",
        capture_output=True,
        text=True,
        env=home.environ(PATH=path),
        check=False,
    ).stderr
    assert f"'{words[0]} {words[1]}' " in said
    assert "that stands in the command itself" in said


# Variables in the entry that load code.


LOADING: Final = (
    "NODE_OPTIONS LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT PYTHONSTARTUP PYTHONPATH BASH_ENV ENV "
    "DYLD_INSERT_LIBRARIES GIT_SSH_COMMAND GCONV_PATH PERL5OPT RUBYOPT JAVA_TOOL_OPTIONS "
    "OPENSSL_CONF OPENSSL_MODULES"
).split()


@pytest.mark.parametrize("name", LOADING)
def test_a_variable_that_loads_code_runs_in_no_process_of_ours_and_is_not_handed_on(
    home: Home, name: str
) -> None:
    home.write_policy(TRUST + f"env: {{pass: [{name}]}}\n")
    environ = home.environ(**{name: "/tmp/evil"})
    with started(home, "run", "fs", *command("echo.py"), env=environ) as client:
        client.open()
        seen = str(client.call("read_file", path="/proc/self/environ"))
        assert client.close() == 0
    assert "PATH=" in seen
    assert f"{name}=" not in seen.replace("PATH=", "", 1)
    assert "/tmp/evil" not in seen
    assert f"{name} would run code outside the jail" in client.stderr.decode()


# The script or the program behind an approved word.


def test_a_script_whose_bytes_changed_is_another_launch(home: Home) -> None:
    path = server(home)
    assert run(home, "fs", "--", "python3", path)[0] == 0
    server(home, "# changed")
    code, said, _ = run(home, "fs", "--", "python3", path)
    assert code == 3
    assert tells(said, f"! {path} has other content than the script you approved")


@pytest.mark.parametrize(
    "words",
    [("python3", "FILE"), ("bash", "FILE"), ("python3", "DIRECTORY"), ("env", "python3", "FILE")],
    ids=" ".join,
)
def test_a_script_that_only_its_interpreter_knows_is_held_by_its_bytes(
    home: Home, words: tuple[str, ...]
) -> None:
    path = server(home, name="served")
    folder = home.projects / "folder"
    folder.mkdir()
    if "bash" in words:
        Path(path).write_text(f"exec {PYTHON} -I -S {ECHO}\n")
    (folder / "__main__.py").write_text(Path(path).read_text())
    command = tuple(w.replace("FILE", path).replace("DIRECTORY", str(folder)) for w in words)
    assert run(home, "fs", "--", *command)[0] == 0
    changed = folder / "__main__.py" if "DIRECTORY" in words else Path(path)
    changed.write_text(changed.read_text() + "# changed\n")
    code, said, listed = run(home, "fs", "--", *command)
    assert (code, listed) == (3, [])
    assert tells(said, f"! {changed} has other content than the script you approved")


@pytest.mark.parametrize(
    "words",
    [("python3", "./server.py"), ("python3", "-m", "server"), ("python3", "server.py")],
    ids=" ".join,
)
def test_an_approval_of_one_clone_does_not_carry_to_another(
    home: Home, words: tuple[str, ...]
) -> None:
    for clone in ("one", "other"):
        (home.projects / clone).mkdir()
        server(home, "import lib", name=f"{clone}/server.py")
        (home.projects / clone / "lib.py").write_text("")
    one, other = home.projects / "one", home.projects / "other"
    assert run(home, "fs", "--", *words, cwd=one)[0] == 0
    (other / "lib.py").write_text(f"open({str(home.scratch / 'ran')!r}, 'w')\n")
    code, said, listed = run(home, "fs", "--", *words, cwd=other)
    assert (code, listed) == (3, [])
    assert tells(said, f"- in the directory {one}", f"+ in the directory {other}")
    assert "server.cwd in the policy" in said
    assert run(home, "fs", "--", *words, cwd=one)[0] == 0


def test_a_directory_that_says_nothing_of_a_command_may_be_any(home: Home) -> None:
    path = server(home)
    for name in ("one", "other"):
        (home.projects / name).mkdir()
        assert run(home, "fs", "--", "python3", path, cwd=home.projects / name)[0] == 0


def test_what_a_client_started_elsewhere_is_approved_from_any_terminal(home: Home) -> None:
    clone = home.projects / "clone"
    clone.mkdir()
    server(home, name="clone/server.py")
    review = TRUST + "server: {command: [python3, server.py]}\nlock: {first: review}\n"
    home.write_policy(review)
    assert run(home, "fs", cwd=clone)[0] == 0
    diff = [str(MCP_JAIL), "diff", "fs", "--json"]
    said = subprocess.run(
        diff, env=home.environ(), check=True, capture_output=True, text=True, cwd=home.path
    ).stdout
    assert str(clone) in said
    digest = json.loads(said)["digest"]
    approve = [str(MCP_JAIL), "approve", "fs", "--yes", "--seen", digest]
    subprocess.run(approve, env=home.environ(), check=True, capture_output=True, cwd=home.path)
    code, said, listed = run(home, "fs", cwd=clone)
    assert code == 0, said
    assert "read_file" in listed


@pytest.mark.parametrize("is_named", [True, False], ids=["by the policy", "approved"])
def test_no_secret_of_a_command_line_is_told(home: Home, is_named: bool) -> None:
    words = (PYTHON, "-I", "-S", ECHO, "--api-key")
    if is_named:
        home.write_policy(TRUST + f"server: {{command: [{', '.join(words)}, hunter2]}}\n")
    else:
        assert run(home, "fs", "--", *words, "hunter2")[0] == 0
    code, said, _ = run(home, "fs", "--", *words, "hunter3")
    assert code == 3
    assert "--api-key [secret]" in " ".join(said.replace("|", "").split())
    assert "with another secret" in " ".join(said.replace("|", "").split())
    kept = [path.read_text() for path in home.state.rglob("*.json*")]
    assert kept or is_named
    assert "hunter" not in said + "".join(kept)


@pytest.mark.parametrize("options", [(), ("--json",)], ids=" ".join)
def test_no_secret_of_a_command_line_is_shown_where_it_is_looked_at(
    home: Home, options: tuple[str, ...]
) -> None:
    words = (PYTHON, "-I", "-S", ECHO, "--api-key")
    assert run(home, "fs", "--", *words, "hunter2")[0] == 0
    assert run(home, "fs", "--", *words, "hunter3")[0] == 3
    diff = [str(MCP_JAIL), "diff", "fs", *options]
    said = subprocess.run(
        diff, env=home.environ(), check=True, capture_output=True, text=True
    ).stdout
    assert "launch/command" in said
    assert "hunter" not in said
    if not options:
        assert "the same words, with another secret" in said


def test_a_look_needs_the_command_again_where_it_holds_a_secret(home: Home) -> None:
    words = ("--", PYTHON, "-I", "-S", ECHO, "--api-key", "hunter2")
    assert run(home, "fs", *words)[0] == 0
    diff = [str(MCP_JAIL), "diff", "fs", "--live"]
    said = subprocess.run(diff, env=home.environ(), capture_output=True, text=True, check=False)
    assert said.returncode == 2
    assert "holds a secret, which is not kept" in said.stderr
    said = subprocess.run(
        [*diff, *words], env=home.environ(), capture_output=True, text=True, check=False
    )
    assert said.returncode == 0, said.stderr
    assert "launch/command" not in said.stdout


def test_another_program_of_that_name_first_in_path_is_another_launch(home: Home) -> None:
    path = server(home)
    assert run(home, "fs", "--", "python3", path)[0] == 0
    evil = program(home.path / "evil" / "python3", f'#!/bin/sh\nexec {PYTHON} "$@"\n')
    env = {"PATH": f"{evil.parent}:/usr/bin:/bin"}
    code, said, _ = run(home, "fs", "--", "python3", path, env=env)
    assert code == 3
    assert tells(said, f"- /usr/bin/python3 {path}", f"+ {evil} {path}")


def test_another_interpreter_of_a_script_first_in_path_is_another_launch(home: Home) -> None:
    path = server(home, name="server")
    assert run(home, "fs", "--", path)[0] == 0
    evil = home.path / "evil" / "bin" / "python3"
    evil.parent.mkdir(parents=True)
    (home.path / "evil" / "lib" / "python3.11").mkdir(parents=True)
    (home.path / "evil" / "lib" / "python3.11" / "os.py").touch()
    program(evil, f'#!/bin/sh\nexec {PYTHON} "$@"\n')
    env = {"PATH": f"{evil.parent}:/usr/bin:/bin"}
    code, said, _ = run(home, "fs", "--", path, env=env)
    assert code == 3
    assert tells(said, "- interpreter /usr/bin/python3", f"+ interpreter {evil}")


# An entry that only looks like ours.


@pytest.mark.parametrize(
    "words",
    [
        ("--policy", "EVIL"),
        ("--policy=EVIL",),
        ("fs", "--no-sandbox"),
        ("--no-sandbox", "fs"),
        ("fs", "--sandbox=none"),
        ("../../evil",),
        ("EVIL",),
    ],
    ids=" ".join,
)
def test_a_forged_entry_starts_nothing(home: Home, tmp_path: Path, words: tuple[str, ...]) -> None:
    evil = tmp_path / "any.yaml"
    evil.write_text("name: any\nnetwork: {mode: host}\ntools: {default: allow}\n")
    words = tuple(word.replace("EVIL", str(evil)) for word in words)
    touched = home.projects / "touched"
    code, _, listed = run(home, *words, "--", "/usr/bin/touch", str(touched))
    assert code == 2
    assert listed == []
    assert not touched.exists()


def test_policies_are_looked_for_in_no_directory_that_depends_on_where_a_client_stands(
    home: Home,
) -> None:
    code, said, _ = run(home, "fs", *command("echo.py"), env={"MCP_JAIL_HOME": "relative/policies"})
    assert code == 2
    assert "MCP_JAIL_HOME must be an absolute path" in said


# A policy in a cloned repository.


@pytest.mark.parametrize(
    "name", [".mcp-jail.yaml", "mcp-jail.yaml", "fs.yaml", ".mcp-jail/fs.yaml"]
)
def test_a_policy_in_a_clone_changes_nothing_by_lying_there(home: Home, name: str) -> None:
    clone = home.path / "clone"
    (clone / name).parent.mkdir(parents=True)
    (clone / name).write_text(f"name: fs\nfilesystem: {{read_write: [{home.path}/.ssh]}}\n")
    with started(home, "run", "fs", *command("echo.py"), cwd=clone) as client:
        client.open()
        assert client.call("read_file", path=str(home.secret))["isError"] is True
        assert client.close() == 0


def test_a_policy_of_a_clone_counts_once_trusted_and_only_as_it_was(home: Home) -> None:
    clone = home.path / "clone"
    clone.mkdir()
    policy = clone / ".mcp-jail.yaml"
    policy.write_text("name: any\nlock: {first: trust}\ntools: {default: allow}\n")
    words = ("--policy", str(policy), *command("echo.py"))
    assert run(home, *words)[0] == 2
    trust = [str(MCP_JAIL), "trust", str(policy), "--yes"]
    subprocess.run(trust, env=home.environ(), check=True, capture_output=True)
    assert run(home, *words)[0] == 0
    policy.write_text(policy.read_text() + "network: {mode: host}\n")
    code, said, _ = run(home, *words)
    assert code == 2
    assert "has changed since it was trusted" in said


# Commands as the client would have found them.


def test_a_whole_line_in_one_word_starts_what_it_says(home: Home) -> None:
    code, said, listed = run(home, "fs", "--", f"{PYTHON} -I -S '{ECHO}'")
    assert code == 0, said
    assert "read_file" in listed
    assert run(home, "fs", *command("echo.py"))[0] == 0  # it is the same launch


@pytest.mark.parametrize(
    "place", [".local/bin", ".nvm/versions/node/v22.1.0/bin", ".volta/bin", ".npm-global/bin"]
)
def test_a_command_that_only_a_login_finds_is_found_and_started(home: Home, place: str) -> None:
    script = Path(server(home))
    program(home.path / place / "my-server", script.read_text())
    code, said, listed = run(home, "fs", "--", "my-server", env={"PATH": "/usr/bin:/bin"})
    assert code == 0, said
    assert "read_file" in listed


SHIMS: Final = {
    "pyenv": (".pyenv/shims", ".pyenv/versions/3.12.1/bin", {".pyenv/version": "3.12.1"}),
    "asdf": (".asdf/shims", ".asdf/installs/tool/1.0/bin", {".tool-versions": "tool 1.0"}),
    "mise": (
        ".local/share/mise/shims",
        ".local/share/mise/installs/tool/1.0/bin",
        {".config/mise/config.toml": '[tools]\ntool = "1.0"\n'},
    ),
    "volta": (
        ".volta/bin",
        ".volta/tools/image/packages/my-server/bin",
        {".volta/tools/user/bins/my-server.json": '{"package": "my-server"}'},
    ),
}


@pytest.mark.parametrize("manager", SHIMS)
def test_what_stands_behind_a_shim_is_started_and_the_shim_is_not_run(
    home: Home, manager: str
) -> None:
    shims, place, settings = SHIMS[manager]
    for name, text in settings.items():
        (home.path / name).parent.mkdir(parents=True, exist_ok=True)
        (home.path / name).write_text(text)
    script = Path(server(home)).read_text()
    program(home.path / place / "my-server", script)
    shim = program(home.path / shims / "volta-shim", f"#!/bin/sh\ntouch {home.path}/ran\n")
    (shim.parent / "my-server").symlink_to(shim)
    code, said, listed = run(home, "fs", "--", "my-server", env={"PATH": "/usr/bin:/bin"})
    assert code == 0, said
    assert "read_file" in listed
    assert not (home.path / "ran").exists()


def test_a_command_that_is_nowhere_is_told_with_where_it_was_looked_for(home: Home) -> None:
    (home.path / ".local" / "bin").mkdir(parents=True)
    code, said, _ = run(home, "fs", "--", "no-such-server", env={"PATH": "/usr/bin"})
    assert code == 2
    assert "command 'no-such-server' not found" in said
    assert f"{home.path}/.local/bin" in said


def test_no_entry_has_a_shell_of_its_own_choice_run_outside(home: Home, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    evil = program(tmp_path / "shell", f"#!/bin/sh\ntouch {ran}\n")
    for file in (".profile", ".bash_profile", ".bashrc", ".zshenv"):
        (home.path / file).write_text(f"touch {ran}\n")
    env: dict[str, Any] = {"SHELL": str(evil), "ENV": str(home.path / ".profile")}
    assert run(home, "fs", "--", "no-such-server", env=env)[0] == 2
    assert not ran.exists()
