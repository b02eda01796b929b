"""Lines of made-up runs, sealed by the real chain."""

from __future__ import annotations

import msgspec

from mcp_jail.core.audit import Anchor, Chain, Entry, Kind

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
