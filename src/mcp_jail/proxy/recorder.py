"""Entries to the audit file: sealed into this run's chain, few writes.

What must be on file before anything is done goes by `append`. What tells of something done already
may wait: `hold` seals it at once, for the right place and time, and it joins the next write.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from mcp_jail.core.recorded.audit import Chain, Entry
from mcp_jail.core.recorded.blotted import Hide, blotted
from mcp_jail.store.journal import Journal

# Bytes of held lines at which they should be written whatever else comes: 200 results or so.
HELD_LIMIT = 64 * 1024


class Recorder:
    """Writes entries of one run; `now_ms` is the wall clock, UTC."""

    def __init__(self, chain: Chain, journal: Journal, now_ms: Callable[[], int]) -> None:
        self._chain = chain
        self._journal = journal
        self._now_ms = now_ms
        self._held = b""
        self._hide: Hide | None = None

    def hide(self, hide: Hide) -> None:
        """From now on, have this take the secrets out of every text that is recorded."""
        self._hide = hide

    @property
    def is_full(self) -> bool:
        """Whether so much is held that it should not wait for the next write."""
        return len(self._held) > HELD_LIMIT

    def hold(self, entries: Iterable[Entry]) -> None:
        """Seal some entries, to be written with the next ones."""
        self._held += self._sealed(entries)

    def append(self, entries: Iterable[Entry] = ()) -> None:
        """Write what is held and some entries in one write; AuditError, now and ever after."""
        lines = self._held + self._sealed(entries)
        self._held = b""
        self._journal.write(lines)

    def close(self) -> None:
        """Bring what was written to disk."""
        self._journal.close()

    def _sealed(self, entries: Iterable[Entry]) -> bytes:
        now = self._now_ms()
        if self._hide is not None:
            entries = [blotted(entry, self._hide) for entry in entries]
        return b"".join([self._chain.seal(entry, now) for entry in entries])
