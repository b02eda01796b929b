"""One question to the kernel, and the same answer without openat2."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mcp_jail.sandbox.straight import is_called_so, is_straight

WAYS = pytest.mark.parametrize("ask", [is_straight, is_called_so], ids=["openat2", "without"])


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = Path(os.path.realpath(tmp_path))
    (folder / "real" / "deep").mkdir(parents=True)
    (folder / "real" / "file").write_text("x")
    (folder / "link").symlink_to(folder / "real")
    (folder / "real" / "to-file").symlink_to("file")
    (folder / "dangling").symlink_to("nowhere")
    (folder / "self").symlink_to(".")
    return folder


@WAYS
@pytest.mark.parametrize("path", ["real", "real/file", "real/deep", ""])
def test_a_path_without_a_link_is_straight(tree: Path, path: str, ask: object) -> None:
    assert callable(ask)
    assert ask(str(tree / path)) is True


@WAYS
@pytest.mark.parametrize(
    "path", ["link", "link/file", "real/to-file", "dangling", "self", "self/real", "link/deep"]
)
def test_a_link_anywhere_is_seen(tree: Path, path: str, ask: object) -> None:
    assert callable(ask)
    assert ask(str(tree / path)) is False


@WAYS
@pytest.mark.parametrize("path", ["missing", "real/missing", "real/missing/deeper"])
def test_what_is_missing_is_said_to_be(tree: Path, path: str, ask: object) -> None:
    assert callable(ask)
    with pytest.raises(FileNotFoundError):
        ask(str(tree / path))


@WAYS
def test_a_file_with_something_below_is_not_straight(tree: Path, ask: object) -> None:
    assert callable(ask)
    assert ask(str(tree / "real" / "file" / "below")) is False


@WAYS
def test_no_descriptor_is_left_open_by_a_question(tree: Path, ask: object) -> None:
    assert callable(ask)
    ask(str(tree))
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        ask(str(tree / "real"))
        ask(str(tree / "link"))
    assert len(os.listdir("/proc/self/fd")) == before
