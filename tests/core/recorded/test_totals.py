"""Sums of an audit: each kind of entry, and what cannot be counted as it should."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from chains import CALL, sealed
from mcp_jail.core.recorded.audit import Chain, Entry, Kind
from mcp_jail.core.recorded.totals import (
    NAMES_LIMIT,
    OTHERS,
    RUNS_LIMIT,
    Calls,
    Counter,
    Host,
    Item,
    Totals,
)

NOW = 1_000_000


def totals_of(lines: list[bytes], *, since: int = 0) -> Totals:
    counter = Counter(since, NOW)
    for line in lines:
        counter.line(line.removesuffix(b"\n"))
    return counter.totals


def counted(*entries: Entry, times: list[int] | None = None, since: int = 0) -> Totals:
    return totals_of(sealed("one", *entries, times=times), since=since)


def call(name: str, verdict: str = "allow", **more: Any) -> Entry:
    method = more.pop("method", "tools/call")
    return Entry(kind=Kind.CALL, method=method, name=name, verdict=verdict, **more)


def net(what: str, name: str, verdict: str = "allow", **detail: Any) -> Entry:
    return Entry(kind=Kind.NET, method=what, name=name, verdict=verdict, detail=detail)


def test_calls_are_counted_by_tool_and_verdict() -> None:
    totals = counted(call("read"), call("read", "deny"), call("read", "ask"), call("write"))
    assert totals.tools == {
        "read": Calls(calls=3, allowed=1, denied=1),
        "write": Calls(calls=1, allowed=1),
    }
    assert totals.calls == Calls(calls=4, allowed=2, denied=1)
    assert (totals.runs, totals.entries) == (1, 6)


def test_what_is_not_about_a_tool_is_counted_by_its_method() -> None:
    """Resources have as many names as a server makes up."""
    totals = counted(call("file:///a", method="resources/read"), call("tools/list"))
    assert totals.methods == {"resources/read": Calls(calls=1, allowed=1)}
    assert totals.tools == {"tools/list": Calls(calls=1, allowed=1)}


def test_asks_and_answers_are_counted_with_who_answered() -> None:
    answers = [
        Entry(
            kind=Kind.ANSWER, name="read", verdict="allow", detail={"by": "cli", "lasts": "once"}
        ),
        Entry(kind=Kind.ANSWER, name="read", verdict="deny", detail={"by": "desktop"}),
        Entry(kind=Kind.ANSWER, name="read", verdict="deny", detail={"by": "desktop"}),
        Entry(kind=Kind.ANSWER, name="read", verdict="deny", detail={"by": 7}),
        Entry(kind=Kind.ANSWER, verdict="refused", detail={"by": "cli"}),
        Entry(kind=Kind.ANSWER, name="read", verdict="expired"),
        Entry(kind=Kind.ANSWER, name="read", verdict="revoked"),
    ]
    totals = counted(Entry(kind=Kind.ASK, name="read", verdict="ask", id="ABC234"), *answers)
    assert totals.tools["read"].asks == totals.calls.asks == 1
    told = {by: (row.allowed, row.denied, row.refused) for by, row in totals.answers.items()}
    assert told == {"cli": (1, 0, 1), "desktop": (0, 2, 0), "": (0, 1, 0)}
    assert totals.expired == 1


def test_hosts_are_counted_with_what_was_opened_refused_and_sent() -> None:
    totals = counted(
        net("connect", "a.example:443"),
        net("closed", "a.example:443", sent=10, received=200),
        net("failed", "a.example:443"),
        net("connect", "b.example:443", "deny", times=5),
        net("lookup", "b.example", "deny"),
        net("lost", "", "deny", times=7),
    )
    assert totals.hosts == {
        "a.example:443": Host(opened=1, failed=1, sent=10, received=200),
        "b.example:443": Host(refused=5),
        "b.example": Host(refused=1),
    }
    assert totals.odd.gate == 7


def install(run: str, *entries: Entry) -> list[bytes]:
    """The lines of `mcp-jail install`: no run of a server, so its start names no version."""
    chain = Chain(run)
    return [chain.seal(each, NOW) for each in (Entry(kind=Kind.START), *entries)]


@pytest.mark.parametrize("since", [0, NOW - 1])
def test_what_an_install_fetched_is_not_what_its_server_tried(since: int) -> None:
    fetched = install("two", net("connect", "registry.example:443"), Entry(kind=Kind.END))
    server = sealed("one", net("connect", "a.example:443"), times=[NOW])
    mixed = [server[0], *fetched[:2], *server[1:], fetched[2]]
    totals = totals_of(mixed, since=since)
    assert totals.hosts == {"a.example:443": Host(opened=1)}
    assert totals.fetched == {"registry.example:443": Host(opened=1)}
    assert totals.runs == 1


def test_an_install_that_began_before_the_time_is_still_one() -> None:
    begun, *later = install("two", net("connect", "registry.example:443"))
    earlier = begun.replace(b'"t":%d' % NOW, b'"t":7')
    totals = totals_of([earlier, *later], since=NOW - 1)
    assert (totals.earlier, totals.hosts) == (1, {})
    assert totals.fetched == {"registry.example:443": Host(opened=1)}


def test_drift_is_counted_by_item_and_for_tools_by_tool() -> None:
    drift = Entry(kind=Kind.LOCK, name="tool/read", verdict="drift", reason="changed")
    approved = Entry(kind=Kind.LOCK, name="tool/read", verdict="approved")
    info = Entry(kind=Kind.LOCK, name="server/info", verdict="drift", reason="changed")
    totals = counted(drift, drift, approved, info)
    assert totals.items == {
        "tool/read": Item(times=2, change="changed"),
        "server/info": Item(times=1, change="changed"),
    }
    assert totals.tools == {"read": Calls(drift=2)}
    assert totals.calls.drift == 3


def test_errors_questions_and_violations_are_counted_and_are_no_calls() -> None:
    totals = counted(
        Entry(kind=Kind.RESULT, method="tools/call", name="read", is_error=True),
        Entry(kind=Kind.RESULT, method="tools/call", name="read", size=9),
        call("", method="sampling/createMessage", detail={"from": "server"}),
        call("", method="sampling/createMessage", detail={"from": "client"}),
        call("read", detail={"from": "mcp-jail", "answers": []}),
        Entry(kind=Kind.WIRE, reason="x", detail={"from": "server"}),
    )
    assert totals.tools == {"read": Calls(errors=1)}
    assert totals.calls == Calls(errors=1)
    assert (totals.questions, totals.violations) == (1, 1)


def test_the_chain_of_an_approval_is_no_run() -> None:
    start = Entry(kind=Kind.START, name="files", reason="a person answers")
    lines = sealed("one")
    lines[0] = lines[0].replace(b'"detail":{"version":"0"}', b'"reason":"a person answers"')
    assert start.reason.encode() in lines[0]
    assert totals_of(lines).runs == 0


def test_only_the_time_that_was_asked_for_counts_and_the_rest_is_told() -> None:
    totals = counted(CALL, CALL, CALL, times=[100, 200, 300], since=200)
    assert (totals.calls.calls, totals.entries, totals.earlier) == (2, 3, 2)
    assert totals.odd.gaps == 0


def test_a_clock_that_goes_back_moves_nothing_and_is_told() -> None:
    """An entry counts by its own time; the order of a run is its numbers'."""
    totals = counted(CALL, CALL, CALL, CALL, times=[500, 100, 600, 100], since=400)
    assert totals.calls.calls == 2
    assert (totals.odd.went_back, totals.odd.gaps) == (2, 0)


def test_entries_later_than_now_count_and_are_told() -> None:
    totals = counted(CALL, CALL, times=[NOW, NOW + 3_600_000])
    assert totals.calls.calls == 2
    assert totals.odd.ahead == 2  # the call and the end behind it


@pytest.mark.parametrize(
    "line",
    [
        b"half a li",
        b'{"v":1,"t":12,"run":"one","n":3,"ki',
        b"[1]",
        b'{"v":1}',
        b'{"v":1,"t":"x","run":"one","n":1,"kind":"call","hash":""}',
        b'{"v":1,"t":1,"run":"one","n":1,"kind":"call","hash":"","name":"\xff"}',
        b"[" * 100_000,
        b"\0" * 50,
    ],
    ids=str,
)
def test_a_line_that_is_no_entry_is_counted_as_one(line: bytes) -> None:
    lines = sealed("one", CALL)
    totals = totals_of([*lines[:1], line, *lines[1:]])
    assert totals.odd.not_entries == 1
    assert totals.calls.calls == 1


def test_an_empty_line_ends_another_writers_half_one_and_is_nothing() -> None:
    assert totals_of([b""]) == Totals()


def test_kinds_and_versions_of_a_later_mcp_jail_are_counted_by_name() -> None:
    lines = sealed("one", CALL, CALL, CALL)
    lines[1] = lines[1].replace(b'"kind":"call"', b'"kind":"dance"')
    lines[2] = lines[2].replace(b'"v":1', b'"v":2')
    totals = totals_of(lines)
    assert totals.odd.kinds == {"dance": 1}
    assert totals.odd.versions == {"2": 1}
    assert totals.calls.calls == 1


def test_an_entry_whose_members_are_of_another_type_does_not_stop_the_count() -> None:
    odd = net("connect", "a", times="many", sent=-5, received=[1])
    assert counted(odd).hosts == {"a": Host(opened=1)}


def test_missing_doubled_and_moved_entries_are_gaps() -> None:
    lines = sealed("one", *[CALL] * 6)
    assert totals_of(lines).odd.gaps == 0
    assert totals_of(lines[:2] + lines[4:]).odd.gaps == 1
    assert totals_of(lines[1:]).odd.gaps == 1
    assert totals_of([*lines[:3], lines[2], *lines[3:]]).odd.gaps == 1


def test_runs_that_write_side_by_side_have_no_gaps() -> None:
    one, two = sealed("one", CALL, CALL), sealed("two", CALL, CALL)
    woven = [line for pair in zip(one, two, strict=True) for line in pair]
    totals = totals_of(woven)
    assert (totals.odd.gaps, totals.runs, totals.calls.calls) == (0, 2, 4)


def test_what_is_kept_grows_neither_with_entries_nor_with_names() -> None:
    """A model makes up tools, a server hosts and items; runs may end without a word."""
    few, many = (Counter(0, NOW) for _ in range(2))
    for counter, names in ((few, NAMES_LIMIT * 2), (many, NAMES_LIMIT * 4)):
        for number in range(names):
            name = f"{number}-" + "x" * 1_000
            for entry in (
                call(name),
                call(name, method=name),
                net("connect", name),
                Entry(kind=Kind.LOCK, name=f"tool/{name}", verdict="drift", reason=name),
                Entry(kind=Kind.ANSWER, verdict="allow", detail={"by": name}),
            ):
                for line in sealed(f"run{number}", entry, end=False)[1:]:
                    counter.line(line[:-1])
                    counter.line(line[:-1].replace(b'"kind":"', f'"kind":"{number}'.encode()))
    sizes = [len(msgspec.json.encode(counter.totals)) for counter in (few, many)]
    assert sizes[1] < sizes[0] * 1.1
    assert len(many.totals.tools) == len(many.totals.hosts) == NAMES_LIMIT + 1
    assert many.totals.tools[OTHERS].calls == NAMES_LIMIT * 3
    assert sum(row.calls for row in many.totals.tools.values()) == NAMES_LIMIT * 4
    assert len(many._runs) <= RUNS_LIMIT


def test_a_run_that_was_forgotten_is_no_gap_when_it_goes_on() -> None:
    first = sealed("first", CALL, CALL)
    others = [sealed(f"run{number}", end=False)[0] for number in range(RUNS_LIMIT)]
    totals = totals_of([*first[:2], *others, *first[2:]])
    assert totals.odd.gaps == 0
    assert totals.calls.calls == 2
