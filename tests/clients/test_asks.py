"""Asks with real SDK clients: those that give up, those that wait, those that ask their person."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
from mcp import Client
from mcp_types import ElicitResult, Implementation

from clients.python_client import talk, text
from clients.typescript import CLIENT
from driver import MCP_JAIL, Home, command
from persons import DESKTOP, at_terminal, ticket_of, waiting

PROGRAM: Final = Path(__file__).parent / "asked_client.py"
POLICY: Final = """\
filesystem: {read_only: [~/projects]}
tools: {default: ask}
"""

# A client made of each SDK, in each way it opens.
CLIENTS: Final = ("python-legacy", "python-auto", "v1", "v2-legacy", "v2-auto")
each_client = pytest.mark.parametrize("client", CLIENTS)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


class Calling:
    """A client's program, and what it says of each call."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def call(self, name: str, **arguments: Any) -> None:
        """Have it call a tool."""
        assert self._process.stdin is not None
        print(json.dumps([name, arguments]), file=self._process.stdin, flush=True)

    def said(self) -> dict[str, str]:
        """What the next call gave."""
        assert self._process.stdout is not None
        said: dict[str, str] = json.loads(self._process.stdout.readline())
        return said


@contextmanager
def calling(home: Home, client: str, *, wait: str, patience: float) -> Iterator[Calling]:
    """A client that waits `patience` seconds for a call that is held for `wait`."""
    home.write_policy(f"{POLICY}ask: {{wait: {wait}}}\n")
    server = [str(MCP_JAIL), "run", "fs", *command("echo.py")]
    if client.startswith("python-"):
        mode = client.removeprefix("python-")
        words = [sys.executable, str(PROGRAM), mode, str(patience), str(home.path), *server]
    else:
        asked = CLIENT.parent / "asked.mjs"
        words = ["node", str(asked), client, str(patience * 1000), str(home.path), *server]
    with subprocess.Popen(
        [*DESKTOP, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            yield Calling(process)
        finally:
            os.killpg(process.pid, signal.SIGKILL)


def allow(home: Home) -> None:
    with at_terminal(home, "allow", ticket_of(home), "--yes") as screen:
        assert screen.end() == 0, screen.shown


@each_client
def test_a_client_that_gives_up_is_let_through_when_it_calls_again(
    home: Home, client: str, npm_tree: Path
) -> None:
    """As with sixty seconds, only shorter: the client cancels before we answer."""
    with calling(home, client, wait="1h", patience=3) as caller:
        caller.call("echo", text="hello")
        assert "error" in caller.said()
        allow(home)
        caller.call("echo", text="hello")
        assert caller.said() == {"text": "hello"}
        assert waiting(home) == []


@each_client
def test_a_client_that_waits_is_told_in_time_and_let_through_when_it_calls_again(
    home: Home, client: str, npm_tree: Path
) -> None:
    with calling(home, client, wait="1s", patience=60) as caller:
        caller.call("echo", text="hello")
        assert caller.said()["text"].startswith("waiting for the user (")
        allow(home)
        caller.call("echo", text="hello")
        assert caller.said() == {"text": "hello"}


@each_client
def test_a_call_that_is_answered_while_it_waits_goes_on(
    home: Home, client: str, npm_tree: Path
) -> None:
    with calling(home, client, wait="1h", patience=60) as caller:
        caller.call("echo", text="hello")
        allow(home)
        assert caller.said() == {"text": "hello"}


@pytest.mark.parametrize("mode", ["legacy", "auto"])
@pytest.mark.parametrize(
    ("answer", "gives"),
    [("allow once", "hello"), ("deny", "denied by the user: do not call it again")],
)
def test_a_client_that_shows_questions_answers_in_place(
    home: Home, mode: str, answer: str, gives: str
) -> None:
    home.write_policy(POLICY)
    asked: list[str] = []

    async def elicited(_context: Any, params: Any) -> ElicitResult:
        asked.append(params.message)
        return ElicitResult(action="accept", content={"answer": answer})

    async def steps(client: Client) -> str:
        return text(await client.call_tool("echo", {"text": "hello"}))

    given = talk(
        [str(MCP_JAIL), "run", "fs", *command("echo.py")],
        home.path,
        steps,
        mode=mode,
        elicitation_callback=elicited,
        client_info=Implementation(name="claude-code", version="2.1"),
    )
    assert given == gives
    (message,) = asked
    assert message.startswith("mcp-jail (")
    assert '"text": "hello"' in message
