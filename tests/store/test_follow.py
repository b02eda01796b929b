"""An audit followed as it grows, is turned, cut, taken away and written by several runs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from chains import run_lines
from mcp_jail.core.recorded.audit import MAX_LINE_BYTES
from mcp_jail.store.follow import Following
from mcp_jail.store.journal import open_journal


@pytest.fixture
def path(tmp_path: Path) -> Path:
    tmp_path.chmod(0o700)
    return tmp_path / "files.jsonl"


@pytest.fixture
def open_now(path: Path) -> Iterator[list[Following]]:
    followings: list[Following] = []
    yield followings
    for each in followings:
        each.close()


@pytest.fixture
def follow(path: Path, open_now: list[Following]) -> Following:
    path.write_bytes(b"".join(run_lines("before", 3)))
    following = Following(str(path))
    open_now.append(following)
    return following


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def test_what_stood_there_is_not_new_and_its_end_can_be_had(follow: Following, path: Path) -> None:
    append(path, b"more\n")
    records, skipped = follow.last(2)
    assert [record.n for record in records] == [3, 4]
    assert skipped == 0
    assert follow.added() == [b"more"]
    assert follow.added() == []


def test_a_line_counts_once_it_is_whole(follow: Following, path: Path) -> None:
    append(path, b"one\ntw")
    assert follow.added() == [b"one"]
    append(path, b"o")
    assert follow.added() == []
    append(path, b"\nthree\n")
    assert follow.added() == [b"two", b"three"]


def test_a_half_line_that_stood_there_is_given_whole(path: Path, open_now: list[Following]) -> None:
    path.write_bytes(b"whole\nha")
    following = Following(str(path))
    open_now.append(following)
    append(path, b"lf\n")
    assert following.added() == [b"half"]


def test_nothing_is_lost_or_doubled_when_the_file_is_turned(follow: Following, path: Path) -> None:
    """Runs that began before write on to the file under its number."""
    old = open_journal(str(path))
    append(path, b"before\n")
    new = open_journal(str(path), rotate_bytes=1)
    old.write(b"old run\n")
    new.write(b"new run\n")
    assert (path.parent / "files.jsonl.1").exists()
    assert follow.added() == [b"before", b"old run", b"new run"]
    newer = open_journal(str(path), rotate_bytes=1)
    for journal in (old, new, newer):
        journal.write(b"again\n")
        journal.close()
    assert follow.added() == [b"again"] * 3
    assert follow.added() == []
    assert follow.troubles == []


def test_the_last_entries_are_those_of_all_files(follow: Following, path: Path) -> None:
    journal = open_journal(str(path), rotate_bytes=1)
    journal.write(b"".join(run_lines("new", 0)))
    journal.close()
    records, _ = follow.last(10)
    assert [record.run for record in records] == ["before"] * 5
    assert len(follow.added()) == 2
    records, _ = follow.last(3)
    assert [record.run for record in records] == ["before", "new", "new"]


def test_an_audit_that_is_not_there_yet_is_read_from_its_beginning(
    path: Path, open_now: list[Following]
) -> None:
    following = Following(str(path / "deep" / "x.jsonl"))
    open_now.append(following)
    assert following.last(3) == ([], 0)
    assert following.added() == []
    following = Following(str(path))
    open_now.append(following)
    append(path, b"first\n")
    assert following.added() == [b"first"]


def test_a_file_that_was_cut_is_told_and_followed_on(follow: Following, path: Path) -> None:
    os.truncate(path, 10)
    assert follow.added() == []
    assert follow.troubles == [f"audit file '{path}' was cut; its lines are not shown again"]
    append(path, b"\nafter\n")
    half, after = follow.added()
    assert (len(half), after) == (10, b"after")


def test_a_file_that_is_taken_away_is_read_to_its_end_and_a_new_one_from_its_beginning(
    follow: Following, path: Path
) -> None:
    append(path, b"last words\n")
    path.unlink()
    append(path, b"new file\n")
    assert follow.added() == [b"last words", b"new file"]
    assert follow.added() == []
    assert follow.troubles == [f"audit file '{path}' was taken away"]


def test_a_line_longer_than_any_entry_comes_cut_and_the_next_is_whole(
    follow: Following, path: Path
) -> None:
    append(path, b"x" * (MAX_LINE_BYTES + 1))
    first = follow.added()
    append(path, b"x" * 5_000_000)
    middle = follow.added()
    append(path, b"x\nafter\n")
    assert [len(line) for line in first] == [MAX_LINE_BYTES]
    assert middle == []
    assert follow.added() == [b"after"]


def test_a_long_file_comes_in_parts_and_is_read_to_its_end_though_it_is_taken_away(
    follow: Following, path: Path
) -> None:
    append(path, (b"x" * 99 + b"\n") * 300_000)
    path.unlink()
    sizes = []
    while lines := follow.added():
        sizes.append(len(lines))
    assert sum(sizes) == 300_000
    assert max(sizes) < 100_000


def test_a_link_in_the_place_of_a_file_is_told_once_and_not_read(
    follow: Following, path: Path
) -> None:
    os.symlink("/etc/passwd", f"{path}.7")
    assert follow.added() == follow.added() == []
    assert len(follow.troubles) == 1
    assert "symbolic link" in follow.troubles[0]


def test_no_descriptor_is_left_open(path: Path) -> None:
    path.write_bytes(b"x\n")
    before = len(os.listdir("/proc/self/fd"))
    following = Following(str(path))
    following.added()
    following.added()
    following.close()
    assert len(os.listdir("/proc/self/fd")) == before
