"""Sockets with a path, however deep it is, for one user alone."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from mcp_jail.errors import JailError
from mcp_jail.store.sockets import connect, listen


@pytest.fixture
def deep(tmp_path: Path) -> Path:
    folder = tmp_path / ("d" * 100) / ("e" * 100)
    folder.mkdir(parents=True)
    return folder / "x.sock"


def test_a_deep_path_can_be_listened_at_and_reached(deep: Path) -> None:
    with listen(str(deep), backlog=1) as listener, connect(str(deep), timeout=30) as connection:
        accepted, _ = listener.accept()
        with accepted:
            accepted.sendall(b"x")
            assert connection.recv(1) == b"x"
    assert stat.S_IMODE(deep.stat().st_mode) == 0o600


def test_what_lay_there_of_a_dead_run_is_replaced(deep: Path) -> None:
    listen(str(deep), backlog=1).close()
    listen(str(deep), backlog=1).close()


def test_a_folder_that_is_not_there_is_an_error_in_words(tmp_path: Path) -> None:
    with pytest.raises(JailError, match="cannot listen at"):
        listen(str(tmp_path / "none" / "x.sock"), backlog=1)


def test_nobody_listens_at_a_plain_file(tmp_path: Path) -> None:
    (tmp_path / "x.sock").write_text("")
    with pytest.raises(OSError, match="refused"):
        connect(str(tmp_path / "x.sock"), timeout=1)
