"""Entries to the audit file: sealed into this run's chain, one write a wake-up."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from mcp_jail.core.audit import Chain, Entry
from mcp_jail.store.journal import Journal


class Recorder:
    """Writes entries of one run; `now_ms` is the wall clock, UTC."""

    def __init__(self, chain: Chain, journal: Journal, now_ms: Callable[[], int]) -> None:
        self._chain = chain
        self._journal = journal
        self._now_ms = now_ms

    def append(self, entries: Iterable[Entry]) -> None:
        """Write some entries in one write; AuditError if that fails, now and ever after."""
        now = self._now_ms()
        self._journal.write(b"".join([self._chain.seal(entry, now) for entry in entries]))

    def close(self) -> None:
        """Bring what was written to disk."""
        self._journal.close()
