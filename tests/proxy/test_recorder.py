"""Entries that are held and entries that are written, in a real journal."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_jail.core.recorded.audit import Chain, Entry, Kind, read_record
from mcp_jail.core.recorded.verify import RunState
from mcp_jail.proxy.recorder import HELD_LIMIT, Recorder
from mcp_jail.store.history import verify_file
from mcp_jail.store.journal import open_journal


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "state" / "files.jsonl")


def recorder_of(path: str, times: list[int]) -> Recorder:
    journal = open_journal(path)
    return Recorder(Chain("r", journal.anchor), journal, lambda: times.pop(0))


def test_what_is_held_keeps_its_place_and_time_and_comes_with_the_next_write(path: str) -> None:
    recorder = recorder_of(path, [1, 2, 3, 4])
    recorder.append([Entry(kind=Kind.START, name="files")])
    recorder.hold([Entry(kind=Kind.RESULT, name="one")])
    recorder.hold([Entry(kind=Kind.RESULT, name="two")])
    assert Path(path).read_bytes().count(b"\n") == 1
    recorder.append([Entry(kind=Kind.END)])
    recorder.close()
    records = [read_record(line) for line in Path(path).read_bytes().splitlines()]
    assert [(record.name, record.t) for record in records] == [
        ("files", 1),
        ("one", 2),
        ("two", 3),
        ("", 4),
    ]
    assert verify_file(path).state is RunState.OK


def test_what_is_held_is_written_by_itself_when_asked_and_only_once(path: str) -> None:
    recorder = recorder_of(path, [1, 2, 3, 4])
    recorder.append([Entry(kind=Kind.START)])
    recorder.hold([Entry(kind=Kind.RESULT, name="one")])
    recorder.append()
    assert Path(path).read_bytes().count(b'"one"') == 1
    recorder.append([Entry(kind=Kind.END)])
    assert Path(path).read_bytes().count(b'"one"') == 1


def test_much_that_is_held_asks_to_be_written(path: str) -> None:
    recorder = recorder_of(path, [1] * 4)
    recorder.append([Entry(kind=Kind.START)])
    recorder.hold([Entry(kind=Kind.RESULT, name="x" * 1000)])
    before = recorder.is_full
    recorder.hold([Entry(kind=Kind.RESULT, name="x" * 1000)] * (HELD_LIMIT // 1000))
    after = recorder.is_full
    recorder.append()
    assert [before, after, recorder.is_full] == [False, True, False]


def test_secrets_are_taken_out_of_what_is_recorded_once_they_are_known(path: str) -> None:
    recorder = recorder_of(path, [1, 2, 3])
    recorder.hide(lambda text: text.replace("hunter-2", "[redacted]"))
    recorder.append([Entry(kind=Kind.START, name="files", detail={"command": ["x", "hunter-2"]})])
    recorder.hold([Entry(kind=Kind.RESULT, reason="it said hunter-2")])
    recorder.append([Entry(kind=Kind.END)])
    recorder.close()
    assert b"hunter-2" not in Path(path).read_bytes()
    assert verify_file(path).state is RunState.OK
