"""The demo's client is told everything, waits for nobody for ever, and raises for no server."""

from __future__ import annotations

from pathlib import Path

import pytest

from driver import SERVERS
from mcp_jail.demo import client as clients
from mcp_jail.demo.client import Client


def start(tmp_path: Path, *words: str) -> Client:
    errors = str(tmp_path / "stderr")
    return Client(words, environ={"PATH": "/usr/bin:/bin"}, cwd=str(tmp_path), errors=errors)


def test_it_opens_calls_and_leaves(tmp_path: Path, python: str) -> None:
    client = start(tmp_path, python, "-I", "-S", str(SERVERS / "echo.py"))
    assert client.open()
    result = client.call("echo", text="hello there")
    assert result is not None
    assert result["content"][0]["text"] == "hello there"
    assert client.call("no such tool") is None or b"no such tool" in client.received
    assert client.close() == 0
    assert b"hello there" in client.received


def test_a_server_that_ends_at_once_has_not_answered(tmp_path: Path) -> None:
    client = start(tmp_path, "/bin/sh", "-c", "echo 'not json'; echo why >&2; exit 7")
    assert not client.open()
    assert client.close() == 7
    assert client.received == b"not json\n"
    assert (tmp_path / "stderr").read_text() == "why\n"


def test_a_server_that_says_nothing_and_stays_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "PATIENCE", 0.2)
    client = start(tmp_path, "/bin/sh", "-c", "trap '' HUP TERM; exec sleep 60")
    assert not client.open()
    assert client.close() == -9
