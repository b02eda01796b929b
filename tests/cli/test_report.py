"""`mcp-jail report`: sums of audits over some time, for people, programs and spreadsheets."""

from __future__ import annotations

import argparse
import csv
import io
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from chains import run_lines, sealed
from mcp_jail.cli import report
from mcp_jail.core.recorded.audit import Chain, Entry, Kind
from mcp_jail.errors import UsageError
from mcp_jail.store.places import find_places

HOUR = 3_600_000
NOW = time.time_ns() // 1_000_000


def call(name: str, verdict: str = "allow") -> Entry:
    return Entry(kind=Kind.CALL, method="tools/call", name=name, verdict=verdict)


@pytest.fixture
def state() -> Path:
    folder = Path(find_places().state)
    folder.mkdir(mode=0o700, parents=True)
    return folder


def write(state: Path, name: str, lines: list[bytes]) -> Path:
    path = state / f"{name}.jsonl"
    path.write_bytes(b"".join(lines))
    return path


def run(*words: str) -> int:
    parser = argparse.ArgumentParser()
    report.add_arguments(parser)
    return report.run(parser.parse_args(words))


def as_json(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert run("--json", *words) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return {each["server"]: each for each in found["servers"]}


def test_all_servers_are_summed_up_or_those_that_are_named(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(state, "files", sealed("one", call("read"), call("read", "deny"), times=[NOW, NOW]))
    write(state, "web", sealed("two", call("get"), times=[NOW]))
    write(state, "old", sealed("three", call("get"), times=[NOW]))
    assert list(as_json(capsys)) == ["files", "old", "web"]
    found = as_json(capsys, "web", "files")
    assert list(found) == ["web", "files"]
    assert found["files"]["calls"]["denied"] == 1
    assert found["files"]["tools"]["read"]["calls"] == 2


def test_files_that_were_turned_count_too_even_where_only_they_are_left(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(state, "files", sealed("two", call("read"), times=[NOW]))
    (state / "files.jsonl.1").write_bytes(b"".join(sealed("one", call("read"), times=[NOW])))
    (state / "gone.jsonl.3").write_bytes(b"".join(sealed("old", call("read"), times=[NOW])))
    found = as_json(capsys)
    assert found["files"]["calls"]["calls"] == 2
    assert found["gone"]["runs"] == 1


def test_the_audit_of_a_policy_that_moves_it_is_found_without_its_name(
    state: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policies = Path(find_places().policies)
    policies.mkdir(mode=0o700, parents=True)
    moved = tmp_path / "moved.jsonl"
    (policies / "files.yaml").write_text(f"name: files\naudit: {{path: {moved}}}\n")
    (policies / "never.yaml").write_text("name: never\naudit: {arguments: none}\n")
    moved.write_bytes(b"".join(sealed("one", call("read"), times=[NOW])))
    assert as_json(capsys)["files"]["calls"]["calls"] == 1


@pytest.mark.parametrize(
    ("since", "calls"), [("90m", 1), ("3h", 2), ("2d", 3), ("1w", 3), ("all", 4), ("1971-01-01", 3)]
)
def test_only_the_time_that_was_asked_for_counts(
    state: Path, capsys: pytest.CaptureFixture[str], since: str, calls: int
) -> None:
    times = [1_000, NOW - 30 * HOUR, NOW - 2 * HOUR, NOW - HOUR]
    write(state, "files", sealed("one", *[call("read")] * 4, times=times))
    assert as_json(capsys, "--since", since)["files"]["calls"]["calls"] == calls


def test_without_a_time_it_is_seven_days(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    times = [NOW - 8 * 24 * HOUR, NOW - 6 * 24 * HOUR]
    write(state, "files", sealed("one", call("read"), call("read"), times=times))
    assert as_json(capsys)["files"]["calls"]["calls"] == 1


@pytest.mark.parametrize("since", ["", "7", "7y", "-1d", "yesterday", "2026-13-01", "1" * 9 + "d"])
def test_a_text_that_is_no_time_is_a_mistake(since: str) -> None:
    with pytest.raises(UsageError, match="--since takes a time"):
        run(f"--since={since}")


def test_the_table_for_people_fits_80_columns_whatever_a_server_calls_things(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    long = "a" * 500
    entries = [
        call(long),
        call("\x1b[2Jevil\u202etool"),
        Entry(kind=Kind.NET, method="connect", name=f"{long}:443", verdict="deny"),
        Entry(kind=Kind.LOCK, name=f"tool/{long}", verdict="drift", reason="changed"),
        Entry(kind=Kind.ANSWER, verdict="allow", detail={"by": long}),
        *[call(f"tool{number}", "deny") for number in range(40)],
    ]
    write(state, "files", sealed("one", *entries * 3, times=[NOW] * len(entries) * 3))
    assert run() == 0
    out = capsys.readouterr().out
    assert all(len(line) <= 80 for line in out.splitlines())
    assert "\x1b" not in out
    assert "\u202e" not in out
    assert "and 27 more (--json has all)" in out


def test_what_an_install_fetched_stands_by_itself(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    net = Entry(kind=Kind.NET, method="connect", name="registry.example:443", verdict="allow")
    chain = Chain("two")
    fetched = [chain.seal(each, NOW) for each in (Entry(kind=Kind.START), net)]
    write(state, "files", [*fetched, *sealed("one", call("read"), times=[NOW])])
    assert run() == 0
    words = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "files (1 run) 1" in words  # no host of the server's
    assert words.index("registry.example:443 1") == words.index("files (mcp-jail install)") + 1
    assert run("--csv") == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert {row["what"]: row["opened"] for row in rows} == {
        "server": "0",
        "tool": "",
        "fetched": "1",
    }
    assert as_json(capsys)["files"]["fetched"]["registry.example:443"]["opened"] == 1


def test_the_table_says_what_happened(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    entries = [
        *[call("read")] * 1_200,
        call("write", "deny"),
        Entry(kind=Kind.ASK, name="write", verdict="ask"),
        Entry(kind=Kind.ANSWER, name="write", verdict="deny", detail={"by": "desktop"}),
        Entry(kind=Kind.ANSWER, verdict="refused", detail={"by": "cli"}),
        Entry(kind=Kind.ANSWER, name="write", verdict="expired"),
        Entry(kind=Kind.NET, method="connect", name="a.example:443", verdict="allow"),
        Entry(kind=Kind.NET, method="closed", name="a.example:443", detail={"sent": 12_345}),
        Entry(kind=Kind.LOCK, name="tool/read", verdict="drift", reason="changed"),
    ]
    write(state, "files", sealed("one", *entries, times=[NOW] * len(entries)))
    assert run() == 0
    words = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert words[0].startswith("since 2")
    for line in (
        "server and tool calls denied asks errors hosts drift",
        "files (1 run) 1,201 1 1 1 1",
        "read 1,200 1",
        "write 1 1 1",
        "a.example:443 1 12.3 kB",
        "files: tool/read changed, 1 time",
    ):
        assert line in words
    answers = (
        "files: 1 by cli refused, as they came from nobody who may answer, 1 denied by desktop"
    )
    assert f"{answers}, 1 by nobody" in " ".join(words)


def test_what_is_odd_about_an_audit_is_told_and_the_rest_is_counted(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    times = [NOW, NOW - 5_000, *[NOW] * 6, NOW + HOUR]
    lines = sealed("one", *[call("read")] * 9, times=times)
    lines[5] = lines[5].replace(b'"kind":"call"', b'"kind":"dance\x1b"')
    lines[6] = lines[6].replace(b'"v":1', b'"v":2')
    write(state, "files", [*lines[:2], b"half a li\n", *lines[2:3], *lines[5:]])
    assert run() == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "files: 2 lines are no entries" in out  # a raw escape makes a line none
    assert "files: 1 entry has a version unknown here: 2; counted nowhere else" in out
    assert "files: entries are missing, doubled or moved in 1 place" in out
    assert "files: the clock went back 1 time" in out
    assert "files: 2 entries are later than now, and counted" in out
    assert "mcp-jail log NAME --verify tells" in out
    assert "files (1 run) 5" in out


def test_an_unknown_kind_is_told_by_name(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = sealed("one", call("read"), times=[NOW])
    lines[1] = lines[1].replace(b'"kind":"call"', b'"kind":"dance now"')
    write(state, "files", lines)
    assert run() == 0
    assert '1 entry has a kind unknown here: "dance now"; counted' in capsys.readouterr().out


def test_a_table_for_spreadsheets_calculates_nothing(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evil = ['=HYPERLINK("http://a.example")', "+1", "-1", "@x", "\tx", '"a",\nb', "\x1b[2J"]
    entries = [call(name) for name in evil]
    write(state, "files", sealed("one", *entries, times=[NOW] * len(entries)))
    assert run("--csv") == 0
    out = capsys.readouterr().out
    server, *tools = csv.DictReader(io.StringIO(out))
    assert (server["server"], server["what"], server["calls"]) == ("files", "server", "7")
    assert len(tools) == len(evil)
    assert not [row["name"] for row in tools if row["name"].startswith(("=", "+", "-", "@", "\t"))]
    assert all(line.isprintable() for line in out.splitlines())


def test_a_row_of_the_spreadsheet_stands_for_each_tool_method_host_and_item(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    entries = [
        call("read"),
        Entry(kind=Kind.CALL, method="prompts/get", name="p", verdict="deny"),
        Entry(kind=Kind.NET, method="lookup", name="a.example", verdict="deny"),
        Entry(kind=Kind.LOCK, name="server/info", verdict="drift", reason="changed"),
    ]
    write(state, "files", sealed("one", *entries, times=[NOW] * len(entries)))
    assert run("--csv") == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [(row["what"], row["name"]) for row in rows] == [
        ("server", ""),
        ("tool", "read"),
        ("method", "prompts/get"),
        ("host", "a.example"),
        ("item", "server/info"),
    ]
    assert [row["refused"] for row in rows] == ["1", "", "", "1", ""]
    assert [row["drift"] for row in rows] == ["1", "0", "0", "", "1"]


def test_an_object_for_programs_is_ascii_and_has_every_name_whole(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(state, "files", sealed("one", call("tööl\x9b"), times=[NOW]))
    assert run("--json") == 0
    out = capsys.readouterr().out
    assert out.isascii()
    assert list(json.loads(out)["servers"][0]["tools"]) == ["tööl\x9b"]


def test_an_audit_that_cannot_be_read_ends_with_5_and_does_not_hide_the_others(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    os.symlink("/etc/passwd", state / "bad.jsonl")
    write(state, "files", sealed("one", call("read"), times=[NOW]))
    assert run() == 5
    captured = capsys.readouterr()
    assert "symbolic link" in captured.err
    assert "files (1 run)" in captured.out


def test_a_policy_that_has_not_run_has_nothing_to_report_and_any_other_name_is_a_mistake(
    capsys: pytest.CaptureFixture[str],
) -> None:
    policies = Path(find_places().policies)
    policies.mkdir(mode=0o700, parents=True)
    (policies / "files.yaml").write_text("name: files\n")
    assert run("files") == 0
    assert run() == 0
    assert capsys.readouterr().out.count("no entries in that time\n") == 2
    with pytest.raises(UsageError, match="no policy named 'filse'"):
        run("filse")


def test_what_lies_outside_of_the_time_is_not_shown_but_what_is_odd_is(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(state, "files", [*run_lines("one", 1), b"junk\n"])
    assert run() == 0
    out = capsys.readouterr().out
    assert "no entries in that time" in out
    assert "files: 1 line is no entry" in out


def test_a_part_of_an_audit_that_cannot_be_read_hides_no_other_part(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(state, "files", run_lines("one", 3))
    (state / "files.jsonl.1").mkdir()
    assert run("--since", "all", "--json") == 5
    shown = capsys.readouterr()
    (server,) = json.loads(shown.out)["servers"]
    assert server["entries"] > 0
    assert "files.jsonl.1" in shown.err


def test_a_table_for_a_spreadsheet_tells_beside_it_what_it_has_no_room_for(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(state, "files", [*run_lines("one", 1), b"half a li\n"])
    assert run("--since", "all", "--csv") == 0
    shown = capsys.readouterr()
    assert "files: 1 line is no entry" in shown.err
    assert "no entry" not in shown.out
