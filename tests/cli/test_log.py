"""`mcp-jail log`: reading and checking the audit."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

import pytest

from chains import run_lines
from mcp_jail.cli import log
from mcp_jail.errors import UsageError
from mcp_jail.store.places import find_places


@pytest.fixture
def state() -> Path:
    folder = Path(find_places().state)
    folder.mkdir(mode=0o700, parents=True)
    return folder


def run(*words: str) -> int:
    parser = argparse.ArgumentParser()
    log.add_arguments(parser)
    return log.run(parser.parse_args(words))


def write(state: Path, name: str, lines: list[bytes]) -> Path:
    path = state / f"{name}.jsonl"
    path.write_bytes(b"".join(lines))
    return path


def test_a_changed_entry_is_told_with_its_line_and_ends_with_1(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = run_lines("one", 3)
    lines[2] = lines[2].replace(b'"allow"', b'"deny!"')
    write(state, "files", lines)
    assert run("files", "--verify") == 1
    out = capsys.readouterr().out
    assert "broken  run one" in out
    assert "line 3: does not match its hash" in out


def test_whole_and_open_runs_end_with_0_and_an_open_one_says_what_it_may_be(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(state, "files", [*run_lines("one", 3), *run_lines("two", 1, end=False)])
    assert run("files", "--verify") == 0
    out = capsys.readouterr().out
    assert "ok      run one" in out
    assert "no end (running, crashed, or cut off after line 7)" in out


def test_what_no_check_can_find_is_said_out_loud(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(state, "files", run_lines("one", 3))
    run("files", "--verify")
    out = " ".join(capsys.readouterr().out.split())
    assert "A file rewritten whole by somebody with your user's rights shows nothing" in out


def test_a_full_rewrite_is_found_by_an_anchor_kept_elsewhere(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(state, "files", run_lines("one", 3))
    assert run("files", "--anchor") == 0
    anchor = capsys.readouterr().out.strip()
    write(state, "files", [*run_lines("one", 3), *run_lines("two", 3)])
    assert run("files", "--verify", "--against", anchor) == 0
    path.rename(state / "files.jsonl.1")
    write(state, "files", [])
    assert run("files", "--verify", "--against", anchor) == 0
    write(state, "files", run_lines("one", 30))
    (state / "files.jsonl.1").unlink()
    assert run("files", "--verify") == 0
    assert run("files", "--verify", "--against", anchor) == 1


def test_an_audit_that_cannot_be_read_ends_with_5_and_does_not_hide_the_others(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    os.symlink("/etc/passwd", state / "bad.jsonl")
    write(state, "files", run_lines("one", 3))
    assert run("--verify") == 5
    captured = capsys.readouterr()
    assert "symbolic link" in captured.err
    assert "ok      run one" in captured.out
    assert run("bad") == 5


def test_a_policy_that_has_not_run_has_no_entries_which_is_no_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    policies = Path(find_places().policies)
    policies.mkdir(mode=0o700, parents=True)
    (policies / "files.yaml").write_text("name: files\n")
    assert run("files") == 0
    assert run() == 0
    assert capsys.readouterr().out == "no entries yet\n" * 2
    with pytest.raises(UsageError, match="no policy named 'filse'"):
        run("filse")
    assert run("files", "--verify") == 5  # it may have been taken away


def test_lines_that_are_no_entries_are_counted(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = run_lines("one", 1)
    write(state, "files", [lines[0], b"half a line\n", *lines[1:]])
    assert run("files") == 0
    assert "1 line is no entry; see mcp-jail log files --verify" in capsys.readouterr().err


def test_no_entries_at_all_cannot_be_asked_for() -> None:
    with pytest.raises(UsageError, match="shows no entry"):
        run("files", "-n", "0")


def test_one_is_said_as_one(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(state, "files", run_lines("one", 0, end=False))
    assert run("files", "--verify") == 0
    assert "1 entry of 1 run\n" in capsys.readouterr().out


def test_the_last_entries_are_shown(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(state, "files", run_lines("one", 30))
    assert run("files", "-n", "2") == 0
    first, second = capsys.readouterr().out.splitlines()
    assert "call   allow write_file" in first
    assert "end" in second
    assert first.endswith('{"path":"/home/me/notes.txt"}')  # nothing is cut off a terminal


def test_entries_of_all_servers_come_in_the_order_of_time(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(state, "a", run_lines("one", 1))
    write(state, "b", run_lines("two", 1))
    assert run() == 0
    names = [line.split()[2] for line in capsys.readouterr().out.splitlines()]
    assert names == ["a", "b", "a", "b", "a", "b"]


def test_entries_for_a_program_are_one_object_a_line(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(state, "files", run_lines("one", 1))
    assert run("--json", "-n", "3") == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [each["kind"] for each in found] == ["start", "call", "end"]
    assert {each["audit"] for each in found} == {"files"}


def test_a_check_for_a_program_is_one_object_a_file(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(state, "files", run_lines("one", 1))
    assert run("--json", "--verify") == 0
    report = json.loads(capsys.readouterr().out)
    assert report["state"] == "ok"
    assert report["runs"][0]["state"] == "ok"


def test_many_whole_runs_are_counted_and_the_last_ones_listed(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(state, "files", [line for n in range(50) for line in run_lines(f"run{n}", 0)])
    assert run("files", "--verify") == 0
    out = capsys.readouterr().out
    assert "30 earlier runs" in out
    assert "run run49 " in out
    assert "run run29 " not in out


def test_the_audit_of_a_policy_that_moves_it_is_found(
    state: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policies = Path(find_places().policies)
    policies.mkdir(mode=0o700, parents=True)
    (policies / "files.yaml").write_text(f"name: files\naudit: {{path: {tmp_path}/moved.jsonl}}\n")
    (tmp_path / "moved.jsonl").write_bytes(b"".join(run_lines("one", 0)))
    assert run("files") == 0
    assert "start" in capsys.readouterr().out


@pytest.mark.parametrize("words", [["--against", "x"], ["files", "--against", "x"]])
def test_an_anchor_without_a_check_is_a_mistake(words: list[str], state: Path) -> None:
    with pytest.raises(UsageError):
        run(*words)


@pytest.mark.parametrize("anchor", ["", "x", "files files.jsonl ten ab", "a b c d e"])
def test_a_text_that_is_no_anchor_is_a_mistake(anchor: str, state: Path) -> None:
    write(state, "files", run_lines("one", 0))
    with pytest.raises(UsageError, match="this is no anchor"):
        run("files", "--verify", "--against", anchor)


@pytest.mark.parametrize("words", [(), ("--json",), ("--anchor",)])
def test_one_audit_that_cannot_be_read_hides_no_entry_of_the_others(
    words: tuple[str, ...], state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(state, "good", run_lines("one", 1))
    (state / "bad.jsonl").mkdir()
    assert run(*words) == 5
    shown = capsys.readouterr()
    assert "good" in shown.out
    assert "bad.jsonl" in shown.err


@pytest.mark.parametrize("other", ["--verify", "--json"])
def test_an_anchor_to_keep_goes_with_no_other_form(other: str, state: Path) -> None:
    write(state, "files", run_lines("one", 1))
    with pytest.raises(UsageError, match="it goes with no other form"):
        run("files", "--anchor", other)
