"""A path is walked as the kernel walks it, and each link is written down."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from mcp_jail.sandbox.walk import Kind, see


def test_what_a_path_ends_in_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    os.mkfifo(tmp_path / "pipe")
    assert see(str(tmp_path)).kind is Kind.DIRECTORY
    assert see(str(tmp_path / "file")).kind is Kind.FILE
    assert see(str(tmp_path / "pipe")).kind is Kind.OTHER
    assert see(str(tmp_path / "none/x")).kind is Kind.MISSING
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(tmp_path / "s"))
        assert see(str(tmp_path / "s")).kind is Kind.SOCKET


@pytest.mark.parametrize("target", ["../real", "/ABSOLUTE/real", "real-too", "../a/../real"])
def test_a_link_leads_where_the_kernel_says(target: str, tmp_path: Path) -> None:
    (tmp_path / "real/deep").mkdir(parents=True)
    (tmp_path / "a").mkdir()
    (tmp_path / "a/real-too").symlink_to(tmp_path / "real")
    text = target.replace("/ABSOLUTE", str(tmp_path))
    (tmp_path / "a/link").symlink_to(text)
    seen = see(str(tmp_path / "a/link/deep"))
    assert seen.real == os.path.realpath(tmp_path / "a/link/deep")
    assert (seen.links[0].path, seen.links[0].target) == (str(tmp_path / "a/link"), text)
    status = (tmp_path / "real/deep").stat()
    assert seen.identity == (status.st_dev, status.st_ino)


def test_dots_after_a_link_count_from_its_target(tmp_path: Path) -> None:
    (tmp_path / "one/two").mkdir(parents=True)
    (tmp_path / "link").symlink_to("one/two")
    assert see(str(tmp_path / "link/..")).real == str(tmp_path / "one")


def test_a_circle_of_links_ends_and_is_missing(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    assert see(str(tmp_path / "a")).kind is Kind.MISSING


def test_a_link_to_nothing_is_missing_and_written_down(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("/oldroot/etc")
    seen = see(str(tmp_path / "a/x"))
    assert seen.kind is Kind.MISSING
    assert seen.links[0].target == "/oldroot/etc"


def test_above_the_root_is_the_root() -> None:
    assert see("/../..").real == "/"
