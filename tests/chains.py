"""Lines of made-up runs, sealed by the real chain."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from mcp_jail.core.recorded.audit import Anchor, Chain, Entry, Kind

CALL = Entry(
    kind=Kind.CALL,
    method="tools/call",
    name="write_file",
    id=7,
    verdict="allow",
    rule="tools.rules.write_file",
    where="files.yaml:12:5",
    arguments=msgspec.Raw(b'{"path":"/home/me/notes.txt"}'),
    digest="ab" * 32,
    size=140,
)


def run_lines(
    run: str, calls: int, *, end: bool = True, anchor: Anchor | None = None
) -> list[bytes]:
    """The lines of one run, newlines included: start, calls, end."""
    chain = Chain(run, anchor)
    lines = [chain.seal(Entry(kind=Kind.START, name="files"), 1_000)]
    lines += [chain.seal(CALL, 1_001 + number) for number in range(calls)]
    if end:
        lines.append(chain.seal(Entry(kind=Kind.END), 2_000))
    return lines


def sealed(
    run: str, *entries: Entry, times: Sequence[int] | None = None, end: bool = True
) -> list[bytes]:
    """The lines of a run of these entries: its start before them, its end behind them.

    `times` are of the entries, in UTC milliseconds; by default one after the other from 1,001.
    """
    chain = Chain(run)
    times = range(1_001, 1_001 + len(entries)) if times is None else times
    start = Entry(kind=Kind.START, name="files", detail={"version": "0"})
    lines = [chain.seal(start, times[0] if times else 1_000)]
    lines += [chain.seal(entry, at) for entry, at in zip(entries, times, strict=True)]
    if end:
        lines.append(chain.seal(Entry(kind=Kind.END), times[-1] if times else 2_000))
    return lines
