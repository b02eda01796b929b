"""What is done to an audit file is found, and at which line."""

from __future__ import annotations

from hashlib import sha256

import pytest

from chains import run_lines
from mcp_jail.core.recorded.audit import Anchor
from mcp_jail.core.recorded.verify import Report, RunState, verify

WHOLE = [line.rstrip(b"\n") for line in run_lines("one", 5)]


def check(lines: list[bytes]) -> Report:
    """Verify lines with anchors looked up among them, as a file does."""
    content = b"\n".join(lines) + b"\n"

    def holds(anchor: Anchor) -> bool:
        last = content[: anchor.offset].removesuffix(b"\n").rpartition(b"\n")[2]
        return sha256(last).hexdigest() == anchor.sha256

    return verify(lines, holds)


def first_break(lines: list[bytes]) -> tuple[int, str]:
    found = check(lines).breaks[0]
    return found.line, found.message


def test_a_changed_verdict_is_found_at_its_line() -> None:
    lines = [*WHOLE]
    lines[3] = lines[3].replace(b'"allow"', b'"deny!"')
    assert first_break(lines) == (
        4,
        "does not match its hash: this entry or the one before it was changed",
    )


def test_a_change_of_the_very_last_entry_is_found() -> None:
    assert first_break([*WHOLE[:-1], WHOLE[-1].replace(b"2000", b"2001")])[0] == 7


def test_an_entry_changed_with_its_own_hash_made_anew_is_found_at_the_next_one() -> None:
    changed = WHOLE[3].replace(b'"allow"', b'"deny!"')
    previous = bytes.fromhex(WHOLE[2][-66:-2].decode())
    sealed = changed[:-76]
    forged = sealed + b',"hash":"' + sha256(previous + sealed).hexdigest().encode() + b'"}'
    assert first_break([*WHOLE[:3], forged, *WHOLE[4:]])[0] == 5


def test_a_removed_entry_is_found() -> None:
    assert first_break(WHOLE[:2] + WHOLE[3:]) == (3, "entry 2 is missing before this one")
    assert first_break(WHOLE[:2] + WHOLE[5:]) == (3, "entries 2 to 4 are missing before this one")


def test_two_entries_that_changed_places_are_found() -> None:
    lines = [*WHOLE]
    lines[2], lines[3] = lines[3], lines[2]
    assert first_break(lines) == (3, "entry 2 is missing before this one")


def test_a_doubled_entry_is_found() -> None:
    lines = [*WHOLE[:3], WHOLE[2], *WHOLE[3:]]
    assert first_break(lines) == (4, "entry 2 stands here again or out of order")


def test_a_removed_start_is_found() -> None:
    assert first_break(WHOLE[1:]) == (1, "the run begins with entry 1; its start is missing")


def test_an_entry_behind_the_end_is_found() -> None:
    lines = [*WHOLE, WHOLE[-1].replace(b'"n":6', b'"n":7')]
    assert first_break(lines)[0] == 8


@pytest.mark.parametrize(
    "line", [b"garbage", b"[]", b"{}", b'{"v":1}x', b"\xff\xfe", b'{"v":1,"t":"x"}', b"null", b"["]
)
def test_a_line_that_is_no_entry_is_found(line: bytes) -> None:
    assert check([*WHOLE[:3], line, *WHOLE[3:]]).state is RunState.BROKEN


def test_an_unknown_version_is_found_and_named() -> None:
    lines = [*WHOLE, b'{"v":2,"something":"new"}']
    assert first_break(lines) == (8, "version 2 is unknown, expected 1")


def test_a_run_cut_at_its_tail_is_open_and_not_broken() -> None:
    report = check(WHOLE[:4])
    assert report.state is RunState.OPEN
    assert report.runs[0].last_line == 4
    assert report.broken == 0


@pytest.mark.parametrize("length", [1, 5, 11, 14, 24, 40, 200])
def test_half_a_line_at_the_end_of_a_run_is_what_a_crash_leaves(length: int) -> None:
    report = check([*WHOLE[:4], WHOLE[4][:length], *split(run_lines("two", 1))])
    assert [run.state for run in report.runs] == [RunState.OPEN, RunState.OK]
    assert report.broken == 0


def test_half_a_line_that_its_run_goes_on_after_is_a_break() -> None:
    assert check([*WHOLE[:4], WHOLE[4][:60], *WHOLE[4:]]).state is RunState.BROKEN
    assert check([*WHOLE[:4], WHOLE[4][:60], *WHOLE[5:]]).state is RunState.BROKEN


def test_a_last_entry_with_a_broken_quote_does_not_pass_for_half_a_line() -> None:
    for at in range(len(WHOLE[-1])):
        changed = WHOLE[-1][:at] + b"!" + WHOLE[-1][at + 1 :]
        assert check([*WHOLE[:-1], changed]).state is RunState.BROKEN, at


def test_a_run_removed_whole_is_found_by_the_anchor_of_a_later_one() -> None:
    lines = after(WHOLE, "two")
    assert check([*WHOLE, *lines]).state is RunState.OK
    later = after([*WHOLE, *lines], "three")
    assert check([*WHOLE, *lines, *later]).state is RunState.OK
    line, message = first_break([*WHOLE, *later])
    assert line == 8
    assert "lies behind it" in message


def test_a_tail_cut_before_a_later_start_is_found_by_its_anchor() -> None:
    lines = after(WHOLE[:5], "two")
    assert check([*WHOLE[:5], *lines]).state is RunState.OPEN
    assert check([*WHOLE[:4], *lines]).state is RunState.BROKEN


def test_an_earlier_file_that_is_gone_is_told_and_is_no_break() -> None:
    lines = split(run_lines("two", 1, anchor=Anchor(100, "ab" * 32, "files.jsonl.1")))
    report = verify(lines, lambda _: None)
    assert report.state is RunState.OK
    assert report.runs[0].archived


def test_many_breaks_are_counted_and_the_first_hundred_told() -> None:
    report = check([b"x"] * 1000)
    assert report.broken == 1000
    assert len(report.breaks) == 100


def test_a_file_without_lines_is_whole() -> None:
    assert check([]).state is RunState.OK


def split(lines: list[bytes]) -> list[bytes]:
    return [line.rstrip(b"\n") for line in lines]


def after(lines: list[bytes], run: str) -> list[bytes]:
    """A run that starts where these lines end."""
    offset = sum(len(line) + 1 for line in lines)
    return split(run_lines(run, 2, anchor=Anchor(offset, sha256(lines[-1]).hexdigest())))
