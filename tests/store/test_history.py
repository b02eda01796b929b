"""Audit files read back, from either end, and their anchors."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from chains import run_lines
from mcp_jail.core.recorded.audit import MAX_LINE_BYTES, Anchor, Kind, read_record
from mcp_jail.core.recorded.verify import RunState
from mcp_jail.errors import AuditError, ExitCode
from mcp_jail.store.history import (
    anchor_holds,
    current_anchor,
    files_of,
    last_entries,
    lines_of,
    open_all,
    read_lines,
    read_records,
    verify_file,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "files.jsonl"


def test_lines_are_read_whole_across_blocks(path: Path) -> None:
    lines = [b"x" * length for length in (1, 200_000, 0, 250_000, 3, 240_000, 249_999, 230_000)] * 3
    path.write_bytes(b"\n".join(lines))
    assert list(read_lines(str(path))) == lines


def test_a_line_longer_than_any_entry_is_cut_and_fills_no_memory(path: Path) -> None:
    path.write_bytes(b"before\n" + b"x" * 30_000_000 + b"\nafter\n" + b"y" * 30_000_000)
    lengths = [len(line) for line in read_lines(str(path))]
    assert lengths == [6, MAX_LINE_BYTES, 5, MAX_LINE_BYTES]


def test_the_last_entries_are_found_from_the_end_over_all_files(path: Path) -> None:
    one, two = run_lines("one", 5_000), run_lines("two", 1)
    (path.parent / "files.jsonl.2").write_bytes(b"".join(one))
    (path.parent / "files.jsonl.10").write_bytes(b"garbage\n" + b"".join(two))
    path.write_bytes(b"")
    records = last_entries(str(path), 5).records
    assert [(record.run, record.kind) for record in records] == [
        ("one", Kind.CALL),
        ("one", Kind.END),
        ("two", Kind.START),
        ("two", Kind.CALL),
        ("two", Kind.END),
    ]
    assert len(last_entries(str(path), 1_000_000).records) == 5_002 + 3
    assert last_entries(str(path), 0).records == []


def test_entries_are_read_and_other_lines_left_out(path: Path) -> None:
    path.write_bytes(b"garbage\n" + b"".join(run_lines("one", 2)) + b'{"v":1,"t":1')
    assert [record.n for record in read_records(str(path))] == [0, 1, 2, 3]


def test_an_anchor_holds_as_long_as_what_it_stood_for(path: Path) -> None:
    lines = run_lines("one", 3)
    path.write_bytes(b"".join(lines))
    anchor = current_anchor(str(path))
    assert anchor.file == "files.jsonl"
    assert anchor_holds(str(path), anchor)
    path.write_bytes(b"".join([*lines, *run_lines("two", 1)]))
    assert anchor_holds(str(path), anchor)
    path.write_bytes(b"".join(run_lines("other", 3)))
    assert not anchor_holds(str(path), anchor)
    path.write_bytes(b"".join(lines[:-1]))
    assert not anchor_holds(str(path), anchor)


def test_an_anchor_in_a_file_that_is_gone_is_told_apart(path: Path) -> None:
    path.write_bytes(b"")
    assert anchor_holds(str(path), Anchor(5, "ab", "files.jsonl.1")) is None


def test_an_anchor_does_not_lead_out_of_the_folder(path: Path) -> None:
    path.write_bytes(b"")
    assert anchor_holds(str(path), Anchor(5, "ab", "../../etc/passwd")) is None


def test_a_file_that_is_missing_or_cannot_be_read_ends_with_5(path: Path) -> None:
    with pytest.raises(AuditError) as caught:
        files_of(str(path))
    assert caught.value.exit_code is ExitCode.AUDIT
    os.symlink("/etc/passwd", path)
    with pytest.raises(AuditError, match="symbolic link"):
        verify_file(str(path))


def test_an_empty_file_is_whole(path: Path) -> None:
    path.write_bytes(b"")
    assert verify_file(str(path)).state is RunState.OK
    assert current_anchor(str(path)) == Anchor(file="files.jsonl")


def test_a_file_that_cannot_be_read_hides_no_other(path: Path) -> None:
    path.write_bytes(b"".join(run_lines("one", 2)))
    Path(f"{path}.1").mkdir()
    Path(f"{path}.2").write_bytes(b"".join(run_lines("old", 2)))
    last = last_entries(str(path), 100)
    assert [record.run for record in last.records] == ["old"] * 4 + ["one"] * 4
    (trouble,) = last.troubles
    assert f"{path}.1" in trouble.message


def test_a_line_nested_beyond_reading_is_no_entry(path: Path) -> None:
    deep = b'{"v":1,"detail":{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}}\n"
    path.write_bytes(deep + b"".join(run_lines("one", 1)))
    last = last_entries(str(path), 100)
    assert (len(last.records), last.skipped, last.troubles) == (3, 1, [])
    assert verify_file(str(path)).breaks[0].message == "this line is not an entry"


def test_a_file_that_gets_its_number_meanwhile_is_read_once(path: Path) -> None:
    path.write_bytes(b"".join(run_lines("old", 2)))
    before = os.stat(path).st_ino
    files, troubles = open_all(str(path))
    path.rename(f"{path}.1")
    path.write_bytes(b"".join(run_lines("new", 2)))
    runs = [read_record(line).run for file in files for line in lines_of(file)]
    assert (runs, troubles) == (["old"] * 4, [])
    files, _ = open_all(str(path))
    assert [os.fstat(file.descriptor).st_ino == before for file in files] == [True, False]
    runs = [read_record(line).run for file in files for line in lines_of(file)]
    assert runs == ["old"] * 4 + ["new"] * 4
