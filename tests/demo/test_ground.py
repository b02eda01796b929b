"""The ground tells what was done to it, and nothing of it is left."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from driver import wait_until
from mcp_jail.demo.ground import lay_out


@pytest.fixture(autouse=True)
def _own_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def test_a_fresh_ground_shows_nothing() -> None:
    with lay_out() as ground:
        assert ground.changed() == frozenset()
        assert ground.left_behind() == []
        assert set(ground.listeners.taken().values()) == {None}


@pytest.mark.parametrize("name", ["shell-start", "git-hook", "write-outside", "delete"])
def test_a_file_that_was_written_or_removed_shows(name: str) -> None:
    with lay_out() as ground:
        path = Path(ground.path(name))
        if name == "delete":
            path.unlink()
        else:
            path.write_text("x")
        assert ground.changed() == {name}


def test_each_secret_lies_where_it_is_looked_for_and_only_there() -> None:
    with lay_out() as ground:
        texts = [path.read_text() for path in Path(ground.place).rglob("*") if path.is_file()]
        lying = {name for name, secret in ground.secrets.items() if secret in "".join(texts)}
        assert lying == {"ssh-key", "cloud-keys"}
        assert not any(secret in ground.bait for secret in ground.secrets.values())
        assert ground.environ["GITHUB_TOKEN"] == ground.secrets["own-environment"]


def test_two_grounds_have_nothing_in_common() -> None:
    with lay_out() as one, lay_out() as other:
        assert not set(one.secrets.values()) & set(other.secrets.values())
        assert one.nonce != other.nonce


def test_nothing_is_left_of_a_ground(tmp_path: Path) -> None:
    with lay_out() as ground:
        mark = f"left-behind-{ground.nonce}"
        words = [sys.executable, "-I", "-S", "-c", "import time; time.sleep(60)", mark]
        left = subprocess.Popen(words, start_new_session=True)
        wait_until(lambda: ground.left_behind() == [left.pid])
    assert left.wait() == -9
    wait_until(lambda: ground.left_behind() == [])
    assert list(tmp_path.iterdir()) == []


def test_a_ground_is_cleared_when_the_run_fails(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), lay_out():
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("folder", ["long" * 25, "/dev/shm"], ids=["long", "devices"])
def test_a_temporary_folder_that_would_not_do_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    unfit = tmp_path / folder
    unfit.mkdir(exist_ok=True)
    monkeypatch.setattr(tempfile, "tempdir", str(unfit))
    with lay_out() as ground:
        assert not Path(ground.place).is_relative_to(unfit)
        assert ground.listeners.port("TCP")


@pytest.mark.parametrize("length", range(60, 108))
def test_a_temporary_folder_of_any_length_will_do(
    length: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "x"
    missing = length - len(str(folder))
    folder = folder.with_name("x" * max(1, missing))
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    with lay_out() as ground:
        assert Path(ground.listeners.agent).is_socket()
