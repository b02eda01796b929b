"""How often a server has said something else of an item than before: an answer ends by that.

What comes back to the words of before is another thing than what a person was asked about: who
changed it meanwhile may have done something by it.
"""

from __future__ import annotations

from mcp_jail.core.approved.lock import Pin
from mcp_jail.core.approved.seen import SEEN_LIMIT


class OtherWords:
    """Counts for one run. Beyond a limit all that was known counts as changed."""

    def __init__(self) -> None:
        self._last: dict[tuple[str, str], str] = {}  # by item and era
        self._changes: dict[str, int] = {}
        self._ended = 0

    def note(self, key: str, pin: Pin) -> None:
        """An item was listed, in this form."""
        known = self._last.get((key, pin.era))
        if known is None and len(self._last) >= SEEN_LIMIT:
            self._ended += 1 + max(self._changes.values(), default=0)
            self._last.clear()
            self._changes.clear()
        self._last[key, pin.era] = pin.digest
        if known is not None and known != pin.digest:
            self._changes[key] = self._changes.get(key, 0) + 1

    def count(self, key: str) -> int:
        """How often an item was changed."""
        return self._changes.get(key, 0) + self._ended
