"""Entries as lines for people."""

from __future__ import annotations

import msgspec
import pytest

from mcp_jail.cli.entry_lines import entry_line, plain_text, time_text
from mcp_jail.core.recorded.audit import Chain, Entry, Kind, Record, read_record


def record(entry: Entry, t_ms: int = 1_764_434_000_000) -> Record:
    chain = Chain("run")
    chain.seal(Entry(kind=Kind.START), 1)
    return read_record(chain.seal(entry, t_ms))


def test_nothing_of_a_server_acts_on_the_terminal() -> None:
    hostile = "\x1b[2J\n\r\x9b31m\u202e\x00\U000e0041"
    entry = Entry(
        kind=Kind.CALL,
        name=hostile,
        reason=hostile,
        verdict=hostile,
        rule=hostile,
        where=hostile,
        arguments=msgspec.Raw(msgspec.json.encode({hostile: hostile})),
        detail={hostile: hostile},
    )
    assert entry_line(record(entry), name="files", width=10_000).plain.isprintable()


def test_a_line_tells_time_kind_verdict_tool_reason_and_rule() -> None:
    entry = Entry(
        kind=Kind.CALL,
        name="write_file",
        verdict="deny",
        reason="path must lie under ~/scratch",
        rule="tools.rules.write_file",
        where="files.yaml:3:5",
        arguments=msgspec.Raw(b'{"path":"/x"}'),
    )
    assert entry_line(record(entry), name="", width=200).plain == (
        "2025-11-29 16:33:20Z call   deny write_file path must lie under ~/scratch "
        '[tools.rules.write_file files.yaml:3:5] {"path":"/x"}'
    )


@pytest.mark.parametrize(
    ("method", "verdict", "shown"),
    [
        ("lookup", "deny", "net    deny lookup a.example why"),
        ("connect", "deny", "net    deny connect a.example why"),
        ("connect", "allow", "net    allow connect a.example why"),
        ("closed", "allow", "net    allow closed a.example why"),
        ("failed", "allow", "net    failed a.example why"),
    ],
)
def test_a_line_tells_what_was_tried_on_the_network_and_what_came_of_it(
    method: str, verdict: str, shown: str
) -> None:
    entry = Entry(kind=Kind.NET, method=method, name="a.example", verdict=verdict, reason="why")
    assert entry_line(record(entry), name="", width=200).plain.endswith(shown)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_arguments_are_cut_to_the_terminal_and_nothing_else(width: int) -> None:
    long = msgspec.Raw(msgspec.json.encode("漢字" * 100))
    entry = Entry(kind=Kind.CALL, name="write", verdict="deny", rule="r", arguments=long)
    line = entry_line(record(entry), name="files", width=width)
    assert line.cell_len <= width
    assert line.plain.endswith("…")
    assert "deny write [r]" in line.plain


def test_only_the_time_is_dim() -> None:
    line = entry_line(record(Entry(kind=Kind.CALL, name="write")), name="", width=80)
    assert line.style == ""
    assert (line.spans[0].start, line.spans[0].end, line.spans[0].style) == (0, 20, "dim")


def test_an_ask_is_told_as_one() -> None:
    line = entry_line(record(Entry(kind=Kind.CALL, verdict="ask")), name="", width=80)
    assert line.plain.endswith(" ask")


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("", "b" * 64, f"(now {'b' * 12})"),
        ("a" * 64, "b" * 64, f"(was {'a' * 12}, now {'b' * 12})"),
        ("a" * 64, "", f"(was {'a' * 12})"),
    ],
)
def test_an_entry_of_the_lock_tells_what_and_which_versions(old: str, new: str, told: str) -> None:
    digests = {"approved": old, "seen": new}
    entry = Entry(
        kind=Kind.LOCK, verdict="approved", name="tool/echo", reason="changed", detail=digests
    )
    line = entry_line(record(entry), name="", width=None).plain
    assert line.endswith(f"lock   approved tool/echo changed {told}")


def test_an_entry_of_the_lock_with_other_details_tells_them() -> None:
    entry = Entry(kind=Kind.LOCK, verdict="created", name="fs", detail={"items": 3, "seen": 1})
    line = entry_line(record(entry), name="", width=None).plain
    assert line.endswith('lock   created fs {"items":3,"seen":1}')


def test_an_error_of_the_server_shows() -> None:
    line = entry_line(record(Entry(kind=Kind.RESULT, is_error=True, size=3)), name="", width=80)
    assert line.plain.endswith("result error 3 bytes")


@pytest.mark.parametrize("time", [-1, 2**62])
def test_a_time_beyond_any_calendar_is_told_all_the_same(time: int) -> None:
    assert time_text(time) == f"@{time}"


def test_plain_text_spells_control_characters_out() -> None:
    assert plain_text("a\x1b\n\u202eé") == "a\\u{1b}\\u{a}\\u{202e}é"


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (Entry(kind=Kind.ASK, name="t", verdict="ask", id="TICK01"), "ask    t (TICK01)"),
        (Entry(kind=Kind.ANSWER, name="t", verdict="deny", id="TICK01"), "answer deny t (TICK01)"),
        (
            Entry(kind=Kind.CALL, name="t", verdict="ask", detail={"ask": "TICK01"}),
            "call   ask t (T",
        ),
    ],
)
def test_what_belongs_to_an_ask_shows_its_ticket(entry: Entry, words: str) -> None:
    assert words in entry_line(record(entry), name="", width=None).plain


def test_a_change_that_needs_a_restart_says_of_what_before_its_digest() -> None:
    detail = {"sha256": "ab" * 32, "restart": ["network", "filesystem"]}
    entry = Entry(kind=Kind.POLICY, name="fs", verdict="changed", detail=detail)
    line = entry_line(record(entry), name="", width=80).plain
    assert "policy changed fs once started anew: network, filesystem" in line
