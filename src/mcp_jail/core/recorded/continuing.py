"""Whether each entry that comes continues its run: its number and its hash, one look an entry.

`verify.py` checks whole files; this is for who reads an audit as it grows, from anywhere.
"""

from __future__ import annotations

from typing import Final

from mcp_jail.core.recorded.audit import Kind, Record, link

# Runs whose end is remembered; of one that was forgotten the next entry is taken as it is.
RUNS_LIMIT: Final = 10_000


class Continuing:
    """The last entry of each run that goes on."""

    def __init__(self) -> None:
        self._runs: dict[str, tuple[int, str]] = {}  # number and hash of a run's last entry

    def begin(self, record: Record) -> None:
        """Take an entry as it is: what comes behind it has to continue it."""
        self._runs.pop(record.run, None)
        if record.kind is Kind.END:
            return
        if len(self._runs) >= RUNS_LIMIT:
            del self._runs[next(iter(self._runs))]
        self._runs[record.run] = record.n, record.hash

    def fault(self, record: Record, line: bytes) -> str:
        """Why an entry does not continue its run, or nothing; the line is without its newline."""
        before = self._runs.get(record.run)
        self.begin(record)
        number, digest = before or (-1, "")
        if before is None and record.n:
            return ""  # a run that was not seen to begin
        if record.n != number + 1:
            return f"entry {record.n} stands where entry {number + 1} should"
        if link(_unhexed(digest), line).hex() != record.hash:
            return f"entry {record.n} or the one before it is not as it was written"
        return ""


def _unhexed(digest: str) -> bytes:
    try:
        return bytes.fromhex(digest)
    except ValueError:
        return b""
