"""Servers that ask through the client, with real SDKs on both sides and us between them.

The legacy era asks by requests of the server, the modern one by results that are not the answer
yet; the same policy holds for both.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Final

import pytest
from mcp import Client, MCPError
from mcp_types import (
    CallToolResult,
    CreateMessageResult,
    ElicitResult,
    ListRootsResult,
    Root,
    TextContent,
)
from pydantic import FileUrl

from clients.python_client import talk, text
from driver import MCP_JAIL, SERVERS, Home

ALLOWED: Final = """\
tools: {default: allow}
sampling: allow
elicitation: allow
filesystem: {read_only: [~/projects]}
"""
MODES: Final = pytest.mark.parametrize("mode", ["legacy", "auto"])


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


class Person:
    """Whoever sits at the client: says yes to everything, and remembers what was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.context: list[object] = []

    async def elicited(self, _context: Any, params: Any) -> ElicitResult:
        self.asked.append(params.message)
        fields = params.requested_schema["properties"]
        return ElicitResult(action="accept", content=dict.fromkeys(fields, "Ada"))

    async def sampled(self, _context: Any, params: Any) -> CreateMessageResult:
        self.asked.append(params.messages[0].content.text)
        self.context.append(params.include_context)
        content = TextContent(type="text", text="deep thought")
        return CreateMessageResult(role="assistant", content=content, model="m")

    async def rooted(self, _context: Any) -> ListRootsResult:
        self.asked.append("roots")
        return ListRootsResult(roots=[Root(uri=FileUrl("file:///CANARY"))])


def run(
    home: Home,
    policy: str,
    mode: str,
    *calls: tuple[str, dict[str, Any]],
) -> tuple[list[CallToolResult], Person]:
    """The results of some calls, and what a person was asked meanwhile."""
    person = Person()
    home.write_policy(policy, "asking")
    command = [str(MCP_JAIL), "run", "asking", "--", sys.executable, str(SERVERS / "asking.py")]

    async def steps(client: Client) -> list[CallToolResult]:
        return [await called(client, name, arguments) for name, arguments in calls]

    results = talk(
        command,
        home.path,
        steps,
        mode=mode,
        elicitation_callback=person.elicited,
        sampling_callback=person.sampled,
        list_roots_callback=person.rooted,
    )
    return results, person


async def called(client: Client, name: str, arguments: dict[str, Any]) -> CallToolResult:
    """The result of a call; an error that the SDK raises counts as one."""
    try:
        return await client.call_tool(name, arguments)
    except MCPError as error:
        return CallToolResult(content=[TextContent(type="text", text=str(error))], is_error=True)


@MODES
def test_a_person_is_asked_and_the_answer_reaches_the_server(home: Home, mode: str) -> None:
    (greeted,), person = run(home, ALLOWED, mode, ("greet", {"word": "good morning"}))
    assert text(greeted) == "good morning Ada"
    assert person.asked == ["What is your name?"]
    told = [(e["method"], e.get("verdict")) for e in home.audit("asking") if e["kind"] == "call"]
    assert ("elicitation/create", "allow") in told
    assert told[0] == ("tools/call", "allow")


@MODES
def test_the_clients_model_is_used_without_the_context_of_other_servers(
    home: Home, mode: str
) -> None:
    (thought,), person = run(home, ALLOWED, mode, ("think", {}))
    assert "deep thought" in text(thought)
    assert person.asked == ["think"]
    assert person.context in ([None], ["none"])


@MODES
def test_roots_are_the_policys_in_either_era_and_nobody_is_asked(home: Home, mode: str) -> None:
    (told,), person = run(home, ALLOWED, mode, ("where", {}))
    assert text(told) == f"file://{home.projects}"
    assert person.asked == []


@MODES
@pytest.mark.parametrize("word", ["deny", "ask"])
def test_what_the_policy_does_not_allow_reaches_nobody(home: Home, mode: str, word: str) -> None:
    policy = ALLOWED.replace("elicitation: allow", f"elicitation: {word}")
    policy = policy.replace("sampling: allow", f"sampling: {word}") + "ask: {wait: 0s}\n"
    results, person = run(home, policy, mode, ("greet", {}), ("think", {}), ("count", {}))
    assert [result.is_error for result in results] == [True, True, False]
    assert person.asked == []


@MODES
def test_nobody_is_asked_for_a_password(home: Home, mode: str) -> None:
    results, person = run(home, ALLOWED, mode, ("log_in", {}), ("greet", {}))
    assert [result.is_error for result in results] == [True, False]
    assert "EVIL" not in text(results[0])
    assert person.asked == ["What is your name?"]


@MODES
def test_progress_of_a_call_arrives(home: Home, mode: str) -> None:
    heard: list[tuple[float, str | None]] = []
    home.write_policy(ALLOWED, "asking")
    command = [str(MCP_JAIL), "run", "asking", "--", sys.executable, str(SERVERS / "asking.py")]

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        assert total == 3
        heard.append((progress, message))

    async def steps(client: Client) -> CallToolResult:
        return await client.call_tool("count", {"to": 3}, progress_callback=hear)

    assert text(talk(command, home.path, steps, mode=mode)) == "3"
    assert heard == [(1, "step 1"), (2, "step 2"), (3, "step 3")]
