"""A place of a client that cannot be looked at is told, and is not taken for one that is not there.

For root nothing is closed: there a link to itself stands in its place.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mcp_jail.clients.health import What, look_at_clients
from mcp_jail.clients.obstacles import obstacles, why_no_file
from mcp_jail.clients.targets import ROWS
from mcp_jail.store.wrapped import note_all_wrapped
from wrap.homes import CURSOR, ClientHome
from wrap.sampled import file_of

ENTRY = file_of(time='{"command": "uvx", "args": ["mcp-server-time"]}')


def close(folder: Path) -> None:
    """Make a directory one that cannot be looked into."""
    if os.geteuid() == 0:
        folder.rename(folder.with_name("away"))
        folder.symlink_to(folder.name)
    else:
        folder.chmod(0o000)


@pytest.fixture
def closed(home: ClientHome) -> Path:
    folder = home.path / ".codex"
    home.write(".codex/config.toml", '[mcp_servers.a]\ncommand = "x"\n')
    close(folder)
    return folder


def test_a_closed_directory_of_a_client_is_told_once(home: ClientHome, closed: Path) -> None:
    (found,) = obstacles(home.circumstances().ground, ROWS)
    assert (found.path, found.row.client) == (str(closed), "codex")
    if os.geteuid() != 0:
        closed.chmod(0o700)


@pytest.mark.parametrize("is_all", [False, True])
def test_doctor_fails_by_one_where_all_are_to_be_wrapped(
    home: ClientHome, closed: Path, *, is_all: bool
) -> None:
    if is_all:
        note_all_wrapped(home.places)
    (found,) = look_at_clients(home.places, home.circumstances().ground, "/x/mcp-jail")
    assert (found.what, found.path, found.fails) == (What.UNREADABLE, str(closed), is_all)
    if os.geteuid() != 0:
        closed.chmod(0o700)


def test_doctor_fails_by_one_that_holds_a_wrapped_file(home: ClientHome) -> None:
    home.wrap(home.write(CURSOR, ENTRY))
    folder = home.path / ".cursor"
    close(folder)
    found = look_at_clients(home.places, home.circumstances().ground, "/x/mcp-jail")
    assert {(each.what, each.fails) for each in found} >= {(What.UNREADABLE, True)}
    if os.geteuid() != 0:
        folder.chmod(0o700)


def test_a_closed_directory_of_a_pattern_is_told(home: ClientHome) -> None:
    folder = home.path / ".continue" / "mcpServers"
    folder.mkdir(parents=True)
    close(folder)
    (found,) = obstacles(home.circumstances().ground, ROWS)
    assert (found.path, found.row.client) == (str(folder), "continue")
    if os.geteuid() != 0:
        folder.chmod(0o700)


def test_a_file_that_is_not_there_or_is_emptied_for_good_is_none(home: ClientHome) -> None:
    (home.path / ".cursor").mkdir()
    (home.path / CURSOR).symlink_to(os.devnull)
    assert obstacles(home.circumstances().ground, ROWS) == []


def test_what_is_no_file_is_told_by_its_kind(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    assert why_no_file(str(tmp_path / "pipe")) == "it is a pipe, no file"
    assert why_no_file(str(tmp_path)) == "it is a directory, no file"
    assert why_no_file(os.devnull) == "it is a device, no file"
    assert "symbolic links" in why_no_file(str(tmp_path / "loop"))
    assert why_no_file(str(tmp_path / "nothing")) == ""
