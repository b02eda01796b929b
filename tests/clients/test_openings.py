"""The openings of real hosts, replayed byte for byte and one byte at a time before real servers.

Each host gets the right answers under its own ids in the era it opened, and however it ends the
run, nothing of it is left but an audit that verifies.
"""

from __future__ import annotations

import os
import subprocess
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Final, assert_never

import pytest

from clients.openings import BEFORE_BOTH_ERAS, BEFORE_LEGACY, Id, Kind, Opening, Turn
from clients.wary import Wary
from clients.ways import Direct, Way
from driver import MCP_JAIL, SERVERS, Client, processes_with, running, wait_until

NAME: Final = "opened"
SUBSCRIPTION: Final = "io.modelcontextprotocol/subscriptionId"


class Host:
    """A host before a server, by one way."""

    def __init__(self, way: Way, server: list[str], folder: Path) -> None:
        self.home = folder
        self.mark = str(folder)  # in every command line of the run
        shared = folder / "shared"
        shared.mkdir()
        self._command = way.command(NAME, [*server, self.mark], shared)
        self._env = {"HOME": str(folder), "PATH": os.environ["PATH"], **way.environment}

    def started(self) -> AbstractContextManager[Client]:
        """A process of the server."""
        return running(self._command, self._env, self.home)

    def verified(self) -> subprocess.CompletedProcess[str]:
        """What `mcp-jail log --verify` says of the audit."""
        words = [str(MCP_JAIL), "log", NAME, "--verify"]
        return subprocess.run(words, env=self._env, capture_output=True, text=True, check=False)


def left(host: Host, wary: Wary) -> list[Any]:
    """Processes that know a run, and the files of runs."""
    runs = Path(wary.places.runtime)
    files = [*runs.iterdir()] if runs.is_dir() else []
    return [*processes_with(host.mark), *files]


@pytest.fixture
def wary(tmp_path_factory: pytest.TempPathFactory) -> Wary:
    return Wary(tmp_path_factory.mktemp("mcp-jail-home"))


@pytest.fixture
def of_both_eras(python_servers: Path) -> list[str]:
    return [str(python_servers / "python"), str(SERVERS / "writes.py")]


@pytest.fixture
def of_the_legacy_era(npm_tree: Path) -> list[str]:
    script = npm_tree / "@modelcontextprotocol" / "server-everything" / "dist" / "index.js"
    return ["node", str(script), "stdio"]


def id_of(message: dict[str, Any]) -> Id | None:
    """The request that a message answers; None where it answers none."""
    if message.get("method") == "notifications/subscriptions/acknowledged":
        acknowledged: Id = message["params"]["_meta"][SUBSCRIPTION]
        return acknowledged
    return None if "method" in message else message["id"]


def take(client: Client, turn: Turn) -> dict[Id, dict[str, Any]]:
    """Write what the host writes, a byte at a time, and read until it has what it waits for."""
    for byte in turn.sends:
        client.write(bytes([byte]))
    answers: dict[Id, dict[str, Any]] = {}
    while answers.keys() != turn.awaits.keys():
        message = client.read()
        id = id_of(message)
        assert id is not None or message["method"].startswith("notifications/"), message
        if id is not None:
            # By type too: 0 is an id, and no other value that is equal to it.
            assert type(id) is type(next(known for known in turn.awaits if known == id))
            assert id not in answers
            answers[id] = message
    return answers


def holds(kind: Kind, message: dict[str, Any], version: str) -> bool:
    """Whether an answer is what this kind of answer is, in the era of this version."""
    result: dict[str, Any] = message.get("result", {})
    is_modern = version == "2026-07-28"
    match kind:
        case Kind.DISCOVERED:
            found = result["supportedVersions"] == [version]
        case Kind.INITIALIZED:
            found = result["protocolVersion"] == version
        case Kind.LISTED:
            found = "echo" in {tool["name"] for tool in result["tools"]}
            found = found and ("ttlMs" in result) == is_modern
        case Kind.CALLED:
            found = result["content"][0]["text"] in {"x", "Echo: x"}
        case Kind.EMPTY:
            found = message["result"] == {}
        case Kind.UNKNOWN:
            return bool(message["error"]["code"] == -32601)
        case Kind.ACKNOWLEDGED:
            return "toolsListChanged" in message["params"]["notifications"]
        case _:
            assert_never(kind)
    return bool(found) and (result.get("resultType") == "complete") == is_modern


def play(client: Client, turns: tuple[Turn, ...], version: str) -> None:
    for turn in turns:
        for id, message in take(client, turn).items():
            assert holds(turn.awaits[id], message, version), message


def end(client: Client, opening: Opening) -> int:
    """End the run as the host does; our exit code."""
    if opening.ends is None:
        return client.close()
    client.process.send_signal(opening.ends)
    return client.wait()


def replay(host: Host, wary: Wary, opening: Opening) -> list[int]:
    """Open, take all turns and end; the exit codes of all processes."""
    if opening.sibling is None:
        with host.started() as client:
            play(client, opening.turns, opening.version)
            assert left(host, wary) != []
            return [end(client, opening)]
    with host.started() as sibling:
        play(sibling, (opening.sibling,), opening.version)
        with host.started() as client:
            # It is ended while the other one starts.
            sibling.process.terminate()
            play(client, opening.turns, opening.version)
            assert left(host, wary) != []
            return [sibling.wait(), end(client, opening)]


def leaves_a_whole_audit(host: Host, wary: Wary, opening: Opening) -> bool:
    """Replay, then hold what is left of it to what must be; whether the audit verifies."""
    codes = replay(host, wary, opening)
    assert {*codes} == {0}
    wait_until(lambda: left(host, wary) == [])
    entries = wary.audit(NAME)
    kinds = [entry["kind"] for entry in entries]
    assert "wire" not in kinds, entries
    assert [kinds.count(kind) for kind in ("start", "end")] == [len(codes)] * 2
    reasons = {entry["reason"] for entry in entries if entry["kind"] == "end"}
    assert ("a signal" in reasons) == (opening.ends is not None or opening.sibling is not None)
    verified = host.verified()
    assert verified.returncode == 0, verified
    return verified.stdout.count("\n  ok ") == len(codes)


def opens_the_same_way(server: list[str], opening: Opening, folder: Path) -> None:
    """Take all turns before the bare server."""
    with Host(Direct(), server, folder).started() as client:
        play(client, opening.turns, opening.version)


@pytest.mark.parametrize("name", BEFORE_BOTH_ERAS)
def test_a_host_opens_before_a_server_of_both_eras_and_leaves_a_whole_audit(
    name: str, of_both_eras: list[str], wary: Wary, tmp_path: Path
) -> None:
    assert leaves_a_whole_audit(Host(wary, of_both_eras, tmp_path), wary, BEFORE_BOTH_ERAS[name])


@pytest.mark.parametrize("name", BEFORE_LEGACY)
def test_a_host_opens_before_a_legacy_server_and_leaves_a_whole_audit(
    name: str, of_the_legacy_era: list[str], wary: Wary, tmp_path: Path
) -> None:
    assert leaves_a_whole_audit(Host(wary, of_the_legacy_era, tmp_path), wary, BEFORE_LEGACY[name])


@pytest.mark.parametrize("name", BEFORE_BOTH_ERAS)
def test_without_mcp_jail_a_host_opens_the_same_way_before_a_server_of_both_eras(
    name: str, of_both_eras: list[str], tmp_path: Path
) -> None:
    opens_the_same_way(of_both_eras, BEFORE_BOTH_ERAS[name], tmp_path)


@pytest.mark.parametrize("name", BEFORE_LEGACY)
def test_without_mcp_jail_a_host_opens_the_same_way_before_a_legacy_server(
    name: str, of_the_legacy_era: list[str], tmp_path: Path
) -> None:
    opens_the_same_way(of_the_legacy_era, BEFORE_LEGACY[name], tmp_path)
