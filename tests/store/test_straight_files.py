"""No link is followed on the way to a file in a directory that somebody else writes too."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from mcp_jail.store.files import FileError
from mcp_jail.store.straight_files import read_straight, replace_straight


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "file.json").write_text("before")
    (tmp_path / "linked").symlink_to("real")
    (tmp_path / "real" / "link.json").symlink_to("file.json")
    (tmp_path / "real" / "dangling.json").symlink_to("nowhere.json")
    os.mkfifo(tmp_path / "real" / "pipe.json")
    return tmp_path


def test_a_file_is_read_and_replaced_whole(place: Path) -> None:
    path = str(place / "real" / "file.json")
    assert read_straight(path, limit=100) == b"before"
    replace_straight(path, b"after", mode=0o644)
    assert read_straight(path, limit=100) == b"after"
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o644
    assert not [each for each in os.listdir(place / "real") if each.endswith(".new")]
    with pytest.raises(FileError, match="larger than 2 bytes"):
        read_straight(path, limit=2)


@pytest.mark.parametrize("name", ["linked/file.json", "linked/new.json"])
def test_no_directory_is_reached_by_a_link(place: Path, name: str) -> None:
    with pytest.raises(FileError, match="symbolic link"):
        read_straight(str(place / name), limit=100)
    with pytest.raises(FileError, match="symbolic link"):
        replace_straight(str(place / name), b"after", mode=0o644)
    assert (place / "real" / "file.json").read_text() == "before"
    assert not (place / "real" / "new.json").exists()


@pytest.mark.parametrize("name", ["link.json", "dangling.json"])
def test_a_link_in_the_files_place_is_not_read(place: Path, name: str) -> None:
    with pytest.raises(FileError, match="symbolic link"):
        read_straight(str(place / "real" / name), limit=100)


def test_what_is_no_plain_file_is_not_read(place: Path) -> None:
    with pytest.raises(FileError, match="not a plain file"):
        read_straight(str(place / "real" / "pipe.json"), limit=100)
    with pytest.raises(FileNotFoundError):
        read_straight(str(place / "real" / "none.json"), limit=100)
    with pytest.raises(FileNotFoundError):
        replace_straight(str(place / "none" / "file.json"), b"", mode=0o644)
