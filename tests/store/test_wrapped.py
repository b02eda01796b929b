"""What is known of clients' files is kept whole, and no damaged record is believed."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from mcp_jail.store.files import FileError
from mcp_jail.store.places import Places, find_places
from mcp_jail.store.wrapped import (
    MAX_STEPS,
    Remembered,
    Step,
    Undo,
    WrappedEntry,
    WrappedFile,
    all_wrapped,
    forget_all_wrapped,
    is_all_wrapped,
    note_all_wrapped,
    read_wrapped,
    write_wrapped,
)

ENTRY = WrappedEntry(
    ("projects", "/p", "mcpServers", 0), "cursor", "fs", "says", Remembered(line="x y")
)


@pytest.fixture
def places(tmp_path: Path) -> Places:
    tmp_path.chmod(0o700)
    return find_places({"HOME": str(tmp_path)})


def step(before: str, after: str) -> Step:
    return Step(before, after, (Undo(1, 2, "three"),), (ENTRY.path,))


def record(places: Places) -> Path:
    (path,) = (Path(places.state) / "clients").glob("*.json")
    return path


def test_what_is_written_is_read_and_private(places: Places) -> None:
    known = WrappedFile("/a/b.json", (step("x", "y"),), (ENTRY,), ("mark",))
    write_wrapped(places, known)
    assert read_wrapped(places, "/a/b.json") == known
    assert all_wrapped(places) == ([known], [])
    assert stat.S_IMODE(record(places).stat().st_mode) == 0o600


def test_of_a_file_that_was_never_wrapped_nothing_is_known(places: Places) -> None:
    assert read_wrapped(places, "/a") == WrappedFile("/a")
    assert all_wrapped(places) == ([], [])


def test_a_record_of_nothing_is_removed(places: Places) -> None:
    write_wrapped(places, WrappedFile("/a", (), (ENTRY,)))
    write_wrapped(places, WrappedFile("/a"))
    assert os.listdir(Path(places.state) / "clients") == []
    write_wrapped(places, WrappedFile("/a"))


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"path": 1}', b'{"v": 3}', b'{"v": 2, "seal": "\xc3\xa9"}']
)
def test_a_damaged_record_is_told(places: Places, content: bytes) -> None:
    write_wrapped(places, WrappedFile("/a", (), (ENTRY,)))
    record(places).write_bytes(content)
    with pytest.raises(FileError, match=r"damaged|version|not as"):
        read_wrapped(places, "/a")


@pytest.mark.parametrize("part", ["x y", "says", "three", '"y"', "cursor"])
def test_a_record_that_somebody_edited_is_refused(places: Places, part: str) -> None:
    write_wrapped(places, WrappedFile("/a", (step("x", "y"),), (ENTRY,)))
    content = record(places).read_text()
    record(places).write_text(content.replace(part, part.replace(part[1], "q"), 1))
    with pytest.raises(FileError, match="not as mcp-jail wrote it"):
        read_wrapped(places, "/a")
    found, (wrong,) = all_wrapped(places)
    assert (found, wrong.hint[:3]) == ([], "rm ")


def test_a_record_of_another_file_is_refused(places: Places) -> None:
    write_wrapped(places, WrappedFile("/a", (), (ENTRY,)))
    content = record(places).read_bytes()
    write_wrapped(places, WrappedFile("/a"))
    write_wrapped(places, WrappedFile("/b", (), (ENTRY,)))
    record(places).write_bytes(content)
    with pytest.raises(FileError, match="not as mcp-jail wrote it"):
        read_wrapped(places, "/b")


def test_steps_count_only_as_far_as_they_lead_to_the_file(places: Places) -> None:
    known = WrappedFile("/a", (step("w", "other"), step("x", "y"), step("y", "z")))
    assert [each.before for each in known.chain_to("z")] == ["x", "y"]
    assert known.chain_to("y") == ()
    assert WrappedFile("/a").chain_to("z") == ()


def test_the_number_of_steps_is_limited(places: Places) -> None:
    steps = tuple(step(str(number), str(number + 1)) for number in range(MAX_STEPS + 5))
    write_wrapped(places, WrappedFile("/a", steps))
    assert read_wrapped(places, "/a").steps == steps[-MAX_STEPS:]


def test_that_all_clients_were_meant_is_remembered(places: Places) -> None:
    assert not is_all_wrapped(places)
    note_all_wrapped(places)
    assert is_all_wrapped(places)
    assert all_wrapped(places) == ([], [])
    forget_all_wrapped(places)
    forget_all_wrapped(places)
    assert not is_all_wrapped(places)
