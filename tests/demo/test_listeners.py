"""The listeners keep what comes and can tell nobody from somebody who said nothing."""

from __future__ import annotations

import socket
from pathlib import Path

from mcp_jail.demo.listeners import HOST, Listeners


def test_they_keep_all_that_arrives_until_it_is_asked_for(tmp_path: Path) -> None:
    with Listeners(str(tmp_path / "agent")) as listeners:
        for words in (b"one", b"two"):
            with socket.create_connection((HOST, listeners.port("TCP"))) as line:
                line.sendall(words)
        for name in ("UDP", "DNS"):
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as packets:
                packets.sendto(name.encode(), (HOST, listeners.port(name)))
        with socket.socket(socket.AF_UNIX) as line:
            line.connect(listeners.agent)
            line.sendall(b"agent")
        assert listeners.taken() == {
            "TCP": b"one\ntwo",
            "UDP": b"UDP",
            "DNS": b"DNS",
            "SSH agent": b"agent",
        }
        assert set(listeners.taken().values()) == {None}


def test_who_connects_and_says_nothing_has_come_all_the_same(tmp_path: Path) -> None:
    with Listeners(str(tmp_path / "agent")) as listeners:
        socket.create_connection((HOST, listeners.port("TCP"))).close()
        with socket.socket(socket.AF_UNIX) as still_open:
            still_open.connect(listeners.agent)
            taken = listeners.taken()
        assert (taken["TCP"], taken["SSH agent"]) == (b"", b"")
        assert (taken["UDP"], taken["DNS"]) == (None, None)
