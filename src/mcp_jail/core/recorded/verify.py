"""Checks audit files: every run's chain, every anchor, in one pass over the lines.

Found: an entry changed, removed, added, moved or doubled; a file cut before a later run's start.
Not found, because nothing in the file says so: a run's last entries cut off (it then has no `end`
and counts as open, as a running or crashed one does), and a file rewritten whole by somebody who
can write it. Only an anchor kept elsewhere shows that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from enum import Enum
from hashlib import sha256  # OpenSSL's: three times as fast, and only commands load this module

import msgspec

from mcp_jail.core.recorded.audit import HASH_HEX, VERSION, Anchor

# Breaks are told one by one up to here; the rest is counted.
MAX_BREAKS = 100

AnchorHolds = Callable[[Anchor], bool | None]


class RunState(Enum):
    """How a run stands in its file."""

    OK = "ok"  # from its start to its end
    OPEN = "open"  # whole so far, without an end: running, killed, or cut at its tail
    BROKEN = "broken"


class Break(msgspec.Struct, frozen=True):
    """A place where the file is not as it was written; lines count from 1."""

    line: int
    message: str
    run: str = ""


class RunReport(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a file: its state, where it stands, and its first break."""

    run: str
    name: str
    state: RunState
    entries: int
    started: int  # milliseconds since 1970, UTC
    first_line: int
    last_line: int
    first_break: Break | None = None
    torn: bool = False  # its last line was being written when the writer died
    archived: bool = False  # the earlier file its anchor names is not here


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What one audit file holds."""

    runs: tuple[RunReport, ...]
    entries: int
    lines: int
    breaks: tuple[Break, ...]  # the first MAX_BREAKS
    broken: int  # how many there are
    torn: int  # half lines, which a crash or a full disk leaves

    @property
    def state(self) -> RunState:
        """Broken if anything is, else open if a run is or half a line stands there, else ok."""
        if self.broken:
            return RunState.BROKEN
        if self.torn or any(run.state is RunState.OPEN for run in self.runs):
            return RunState.OPEN
        return RunState.OK


def verify(lines: Iterable[bytes], anchor_holds: AnchorHolds) -> Report:
    """Check the lines of one file, given without their newlines.

    `anchor_holds` says whether a line with that hash ends at that offset of this file or of the
    file the anchor names; None if that file is not there. Memory grows with runs, not entries.
    """
    check = _Check(anchor_holds)
    for line in lines:
        check.line(line)
    return check.report()


class _Run:
    """A run as far as it was read."""

    __slots__ = (
        *("archived", "ended", "entries", "expected", "first_break", "first_line", "last_line"),
        *("name", "previous", "started", "torn"),
    )

    def __init__(self, head: _Head, line: int) -> None:
        self.name = head.name if head.kind == "start" else ""
        self.started = head.t
        self.first_line = line
        self.last_line = line
        self.entries = 0
        self.expected = 0
        self.previous = b"\0" * 32
        self.ended = False
        self.torn = False
        self.archived = False
        self.first_break: Break | None = None

    @property
    def state(self) -> RunState:
        if self.first_break is not None:
            return RunState.BROKEN
        return RunState.OK if self.ended else RunState.OPEN


class _Check:
    """One pass: each run's next number and last hash, and the breaks so far."""

    def __init__(self, anchor_holds: AnchorHolds) -> None:
        self._anchor_holds = anchor_holds
        self._runs: dict[str, _Run] = {}
        self._breaks: list[Break] = []
        self._broken = 0
        self._entries = 0
        self._number = 0
        self._offset = 0
        self._torn = 0
        self._after_torn = False

    def line(self, line: bytes) -> None:
        self._number += 1
        if not line:  # two writers ended the same half line, so it stands behind a whole one
            if self._after_torn:
                self._break("an empty line stands behind a half one", "")
        else:
            self._after_torn = False
            try:
                head = _HEADS.decode(line)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
                self._not_an_entry(line, error)
            else:
                self._entry(line, head)
        self._offset += len(line) + 1

    def report(self) -> Report:
        return Report(
            runs=tuple(_run_report(name, run) for name, run in self._runs.items()),
            entries=self._entries,
            lines=self._number,
            breaks=tuple(self._breaks),
            broken=self._broken,
            torn=self._torn,
        )

    def _entry(self, line: bytes, head: _Head) -> None:
        self._entries += 1
        if head.v != VERSION:
            self._break(f"version {head.v} is unknown, expected {VERSION}", "")
            return
        run = self._runs.get(head.run)
        if run is None:
            run = self._runs[head.run] = _Run(head, self._number)
            self._start(run, head)
        run.entries += 1
        run.last_line = self._number
        if head.n != run.expected or run.ended or run.torn:
            self._out_of_order(run, head)
        if head.n >= run.expected:
            digest = sha256(run.previous + line[:_SEALED]).hexdigest()
            if digest != head.hash and head.n == run.expected:
                self._break(_CHANGED, head.run)
            run.previous = _unhexed(head.hash)
            run.expected = head.n + 1
        if head.kind == "end":
            run.ended = True

    def _start(self, run: _Run, head: _Head) -> None:
        """The first line of a run: its start, whose anchor must hold."""
        if head.n != 0:
            return  # told as out of order
        anchor = head.anchor
        if head.kind != "start" or anchor is None:
            self._break("a run begins without a start entry", head.run)
            return
        if not anchor.file and anchor.offset > self._offset:
            self._break(f"the start's anchor at {anchor.offset} lies behind it", head.run)
            return
        if not anchor.offset:
            return
        match self._anchor_holds(anchor):
            case None:
                run.archived = True
            case True:
                pass
            case False:
                self._break(
                    f"what stood before this start (the first {anchor.offset} bytes"
                    f"{' of ' + anchor.file if anchor.file else ''}) is not what it was",
                    head.run,
                )

    def _out_of_order(self, run: _Run, head: _Head) -> None:
        if run.ended:
            message = f"entry {head.n} stands behind the run's end"
        elif head.n < run.expected:
            message = f"entry {head.n} stands here again or out of order"
        elif run.torn and head.n == run.expected:
            message = f"entry {head.n} stands behind a half line"
        elif run.entries == 1:
            message = f"the run begins with entry {head.n}; its start is missing"
        elif head.n == run.expected + 1:
            message = f"entry {run.expected} is missing before this one"
        else:
            message = f"entries {run.expected} to {head.n - 1} are missing before this one"
        self._break(message, head.run)

    def _not_an_entry(self, line: bytes, error: Exception) -> None:
        """A half line that ends its run is what a crash leaves; anything else is a break."""
        if "truncated" not in str(error) or _SEAL.search(line) or not _begins_entry(line):
            self._break("this line is not an entry", "")
            return
        self._torn += 1
        self._after_torn = True
        if match := _FRAGMENT.match(line):
            run = self._runs.get(match[1].decode())
            if run is not None and not run.ended and int(match[2]) == run.expected:
                run.torn = True
                run.last_line = self._number

    def _break(self, message: str, name: str) -> None:
        found = Break(self._number, message, name)
        self._broken += 1
        if len(self._breaks) < MAX_BREAKS:
            self._breaks.append(found)
        run = self._runs.get(name)
        if run is not None and run.first_break is None:
            run.first_break = found


class _Head(msgspec.Struct):
    """What the check needs of a line."""

    v: int
    run: str = ""
    n: int = -1
    t: int = 0
    kind: str = ""
    name: str = ""
    hash: str = ""
    anchor: Anchor | None = None


_HEADS = msgspec.json.Decoder(_Head)
_SEALED = -(len(',"hash":""}') + HASH_HEX)
_SEAL = re.compile(rb',"hash":"[^"]{%d}(?!"?\Z)' % HASH_HEX)  # more than half a line can hold
_BEGIN = b'{"v":1,"t":'
_FRAGMENT = re.compile(rb'\{"v":1,"t":[0-9]+,"run":"([0-9A-Za-z_-]+)","n":([0-9]{1,15}),')
_CHANGED = "does not match its hash: this entry or the one before it was changed"


def _begins_entry(line: bytes) -> bool:
    return line.startswith(_BEGIN) or _BEGIN.startswith(line)


def _unhexed(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        return b""


def _run_report(name: str, run: _Run) -> RunReport:
    return RunReport(
        run=name,
        name=run.name,
        state=run.state,
        entries=run.entries,
        started=run.started,
        first_line=run.first_line,
        last_line=run.last_line,
        first_break=run.first_break,
        torn=run.torn,
        archived=run.archived,
    )
