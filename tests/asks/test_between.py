"""What stands between a client and its guard, and what a client and a person's terminal run in.

The client is the Python SDK's own, which gives each server it starts a session; its agent has a
shell on a terminal of its own, as agents' tools have.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from driver import MCP_JAIL, Home, command, running, wait_until
from persons import DESKTOP, at_terminal, controlled, ticket_of, waiting

AGENT: Final = Path(__file__).parent / "agent_client.py"
RUN: Final = (str(MCP_JAIL), "run", "fs", *command("echo.py"))
POLICY: Final = """\
filesystem: {read_only: [~/projects]}
tools: {default: ask}
"""

# A program that starts another and waits for it, as people write around a server.
CALLS = "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))"

# A program that has pipes of its own to what it starts, as a proxy has.
PASSES_ON = """
import subprocess, sys, threading
server = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
def pass_on(source, sink):
    for line in source:
        sink.write(line)
        sink.flush()
    sink.close()
threading.Thread(target=pass_on, args=(sys.stdin.buffer, server.stdin), daemon=True).start()
pass_on(server.stdout, sys.stdout.buffer)
sys.exit(server.wait())
"""

# One's own way to the same, in a session of its own once more.
BEGINS_A_SESSION = """
import subprocess, sys
sys.exit(subprocess.Popen(sys.argv[1:], start_new_session=True).wait())
"""


def a_wrapper(folder: Path) -> list[str]:
    path = folder / "wrapper.sh"
    log = f"{folder}/log"
    path.write_text(f"#!/bin/sh\nX=y {shlex.join(RUN)} 2>> {log}\necho $? >> {log}\n")
    path.chmod(0o700)
    return [str(path)]


def python(code: str) -> list[str]:
    return [sys.executable, "-I", "-c", code, *RUN]


def in_a_terminal(line: str) -> list[str]:
    return ["script", "-qfe", "--echo", "never", "-c", line, "/dev/null"]


ENTRIES: Final[dict[str, Callable[[Path], list[str]]]] = {
    "nothing": lambda _: list(RUN),
    "a wrapper": a_wrapper,
    "timeout": lambda _: ["timeout", "600", *RUN],
    "a pipe": lambda folder: ["bash", "-c", f"{shlex.join(RUN)} | tee {folder}/log"],
    "a shell": lambda _: ["sh", "-c", f"cd / && {shlex.join(RUN)}"],
    "a shell with jobs": lambda _: ["bash", "-c", f"set -m; {shlex.join(RUN)}; true"],
    "a program": lambda _: python(CALLS),
    "a proxy": lambda _: python(PASSES_ON),
    "a session": lambda _: python(BEGINS_A_SESSION),
    "a shell's session": lambda _: ["sh", "-c", f"setsid -w {shlex.join(RUN)}; true"],
    "a terminal": lambda _: in_a_terminal(f"{shlex.join(RUN)}; true"),
    "a terminal and a program": lambda _: in_a_terminal(f"exec {shlex.join(python(CALLS))}"),
}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path)
    made.write_policy(POLICY)
    (made.projects / "cloned.yaml").write_text("name: cloned\n")
    return made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "agent"
    made.mkdir()
    return made


@contextmanager
def agent_of(home: Home, folder: Path, *words: str) -> Iterator[str]:
    """A client whose call is asked about, started by the last of some words; the ticket."""
    with running([*DESKTOP, *words], home.environ(TERM="dumb"), home.path):
        yield ticket_of(home)
        wait_until((folder / "called").exists)


def agent(folder: Path, *entry: str) -> list[str]:
    return [sys.executable, "-I", str(AGENT), str(folder), *entry]


def shown_to_agent(folder: Path, *lines: str) -> str:
    (folder / "lines.new").write_text(json.dumps(lines))
    (folder / "lines.new").rename(folder / "lines")
    wait_until((folder / "shown").exists)
    return " ".join((folder / "shown").read_text().split())


def allowed_by_a_person(home: Home, folder: Path, ticket: str) -> None:
    with at_terminal(home, "allow", ticket, "--yes") as screen:
        assert screen.end() == 0, screen.shown
    wait_until((folder / "called").exists)
    assert (folder / "called").read_text() == "hello"


@pytest.mark.parametrize("between", ENTRIES)
def test_an_agent_decides_nothing_whatever_stands_between_its_client_and_the_guard(
    home: Home, folder: Path, between: str
) -> None:
    before = (home.policies / "fs.yaml").read_bytes()
    with agent_of(home, folder, *agent(folder, *ENTRIES[between](folder))) as ticket:
        lines = (
            f"{MCP_JAIL} allow {ticket} --yes",
            f"{MCP_JAIL} allow {ticket} --yes --for always",
            f"{MCP_JAIL} approve fs --yes --seen {'0' * 32}",
            f"{MCP_JAIL} trust {home.projects}/cloned.yaml --yes",
        )
        said = shown_to_agent(folder, *lines)
        assert said.count("not taken from a process that an MCP client started") == len(lines), said
        assert waiting(home)
        assert (home.policies / "fs.yaml").read_bytes() == before
        allowed_by_a_person(home, folder, ticket)


# Holds terminals, by the name of a program: a client's, or none for it, and a person's shell.
HOLDS = """
import os, pty, subprocess, sys, threading, time
name, go, line, own, *client = sys.argv[1:]
with open("/proc/self/comm", "w") as file:
    file.write(name)
def on_terminal(*words):
    child, terminal = pty.fork()
    if child == 0:
        os.execvp(words[0], words)
    def read():
        try:
            while os.read(terminal, 65536):
                pass
        except OSError:
            pass
    threading.Thread(target=read, daemon=True).start()
    return child
shell = ["bash", "--norc", "--noprofile", "-i", "-c", line + "; true"]
if own == "terminal":
    began = on_terminal(*client)
else:
    began = subprocess.Popen(client).pid
while not os.path.exists(go):
    time.sleep(0.01)
if own == "terminal":
    os.waitpid(on_terminal(*shell), 0)
else:
    again = [sys.executable, "-I", "-c", sys.orig_argv[3], "a-terminal", go, "true", "terminal"]
    subprocess.run([*again, *shell], check=True)
os.waitpid(began, 0)
"""


@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("konsole", "terminal"),
        ("tmux: server", "terminal"),
        ("code", "terminal"),
        ("xfce4-panel", "none"),
        ("thunar", "none"),
        ("rofi", "none"),
        ("dbus-daemon", "none"),
    ],
)
def test_a_persons_shell_answers_that_is_held_or_begun_by_what_holds_or_began_the_client(
    home: Home, folder: Path, name: str, own: str
) -> None:
    go = folder / "go"
    line = f"{MCP_JAIL} allow --yes > {folder}/told 2>&1"
    words = [sys.executable, "-I", "-c", HOLDS, name, str(go), line, own]
    with agent_of(home, folder, *words, *agent(folder, *RUN)) as ticket:
        said = shown_to_agent(folder, f"{MCP_JAIL} allow {ticket} --yes")
        assert "not taken from a process that an MCP client started" in said, said
        go.touch()
        wait_until((folder / "called").exists)
        wait_until(lambda: "allowed once" in (folder / "told").read_text())


def test_a_shell_answers_that_began_the_client_as_another_job(home: Home, folder: Path) -> None:
    shell = ["bash", "--norc", "--noprofile", "-i"]
    variables = home.environ(TERM="dumb", COLUMNS="80")
    with controlled(shell, variables, home.path) as screen:
        words = shlex.join(agent(folder, *a_wrapper(folder)))
        screen.type(f"{words} > {folder}/out 2>&1 &\n")
        ticket = ticket_of(home)
        said = shown_to_agent(folder, f"{MCP_JAIL} allow {ticket} --yes")
        assert "not taken from a process that an MCP client started" in said, said
        screen.type(f"{MCP_JAIL} allow {ticket} --yes\n")
        wait_until((folder / "called").exists)
        screen.type("wait; exit\n")
        screen.end()


def test_a_script_that_leads_a_terminal_is_no_persons_shell(home: Home, folder: Path) -> None:
    """As an agent's tool starts a client in turn: `bash -c` on a terminal, without job control."""
    words = agent(folder, *RUN)
    script = ["script", "-qfec", f"{shlex.join(words)}; true", "/dev/null"]
    with agent_of(home, folder, *script) as ticket:
        said = shown_to_agent(folder, f"{MCP_JAIL} allow {ticket} --yes")
        assert "not taken from a process that an MCP client started" in said, said
        allowed_by_a_person(home, folder, ticket)
