"""Socket files in shares are found, within limits, and can be spoken to from inside."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from driver import PYTHON, SERVERS, Home, started
from jailed import plan_for, run_inside
from mcp_jail.core.spec import Access, Share
from mcp_jail.errors import ShareError
from mcp_jail.sandbox import sockets
from mcp_jail.sandbox.sockets import DEPTH_LIMIT, SKIPPED, sockets_below
from sandbox.conftest import Planner


@contextmanager
def listening(place: Path) -> Iterator[Path]:
    """A socket that something listens on; bound by a short name, as an address is short."""
    place.parent.mkdir(parents=True, exist_ok=True)
    here = os.open(place.parent, os.O_RDONLY)
    with socket.socket(socket.AF_UNIX) as sock:
        try:
            sock.bind(f"/proc/self/fd/{here}/{place.name}")
            sock.listen()
            yield place
        finally:
            os.close(here)


@pytest.mark.parametrize("where", ["app.sock", "run/app.sock", "a/b/c/app.sock"])
def test_a_socket_below_a_share_is_told(where: str, home: Path, make: Planner) -> None:
    with listening(home / "project" / where) as place:
        assert make(read=(home / "project",)).listening == (str(place),)
        assert make(write=(home / "project",)).listening == (str(place),)


@pytest.mark.parametrize("where", ["docker.sock", "run/docker.sock", "a/b/podman.sock"])
def test_a_socket_that_commands_the_host_is_refused_however_deep(
    where: str, home: Path, make: Planner
) -> None:
    refused = pytest.raises(ShareError, match="commands this host")
    with listening(home / "project" / where), refused:
        make(read=(home / "project",))


def test_a_socket_behind_a_link_is_not_in_the_share(home: Path, make: Planner) -> None:
    with listening(home / "elsewhere/app.sock") as place:
        (home / "project").mkdir()
        (home / "project/link").symlink_to(place)
        (home / "project/folder").symlink_to(place.parent)
        assert make(read=(home / "project",)).listening == ()


def test_the_walk_has_its_limits(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = home.joinpath(*"abcdefgh"[:DEPTH_LIMIT])
    with listening(deep / "app.sock"), listening(home / "a/app.sock") as near:
        assert list(sockets_below([str(home)])) == [str(near)]
        for name in SKIPPED:
            (home / "a" / name).mkdir()
        monkeypatch.setattr(sockets, "ENTRIES_LIMIT", 1)
        assert list(sockets_below([str(home)])) == []


def test_a_read_only_share_keeps_nobody_from_connecting_so_it_is_told(home: Path) -> None:
    """The reason for all this: connect(2) does not ask whether a mount is read-only."""
    with listening(home / "p/app.sock") as place:
        script = (
            "import os, socket\n"
            f"os.chdir({str(place.parent)!r})\n"
            "with socket.socket(socket.AF_UNIX) as s:\n"
            "    s.connect('app.sock')\n"
            "    print('connected')\n"
        )
        share = Share(path=str(place.parent), access=Access.READ_ONLY, why="test")
        plan = plan_for(script, (share,), str(place.parent))
        assert run_inside(plan, b"") == b"connected\n"
        assert plan.listening == (str(place),)


def test_a_run_says_which_sockets_its_server_can_connect_to(tmp_path: Path) -> None:
    own = Home(tmp_path)
    own.write_policy("filesystem: {read_only: [~/projects]}\ntools: {default: allow}\n")
    with listening(own.projects / "app.sock") as place:
        command = ("run", "fs", "--", PYTHON, "-I", "-S", str(SERVERS / "echo.py"))
        with started(own, *command) as client:
            client.open()
            client.close()
            text = client.stderr.decode()
    assert f"connect to the socket '{place}'" in text
    assert "fs.yaml:2:" in text
