"""Entries printed in order, and a log that is followed by a real command until somebody ends it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from chains import CALL, run_lines, sealed
from driver import MCP_JAIL, Home, wait_until
from mcp_jail.cli.entries import Found, in_order
from mcp_jail.core.recorded.audit import Record, read_record
from mcp_jail.store.journal import open_journal
from terminal import terminal


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path)
    made.state.mkdir(mode=0o700, parents=True)
    made.state.parent.chmod(0o700)
    made.write_policy("tools: {default: deny}\n")
    return made


class Follower:
    """`mcp-jail log --follow` whose output lies in files."""

    def __init__(self, process: subprocess.Popen[bytes], out: Path, err: Path) -> None:
        self.process = process
        self._out, self._err = out, err

    @property
    def lines(self) -> list[str]:
        return self._out.read_text().splitlines()

    @property
    def told(self) -> str:
        return self._err.read_text()

    def wait_for(self, count: int) -> None:
        wait_until(lambda: len(self.lines) >= count or self.process.poll() is not None)
        assert len(self.lines) >= count, self.told


@contextmanager
def following(home: Home, *words: str) -> Iterator[Follower]:
    out, err = home.path / "out", home.path / "err"
    with out.open("wb") as stdout, err.open("wb") as stderr:
        process = subprocess.Popen(
            [MCP_JAIL, "log", "--follow", *words],
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            env=home.environ(),
        )
        try:
            yield Follower(process, out, err)
        finally:
            process.kill()
            process.wait()


def append(home: Home, name: str, lines: list[bytes]) -> None:
    journal = open_journal(str(home.state / f"{name}.jsonl"))
    journal.write(b"".join(lines))
    journal.close()


def test_a_log_is_followed_over_runs_and_a_turn_of_the_file_in_the_order_they_were_written(
    home: Home,
) -> None:
    first = run_lines("one", 30)
    append(home, "fs", first[:10])
    with following(home, "fs", "-n", "2", "--json") as log:
        log.wait_for(2)
        old = open_journal(str(home.state / "fs.jsonl"))
        old.write(first[10])
        log.wait_for(3)
        new = open_journal(str(home.state / "fs.jsonl"), rotate_bytes=1)
        new.write(run_lines("two", 0)[0])
        old.write(b"".join(first[11:]))
        for journal in (old, new):
            journal.close()
        log.wait_for(2 + 22 + 1)
        found = [json.loads(line) for line in log.lines]
    assert [each["n"] for each in found if each["run"] == "one"] == list(range(8, 32))
    assert [each["n"] for each in found if each["run"] == "two"] == [0]
    assert log.told == ""


def test_a_log_is_followed_from_now_on(home: Home) -> None:
    lines = run_lines("one", 5_000)
    append(home, "fs", lines[:10])
    later = iter(lines[10:])
    with following(home, "fs", "-n", "0", "--json") as log:

        def comes() -> bool:
            append(home, "fs", [next(later)])
            return bool(log.lines) or log.process.poll() is not None

        wait_until(comes)
        assert json.loads(log.lines[0])["n"] >= 10
    assert log.told == ""


def test_servers_that_are_new_are_followed_too(home: Home) -> None:
    append(home, "fs", run_lines("one", 0))
    with following(home) as log:
        log.wait_for(2)
        append(home, "other", run_lines("two", 1))
        log.wait_for(5)
        append(home, "fs", run_lines("three", 0))
        log.wait_for(7)
    assert [line.split()[2] for line in log.lines] == ["fs"] * 2 + ["other"] * 3 + ["fs"] * 2


def test_a_policy_that_has_not_run_is_waited_for(home: Home) -> None:
    with following(home, "fs") as log:
        append(home, "fs", run_lines("one", 0))
        log.wait_for(2)
    assert log.told == ""


def test_broken_lines_and_a_broken_chain_are_told_and_everything_else_is_shown(home: Home) -> None:
    lines = run_lines("one", 6)
    append(home, "fs", lines[:2])
    with following(home, "fs") as log:
        log.wait_for(2)
        lines[4] = lines[4].replace(b'"allow"', b'"allov"')
        broken = [*lines[2:4], b"\x1b[2J half a line\n", *lines[4:6], lines[7]]
        append(home, "fs", broken)
        log.wait_for(7)
        wait_until(lambda: log.told.count("\n") == 3)
    no_entry, changed, missing = log.told.splitlines()
    assert no_entry == "mcp-jail: warning: fs: a line is no entry: \\u{1b}[2J half a line"
    assert "fs: entry 4 or the one before it is not as it was written (run one)" in changed
    assert "fs: entry 7 stands where entry 6 should (run one); see --verify" in missing
    assert len(log.lines) == 7


def test_ctrl_c_ends_it_cleanly(home: Home) -> None:
    append(home, "fs", run_lines("one", 0))
    with terminal([MCP_JAIL, "log", "--follow"], home.environ(TERM="dumb"), home.path) as screen:
        screen.wait_for("end")
        os.kill(screen.process.pid, signal.SIGINT)
        assert screen.end() == 0
    assert "Traceback" not in screen.shown


def test_it_ends_when_nobody_reads_any_more(home: Home) -> None:
    """Also where nothing is written any more: `mcp-jail log --follow | grep -m 1 deny`."""
    append(home, "fs", run_lines("one", 0))
    reader, writer = os.pipe()
    process = subprocess.Popen(
        [MCP_JAIL, "log", "--follow"], stdout=writer, stderr=subprocess.PIPE, env=home.environ()
    )
    os.close(writer)
    with os.fdopen(reader) as lines:
        assert "start" in lines.readline()
        assert "end" in lines.readline()
    _, told = process.communicate(timeout=30)
    assert (process.returncode, told) == (0, b"")


@pytest.mark.parametrize("words", [["log"], ["log", "--follow"], ["report"]], ids=str)
def test_a_reader_that_has_gone_is_no_failure(home: Home, words: list[str]) -> None:
    append(home, "fs", run_lines("one", 100))
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [MCP_JAIL, *words], stdout=writer, stderr=subprocess.PIPE, env=home.environ(), check=False
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("words", [["--verify"], ["--anchor"], ["--verify", "fs"]])
def test_what_looks_at_a_whole_audit_cannot_follow(home: Home, words: list[str]) -> None:
    done = subprocess.run(
        [MCP_JAIL, "log", "--follow", *words],
        capture_output=True,
        text=True,
        env=home.environ(),
        check=False,
    )
    assert done.returncode == 2
    assert "--follow shows entries" in done.stderr


def records(lines: list[bytes]) -> list[Record]:
    return [read_record(line) for line in lines]


def test_a_clock_that_goes_back_does_not_change_the_order_of_an_audit() -> None:
    jumped = records(sealed("one", CALL, CALL, CALL, times=[500, 100, 600]))
    other = records(sealed("two", CALL, times=[300]))
    order = in_order([Found("a", jumped), Found("b", other)])
    assert [record.n for name, record in order if name == "a"] == [0, 1, 2, 3, 4]
    assert [name for name, _ in order] == ["b", "b", "b", "a", "a", "a", "a", "a"]
