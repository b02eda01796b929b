"""What an audit adds up to: calls, denials, asks, hosts and drift, by name, in one pass.

What is kept grows with neither entries nor names: a server and a model choose names, so beyond a
number of them they are counted together. Nothing is left out in silence: lines that are no entries,
kinds and versions of a later mcp-jail, clocks that went back and gaps in a run are counted too.
Whether entries were changed is for `core/recorded/verify.py` to say.
"""

from __future__ import annotations

from typing import Any, Final, Protocol, TypeVar

import msgspec

from mcp_jail.core.recorded.audit import VERSION

# Names of one sort (tools, hosts, ...) that are told apart in one audit.
NAMES_LIMIT: Final = 1_000
# Characters of a name that are kept; two that differ later are counted together.
NAME_CHARS: Final = 300
# What the names beyond the limit are counted as; no host and no tool has a blank before it.
OTHERS: Final = " (others)"
# Runs whose place is remembered at once: those that go on, and those that ended without a word.
RUNS_LIMIT: Final = 10_000
# Milliseconds that an entry may be ahead of us before its clock is called wrong.
AHEAD: Final = 60_000


class Calls(msgspec.Struct):
    """What was asked of one tool, or by one method that is not about tools."""

    calls: int = 0
    allowed: int = 0
    denied: int = 0
    asks: int = 0  # times a person was to be asked
    errors: int = 0  # answers that say they are an error
    drift: int = 0  # times it was not what a person approved


class Host(msgspec.Struct):
    """What a server tried at one host; bytes and failures of what was opened."""

    opened: int = 0
    refused: int = 0
    failed: int = 0
    sent: int = 0
    received: int = 0


class Answers(msgspec.Struct):
    """What was answered on one channel; refused is what came from somebody who may not answer."""

    allowed: int = 0
    denied: int = 0
    refused: int = 0


class Item(msgspec.Struct):
    """How often an item of the catalogue was not what a person approved, and how at last."""

    times: int = 0
    change: str = ""


class Odd(msgspec.Struct):
    """What could not be counted as it should."""

    not_entries: int = 0  # half lines, and what somebody else wrote
    versions: dict[str, int] = {}  # entries of versions that are unknown here
    kinds: dict[str, int] = {}  # entries of kinds that are unknown here
    gaps: int = 0  # places where a run's entries are missing, doubled or moved
    went_back: int = 0  # entries before the one before them in time
    ahead: int = 0  # entries later than now
    gate: int = 0  # attempts that the gate saw and lost count of, and its failures


class Totals(msgspec.Struct):
    """The sums of one audit over the time that was asked for."""

    entries: int = 0
    earlier: int = 0  # entries before the time that was asked for
    runs: int = 0  # that began
    calls: Calls = msgspec.field(default_factory=Calls)  # all of them
    questions: int = 0  # what the server asked through the client
    violations: int = 0  # what must not be on the wire
    tools: dict[str, Calls] = {}
    methods: dict[str, Calls] = {}
    hosts: dict[str, Host] = {}  # that the server tried
    fetched: dict[str, Host] = {}  # that mcp-jail tried, to install the server's package
    items: dict[str, Item] = {}
    answers: dict[str, Answers] = {}
    expired: int = 0  # asks that nobody answered in time
    odd: Odd = msgspec.field(default_factory=Odd)


class Counter:
    """Takes the lines of one audit, oldest file first; `since` and `now` are UTC milliseconds."""

    def __init__(self, since: int, now: int) -> None:
        self.totals = Totals()
        self._since = since
        self._latest = now + AHEAD
        self._runs: dict[str, _Run] = {}
        self._forgot = False
        self._is_server = True  # whether the entry is of a server's run
        self._by_kind = {
            "start": self._start,
            "call": self._call,
            "result": self._result,
            "ask": self._ask,
            "answer": self._answer,
            "net": self._net,
            "lock": self._lock,
            "wire": self._wire,
            "policy": _nothing,
            "end": _nothing,
        }

    def line(self, line: bytes) -> None:
        """Count one line, given without its newline."""
        odd = self.totals.odd
        try:
            seen = _decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            odd.not_entries += bool(line)  # an empty line ends another writer's half one
            return
        if seen.v != VERSION:
            _add(odd.versions, str(seen.v))
            return
        self._follow(seen)
        if seen.t < self._since:
            self.totals.earlier += 1
            return
        self.totals.entries += 1
        if seen.t > self._latest:
            odd.ahead += 1
        count = self._by_kind.get(seen.kind)
        if count is None:
            _add(odd.kinds, seen.kind)
        else:
            count(seen)

    def _follow(self, seen: _Seen) -> None:
        """Hold an entry against the one before it in its run."""
        odd, run = self.totals.odd, seen.run[:NAME_CHARS]
        is_server = seen.kind != "start" or seen.detail.version is not None
        expected, before, is_server = self._runs.get(run, (0, seen.t, is_server))
        self._is_server = is_server
        if seen.n != expected and (expected or not self._forgot):
            odd.gaps += 1
        if seen.t < before:
            odd.went_back += 1
        if seen.kind == "end":
            self._runs.pop(run, None)
            return
        if not expected and len(self._runs) >= RUNS_LIMIT:
            del self._runs[next(iter(self._runs))]
            self._forgot = True
        self._runs[run] = seen.n + 1, seen.t, is_server

    def _start(self, seen: _Seen) -> None:
        """A run says which mcp-jail began it; the chain of an approval or an install does not."""
        self.totals.runs += seen.detail.version is not None

    def _call(self, seen: _Seen) -> None:
        if seen.detail.sender is not None:
            self.totals.questions += seen.detail.sender == "server"
            return
        for calls in (self.totals.calls, self._calls_of(seen)):
            calls.calls += 1
            match seen.verdict:
                case "allow":
                    calls.allowed += 1
                case "deny":
                    calls.denied += 1
                case _:
                    pass

    def _result(self, seen: _Seen) -> None:
        if seen.is_error:
            self.totals.calls.errors += 1
            self._calls_of(seen).errors += 1

    def _ask(self, seen: _Seen) -> None:
        self.totals.calls.asks += 1
        self._calls_of(seen).asks += 1

    def _answer(self, seen: _Seen) -> None:
        if seen.verdict not in {"allow", "deny", "refused"}:
            self.totals.expired += seen.verdict == "expired"
            return
        by = seen.detail.by if isinstance(seen.detail.by, str) else ""
        answers = _named(self.totals.answers, by, Answers)
        answers.allowed += seen.verdict == "allow"
        answers.denied += seen.verdict == "deny"
        answers.refused += seen.verdict == "refused"

    def _net(self, seen: _Seen) -> None:
        times = max(1, _number(seen.detail.times))
        if seen.method in {"lost", "broken"}:
            self.totals.odd.gate += times
            return
        hosts = self.totals.hosts if self._is_server else self.totals.fetched
        host = _named(hosts, seen.name, Host)
        host.sent += _number(seen.detail.sent)
        host.received += _number(seen.detail.received)
        if seen.verdict == "deny":
            host.refused += times
        elif seen.method == "failed":
            host.failed += times
        elif seen.method != "closed":
            host.opened += times

    def _lock(self, seen: _Seen) -> None:
        if seen.verdict != "drift":
            return
        self.totals.calls.drift += 1
        item = _named(self.totals.items, seen.name, Item)
        item.times += 1
        item.change = seen.reason[:NAME_CHARS]
        kind, _, name = seen.name.partition("/")
        if kind == "tool":
            _named(self.totals.tools, name, Calls).drift += 1

    def _wire(self, _seen: _Seen) -> None:
        self.totals.violations += 1

    def _calls_of(self, seen: _Seen) -> Calls:
        if seen.method in {"tools/call", ""}:
            return _named(self.totals.tools, seen.name, Calls)
        return _named(self.totals.methods, seen.method, Calls)


class _Detail(msgspec.Struct, frozen=True, gc=False):
    """What is counted of an entry's detail, whose members differ from kind to kind."""

    sender: Any = msgspec.field(name="from", default=None)
    version: Any = None
    by: Any = None
    times: Any = None
    sent: Any = None
    received: Any = None


_NO_DETAIL: Final = _Detail()


class _Seen(msgspec.Struct, frozen=True, gc=False):
    """What is counted of an entry."""

    v: int
    t: int
    run: str
    n: int
    kind: str
    hash: str  # without it a line is no entry
    method: str = ""
    name: str = ""
    verdict: str = ""
    reason: str = ""
    is_error: bool = False
    detail: _Detail = _NO_DETAIL


_decode = msgspec.json.Decoder(_Seen).decode


# Of a run: its next number, its last time, whether a server runs in it.
_Run = tuple[int, int, bool]


class _Made(Protocol):
    """A row that begins with nothing counted."""

    def __init__(self) -> None: ...


_Row = TypeVar("_Row", bound=_Made)


def _named(rows: dict[str, _Row], name: str, make: type[_Row]) -> _Row:
    """The row of a name, of all others where there are too many names."""
    row = rows.get(name)
    if row is not None:
        return row
    name = name[:NAME_CHARS]
    if name not in rows and len(rows) >= NAMES_LIMIT:
        name = OTHERS
    return rows.setdefault(name, make())


def _add(counts: dict[str, int], name: str) -> None:
    name = name[:NAME_CHARS]
    if name not in counts and len(counts) >= NAMES_LIMIT:
        name = OTHERS
    counts[name] = counts.get(name, 0) + 1


def _number(value: Any) -> int:
    """A count of an entry; whatever else stands there counts for nothing."""
    return value if type(value) is int and value > 0 else 0


def _nothing(_seen: _Seen) -> None:
    """An entry that nothing is counted of."""
