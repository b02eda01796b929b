"""What SDKs read differently from us on the wire, in both directions, with and without us.

Without us is the control: it shows that the trick works, and on whom. Through us no rogue text
reaches a client's application by any way, nothing smuggled is carried out by a server, and the
session goes on.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

import pytest

from clients.smuggled import LINES
from clients.tricked import ASKED, Heard, hear
from clients.tricks import ALL, ASKS, ODD, PYTHON, TRICKS, TYPESCRIPT, write_script
from clients.wary import Wary
from clients.ways import Direct, Way
from driver import ERAS, SERVERS, Client, running, wait_until

CLIENTS: Final = sorted(ALL)
# What a call is told in place of an answer.
OURS: Final = re.compile("not passed on|the user's policy")


class Rogue:
    """The server that plays the tricks, and where it lies."""

    def __init__(self, folder: Path, python: str) -> None:
        self.folder = folder
        script = folder / "script"
        write_script(script)
        self.command = [python, "-I", "-S", str(SERVERS / "scripted.py"), str(script)]

    def through(self, way: Way) -> tuple[list[str], Mapping[str, str]]:
        return way.command("tricks", self.command, self.folder), way.environment


@pytest.fixture
def rogue(tmp_path: Path, python: str) -> Rogue:
    return Rogue(tmp_path, python)


@pytest.fixture
def wary(tmp_path_factory: pytest.TempPathFactory) -> Wary:
    return Wary(tmp_path_factory.mktemp("mcp-jail-home"))


def is_fooled(heard: Heard) -> bool:
    """Whether a client took the rogue's words, or asked its application on the rogue's behalf."""
    asked = any(each.startswith(ASKED) for each in heard.noise)
    return asked or "EVIL" in heard.said + heard.after


@pytest.mark.usefixtures("npm_tree")
@pytest.mark.parametrize("client", CLIENTS)
def test_no_trick_reaches_the_application_and_the_session_lives(
    rogue: Rogue, wary: Wary, client: str
) -> None:
    tricks = [*TRICKS, *ASKS]
    heard = hear(client, *rogue.through(wary), tricks)
    assert {trick: each for trick, each in heard.items() if "EVIL" in str(each)} == {}
    assert {trick: each for trick, each in heard.items() if each.noise} == {}
    assert {trick for trick, each in heard.items() if each.after == "honest"} == {*tricks}
    # Either the trick is dropped and the honest answer taken, or the call is told it has none.
    told = {each.said for trick, each in heard.items() if each.said != trick}
    assert [each for each in told if not OURS.search(each)] == []


@pytest.mark.usefixtures("npm_tree")
@pytest.mark.parametrize("client", CLIENTS)
def test_without_mcp_jail_the_tricks_fool_whom_they_are_known_to_fool(
    rogue: Rogue, client: str
) -> None:
    tricks = [trick for trick, each in (TRICKS | ASKS).items() if client in each.fools]
    heard = hear(client, *rogue.through(Direct()), tricks)
    assert [trick for trick, each in heard.items() if is_fooled(each)] == tricks


@pytest.mark.usefixtures("npm_tree")
@pytest.mark.parametrize("client", CLIENTS)
def test_an_answer_that_only_looks_odd_arrives(rogue: Rogue, wary: Wary, client: str) -> None:
    odd = [name for name, each in ODD.items() if client in each.fools]
    heard = hear(client, *rogue.through(wary), odd)
    assert [(each.said, each.after) for each in heard.values()] == [("ODD", "honest")] * len(odd)


@pytest.mark.parametrize("client", sorted(PYTHON))
def test_without_mcp_jail_one_bad_byte_ends_the_session_of_a_python_client(
    rogue: Rogue, client: str
) -> None:
    trick = "invalid UTF-8"
    heard = hear(client, *rogue.through(Direct()), [trick], patience=2)[trick]
    assert "UnicodeDecodeError" in str(heard.noise)
    assert heard.after != "honest"


@pytest.mark.usefixtures("npm_tree")
@pytest.mark.parametrize("client", sorted(TYPESCRIPT))
def test_without_mcp_jail_11_mib_end_the_session_of_a_typescript_client(
    rogue: Rogue, client: str
) -> None:
    heard = hear(client, *rogue.through(Direct()), ["11 MiB"])["11 MiB"]
    assert "exceeded maximum size" in str(heard.noise)
    assert heard.after != "honest"


@pytest.mark.usefixtures("npm_tree")
@pytest.mark.parametrize("client", sorted(TYPESCRIPT))
def test_an_answer_too_large_for_a_client_does_not_end_its_session(
    rogue: Rogue, wary: Wary, client: str
) -> None:
    heard = hear(client, *rogue.through(wary), ["11 MiB"])["11 MiB"]
    assert heard.after == "honest", heard


class Peer:
    """A real server with a tool that writes a file, spoken to by hand."""

    def __init__(self, kind: str, command: list[str], home: Path) -> None:
        self.kind = kind
        self.folder = home / "made"
        self.folder.mkdir()
        self._command = [*command, str(self.folder)]
        self._home = home

    def opened(self, way: Way, era: str) -> AbstractContextManager[Client]:
        """A client before this server; it has still to open."""
        command = way.command("writes", self._command, self.folder)
        env = {"HOME": str(self._home), "PATH": os.environ["PATH"], **way.environment}
        return running(command, env, self._home, era)

    def write(self, client: Client, name: str) -> None:
        """An honest call."""
        said = client.call("write_file", path=str(self.folder / name), content="x")
        assert not said.get("isError"), said

    def made(self) -> set[str]:
        """The names of the files that were made."""
        return {path.name for path in self.folder.iterdir()}


@pytest.fixture
def python_peer(tmp_path: Path, python_servers: Path) -> Peer:
    command = [str(python_servers / "python"), str(SERVERS / "writes.py")]
    return Peer("python", command, tmp_path)


@pytest.fixture
def typescript_v1_peer(tmp_path: Path, npm_tree: Path) -> Peer:
    script = npm_tree / "@modelcontextprotocol" / "server-filesystem" / "dist" / "index.js"
    return Peer("typescript-v1", ["node", str(script)], tmp_path)


@pytest.fixture
def typescript_v2_peer(tmp_path: Path, applications: Path) -> Peer:
    return Peer("typescript-v2", ["node", str(applications.parent / "writes.mjs")], tmp_path)


def smuggle(peer: Peer, client: Client) -> None:
    """Send every line, each with a file of its own to make, between two honest calls."""
    client.open()
    peer.write(client, "before")
    for id, (name, each) in enumerate(LINES.items(), start=100):
        client.write(each.filled(id=id, path=peer.folder / name, era=client.era))
    peer.write(client, "after")


def is_held(peer: Peer, wary: Wary, era: str) -> bool:
    """Whether nothing is carried out but what is honest."""
    with peer.opened(wary, era) as client:
        smuggle(peer, client)
        assert client.close() == 0
    assert peer.made() == {"before", "after"}
    allowed = [each for each in wary.audit("writes") if each.get("verdict") == "allow"]
    return [each["name"] for each in allowed].count("write_file") == 2


def carries_out(peer: Peer, era: str) -> bool:
    """Whether a bare server carries out what it is known to."""
    known = {name for name, each in LINES.items() if peer.kind in each.executes}
    with peer.opened(Direct(), era) as client:
        smuggle(peer, client)
        wait_until(lambda: peer.made() >= {"before", "after", *known})
        client.close()
    return peer.made() == {"before", "after", *known}


@pytest.mark.parametrize("era", ERAS)
def test_a_python_server_carries_out_nothing_smuggled(
    python_peer: Peer, wary: Wary, era: str
) -> None:
    assert is_held(python_peer, wary, era)


@pytest.mark.parametrize("era", ERAS)
def test_without_mcp_jail_a_python_server_does(python_peer: Peer, era: str) -> None:
    assert carries_out(python_peer, era)


def test_a_typescript_server_of_version_1_carries_out_nothing_smuggled(
    typescript_v1_peer: Peer, wary: Wary
) -> None:
    assert is_held(typescript_v1_peer, wary, "legacy")


def test_without_mcp_jail_a_typescript_server_of_version_1_does(typescript_v1_peer: Peer) -> None:
    assert carries_out(typescript_v1_peer, "legacy")


@pytest.mark.parametrize("era", ERAS)
def test_a_typescript_server_of_version_2_carries_out_nothing_smuggled(
    typescript_v2_peer: Peer, wary: Wary, era: str
) -> None:
    assert is_held(typescript_v2_peer, wary, era)


@pytest.mark.parametrize("era", ERAS)
def test_without_mcp_jail_a_typescript_server_of_version_2_does(
    typescript_v2_peer: Peer, era: str
) -> None:
    assert carries_out(typescript_v2_peer, era)
