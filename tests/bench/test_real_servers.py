"""Real servers by both ways, and what is said when one is not there."""

from __future__ import annotations

from pathlib import Path

import pytest

import real_servers
from lanes import Workshop
from protections import what_was_off
from real_servers import NPX, Real
from talk import is_refused

NOWHERE = "http://127.0.0.1:9/"


def test_real_servers_are_measured_straight_and_jailed(
    workshop: Workshop, npm_tree: Path, python_servers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("npm_config_registry", NOWHERE)
    monkeypatch.setenv("npm_config_fetch_retries", "0")
    real = real_servers.find(workshop)
    assert real.left_out == [f"{NPX}: it could not fetch and start its server"]
    found = real_servers.measure(workshop, real, rounds=1, starts=1)
    figures = ["initialize ms", "tools/list ms", "call p50 us"]
    assert list(found) == [f"{word} {each}" for word in ("node", "python") for each in figures]
    assert {tuple(by_lane) for by_lane in found.values()} == {("direct", "mcp-jail")}
    assert what_was_off(workshop) == []
    assert {name: jailed.runs for name, jailed in workshop.jailed.items()} == {
        "real-node": 2,
        "real-python": 2,
    }


def test_the_call_that_has_to_be_refused_is_one_the_server_would_carry_out(
    workshop: Workshop, npm_tree: Path, python_servers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("npm_config_registry", NOWHERE)
    monkeypatch.setenv("npm_config_fetch_retries", "0")
    servers = [*real_servers.find(workshop).servers.values(), workshop.echo_server("echo")]
    for server in servers:
        with workshop.talking(workshop.lanes[0], server) as talk:
            assert not is_refused(talk.answer(server.refused))


def test_servers_that_are_not_there_are_left_out_by_name(
    workshop: Workshop, tmp_path: Path
) -> None:
    real = real_servers.find(workshop, tmp_path / "empty")
    assert [each.partition(":")[0] for each in real.left_out] == ["node", "python"]
    assert real == Real({}, None, None, real.left_out)
    assert real_servers.measure(workshop, real, rounds=1, starts=1) == {}
