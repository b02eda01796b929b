"""No client is fooled: every trick on the wire, through mcp-jail, against real SDK clients.

Each session makes one call for each trick of `tests/servers/rogue.py`. The honest answer, or an
error, may come of it, never the rogue's; and the session goes on.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Final

import anyio
import pytest
from mcp import Client, MCPError, StdioServerParameters, stdio_client
from mcp_types import TextContent

from clients.typescript import ERAS, take_steps
from clients.ways import Jailed

ROGUE: Final = Path(__file__).resolve().parent.parent / "servers" / "rogue.py"


def modes(python: str, kind: str) -> list[str]:
    command = [python, "-I", "-S", str(ROGUE), "--modes", kind]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


@pytest.fixture
def jailed(tmp_path_factory: pytest.TempPathFactory) -> Jailed:
    return Jailed(tmp_path_factory.mktemp("mcp-jail-home"))


@pytest.fixture
def command(jailed: Jailed, python: str, tmp_path: Path) -> list[str]:
    """The rogue in its jail; each call names its trick."""
    return jailed.command("rogue", [python, "-I", "-S", str(ROGUE), "named"], tmp_path)


def say_all(command: list[str], jailed: Jailed, mode: str, texts: list[str]) -> dict[str, str]:
    """What a call of `echo` with each text gives, an error in its own words."""
    heard: dict[str, str] = {}

    async def session() -> None:
        parameters = StdioServerParameters(
            command=command[0], args=command[1:], env=jailed.environment
        )
        async with Client(stdio_client(parameters), mode=mode) as client:
            for text in texts:
                try:
                    (block,) = (await client.call_tool("echo", {"text": text})).content
                except MCPError as error:
                    heard[text] = f"error: {error}"
                else:
                    assert isinstance(block, TextContent)
                    heard[text] = block.text

    anyio.run(session)
    return heard


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_no_trick_fools_the_python_client(
    command: list[str], jailed: Jailed, python: str, mode: str
) -> None:
    tricks = modes(python, "TRICKS")
    heard = say_all(command, jailed, mode, [*tricks, "honest"])
    fooled = {trick: text[:200] for trick, text in heard.items() if "EVIL" in text}
    assert fooled == {}
    assert {trick for trick, text in heard.items() if not text.startswith("error: ")} >= {"honest"}


def test_without_mcp_jail_the_same_tricks_do_fool_a_client(jailed: Jailed, python: str) -> None:
    command = [python, "-I", "-S", str(ROGUE), "named"]
    tricks = ["respelled-id", "look-alike-ids", "duplicate-inside", "unknown-key", "nan"]
    heard = say_all(command, jailed, "legacy", tricks)
    assert {trick for trick, text in heard.items() if text == "EVIL"} == set(tricks)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_an_odd_but_proper_answer_arrives(
    command: list[str], jailed: Jailed, python: str, mode: str
) -> None:
    odd = modes(python, "ODD")
    heard = say_all(command, jailed, mode, [*odd, "honest"])
    assert {text for text, answer in heard.items() if answer.startswith("EVIL")} == set(odd)


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.usefixtures("npm_tree")
def test_no_trick_fools_the_typescript_clients(
    command: list[str], jailed: Jailed, python: str, era: str
) -> None:
    tricks = [*modes(python, "TRICKS"), "honest"]
    answers = take_steps(
        era, command, jailed.environment, [("echo", {"text": trick}) for trick in tricks]
    )
    heard = dict(zip(tricks, answers, strict=True))
    assert {trick: answer for trick, answer in heard.items() if "EVIL" in str(answer)} == {}
    assert heard["honest"] == {"text": "honest", "isError": False}
