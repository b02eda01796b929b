"""Entries of audits, printed: the last ones, and those that come while somebody watches."""

from __future__ import annotations

import select
import sys
import time
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import msgspec

from mcp_jail.cli.chosen import Audit
from mcp_jail.cli.entry_lines import entry_line, plain_text
from mcp_jail.cli.for_programs import json_line
from mcp_jail.cli.out import console, counted, is_terminal
from mcp_jail.core.recorded.audit import Record, read_record
from mcp_jail.core.recorded.continuing import Continuing
from mcp_jail.errors import AuditError, ExitCode
from mcp_jail.store.follow import Following
from mcp_jail.store.history import last_entries

# Milliseconds between two looks at the files, and seconds between two for audits that are new.
LOOK_EVERY: Final = 250
LIST_EVERY: Final = 2.0


class Found(NamedTuple):
    """Entries of one audit, in its own order."""

    name: str
    records: list[Record]


def print_last(audits: Sequence[Audit], count: int, *, as_json: bool) -> int:
    """Print the last entries of all these audits together; 5 if one cannot be read."""
    found, troubles = [], []
    for name, path in audits:
        last = last_entries(path, count)
        found.append(Found(name, last.records))
        troubles += last.troubles
        _tell_skipped(name, last.skipped)
    _Printer(is_named=len(audits) > 1, as_json=as_json).print(in_order(found)[-count:])
    if not (as_json or troubles or any(each.records for each in found)):
        console().print("no entries yet")
    return tell_unreadable(troubles)


def tell_unreadable(troubles: Sequence[AuditError]) -> ExitCode:
    """Say what of audits cannot be read; the exit code."""
    for error in troubles:
        sys.stderr.write(f"mcp-jail: error: {error.message}\n")
    return ExitCode.AUDIT if troubles else ExitCode.OK


def follow(
    audits: Callable[[], Sequence[Audit]], count: int, *, is_named: bool, as_json: bool
) -> int:
    """Print the last entries and all that come, until Ctrl-C or until nobody reads."""
    watched: dict[Audit, _Watched] = {}
    try:
        _follow(audits, watched, count, _Printer(is_named=is_named, as_json=as_json))
    except KeyboardInterrupt:
        pass
    finally:
        for each in watched.values():
            each.following.close()
    return ExitCode.OK


def in_order(found: Sequence[Found]) -> list[tuple[str, Record]]:
    """The entries of several audits by time; the order within one is its own, whatever its clock.

    An entry from before its predecessor counts as of the same time.
    """
    placed = []
    for name, records in found:
        latest = 0
        for at, record in enumerate(records):
            latest = max(latest, record.t)
            placed.append((latest, at, name, record))
    placed.sort(key=lambda each: each[:3])
    return [(name, record) for _, _, name, record in placed]


class _Watched(NamedTuple):
    """An audit that grows, and whether its runs continue as they began."""

    following: Following
    runs: Continuing


def _follow(
    audits: Callable[[], Sequence[Audit]],
    watched: dict[Audit, _Watched],
    count: int,
    printer: _Printer,
) -> None:
    watched |= {audit: _Watched(Following(audit.path), Continuing()) for audit in audits()}
    # The last one is read in any case: what comes has to continue it.
    last = in_order([_last(audit, each, max(1, count)) for audit, each in watched.items()])
    printer.print(last[len(last) - min(count, len(last)) :])
    gone = select.poll()
    gone.register(sys.stdout.fileno(), 0)
    listed = time.monotonic()
    while not gone.poll(LOOK_EVERY):
        if time.monotonic() - listed >= LIST_EVERY:
            listed = time.monotonic()
            for audit in set(audits()) - watched.keys():
                # All of it is new, so it is read from its beginning.
                watched[audit] = _Watched(Following(audit.path, at_end=False), Continuing())
        printer.print(in_order([_come(audit, each) for audit, each in watched.items()]))


def _last(audit: Audit, watched: _Watched, count: int) -> Found:
    """The last entries of what stands there; what comes has to continue them."""
    records, skipped = watched.following.last(count)
    for record in records:
        watched.runs.begin(record)
    _tell_skipped(audit.name, skipped)
    return Found(audit.name, records)


def _come(audit: Audit, watched: _Watched) -> Found:
    """The entries that came; what is wrong with a line is told, and what else was found."""
    records = []
    for line in watched.following.added():
        try:
            record = read_record(line)
        except ValueError:
            if line:  # a writer may end another's half line with an empty one
                _warn(f"{audit.name}: a line is no entry: {plain_text(_shown(line))}")
            continue
        fault = watched.runs.fault(record, line)
        if fault:
            _warn(f"{audit.name}: {fault} (run {plain_text(record.run)}); see --verify")
        records.append(record)
    for trouble in watched.following.troubles:
        _warn(trouble)
    watched.following.troubles.clear()
    return Found(audit.name, records)


class _Printer:
    """Prints entries in one form."""

    def __init__(self, *, is_named: bool, as_json: bool) -> None:
        self._is_named = is_named
        self._as_json = as_json

    def print(self, entries: Sequence[tuple[str, Record]]) -> None:
        """Print entries, and bring them to whoever reads."""
        out = console()
        for name, record in entries:
            if self._as_json:
                sys.stdout.write(_as_json(name, record))
                continue
            width = out.width if is_terminal() else None
            line = entry_line(record, name=name if self._is_named else "", width=width)
            out.print(line, soft_wrap=True)
        sys.stdout.flush()


def _as_json(name: str, record: Record) -> str:
    fields = {"audit": name, **msgspec.to_builtins(record)}
    return json_line(fields)


def _tell_skipped(name: str, skipped: int) -> None:
    if skipped:
        lines = counted(skipped, "line is no entry", "lines are no entries")
        _warn(f"{lines}; see mcp-jail log {name} --verify")


# Bytes of a line that is no entry that are told.
_SHOWN: Final = 120


def _shown(line: bytes) -> str:
    return line[:_SHOWN].decode(errors="replace") + ("..." if len(line) > _SHOWN else "")


def _warn(text: str) -> None:
    sys.stderr.write(f"mcp-jail: warning: {text}\n")
