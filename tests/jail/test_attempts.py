"""Each way out that is known, tried from inside a jail, and bare, so that it is a real attempt."""

from __future__ import annotations

import os

import pytest

from jail.attempts import ATTEMPTS
from jail.conftest import Finding, Jailed, World
from mcp_jail.core.spec import Mount, MountKind
from mcp_jail.sandbox.mountinfo import differences, parse

OPEN_BARE = [
    name
    for name, (_, bare, _) in ATTEMPTS.items()
    if bare == "open" or (bare == "root" and os.getuid() == 0)
]


@pytest.mark.parametrize("name", ATTEMPTS)
def test_held_inside_a_jail(name: str, jailed: Jailed) -> None:
    found = jailed.found[name]
    assert found.open is False, found.saw


@pytest.mark.parametrize("name", OPEN_BARE)
def test_open_without_a_jail(name: str, bare: dict[str, Finding]) -> None:
    assert bare[name].open is True, bare[name].saw


def test_nothing_was_left_in_the_home(jailed: Jailed, world: World) -> None:
    names = {path.name for path in world.home.iterdir()}
    assert not names & {"pwn", ".bashrc", ".local/bin"}
    assert list((world.home / "secret-dir").iterdir()) == []
    assert not (world.home / ".config/autostart").exists()
    assert not (world.home / ".config/systemd").exists()


def test_nothing_arrived_at_the_hosts_sockets(jailed: Jailed, world: World) -> None:
    assert world.arrived == []


def test_the_hosts_process_is_alive(jailed: Jailed, world: World) -> None:
    os.kill(world.facts["host_pid"], 0)


def test_the_kernel_says_the_server_is_held(jailed: Jailed) -> None:
    assert jailed.report["held"] is True
    assert jailed.report["status"] == 0


def test_the_running_servers_mounts_are_those_of_the_plan(jailed: Jailed) -> None:
    mounts = [
        Mount(kind=MountKind(kind), destination=place, why=why)
        for kind, place, why in jailed.report["mounts"]
    ]
    assert differences(mounts, parse(jailed.report["mountinfo"])) == ()
