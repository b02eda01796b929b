"""A short chain of entries that a command writes into a policy's audit, beside its runs."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from mcp_jail.core.recorded.audit import Chain, Entry
from mcp_jail.store.journal import open_journal


@contextmanager
def begin_chain(audit: str) -> Iterator[Callable[[list[Entry]], None]]:
    """A function that writes some entries at once, the first `start` and the last `end`.

    AuditError now or at any writing: who cannot record may not act.
    """
    journal = open_journal(audit)
    chain = Chain(os.urandom(8).hex(), journal.anchor)

    def write(entries: list[Entry]) -> None:
        now = time.time_ns() // 1_000_000
        journal.write(b"".join(chain.seal(entry, now) for entry in entries))

    try:
        yield write
    finally:
        journal.close()
