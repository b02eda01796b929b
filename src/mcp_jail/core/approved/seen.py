"""What a server said in this run, kept for a person to review.

Bounded in items, in bytes and in forms of one item; what is not kept is not shown to a client
either. An item is kept as it was said last, and in every form where one listing has it in several.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from mcp_jail.core.approved import lock as locks
from mcp_jail.core.approved.lock import ItemKind, Lock, Pin

# Items of one kind that are remembered. Real servers have below 200; a listing may have no end.
ITEMS_LIMIT: Final = 10_000

# Items of all kinds that are kept for a review: a server may begin listing after listing anew.
SEEN_LIMIT: Final = 4 * ITEMS_LIMIT

# Bytes of all that is kept for a review, as JSON: four to fit into a lock file (LOCK_LIMIT) with
# its line breaks. The largest real catalogues take 1 MiB.
SEEN_BYTES_LIMIT: Final = 16 * 1024 * 1024

# Items that no client gets, and characters of their names, that are kept.
LEFT_OUT_LIMIT: Final = 100
LEFT_OUT_LENGTH: Final = 200

# Forms of one item in one listing that are kept: two show that there is no telling which it is.
FORMS_LIMIT: Final = 8


class Seen:
    """The lock-shaped memory of one run."""

    def __init__(self, name: str) -> None:
        self._lock = Lock(name=name)
        self._sizes: dict[str, int] = {}
        self._bytes = 0

    @property
    def lock(self) -> Lock:
        """All that is kept."""
        return self._lock

    def met(self, era: str, version: str, capabilities: dict[str, Any]) -> None:
        """Note the client that the server answers to: its offers may depend on it."""
        peer = {"version": version, "capabilities": capabilities}
        self._lock = msgspec.structs.replace(self._lock, peers=self._lock.peers | {era: peer})

    def keep(self, key: str, pin: Pin, size: int, *, is_twice: bool) -> bool:
        """Keep an item in the place of what was said before, or beside it; whether it fits."""
        items = self._lock.items
        if key not in items and len(items) >= SEEN_LIMIT:
            return False
        before = items.get(key, ()) if is_twice else ()
        if pin.digest in {each.digest for each in before}:
            return True
        if len(before) >= FORMS_LIMIT:
            return False
        old = self._sizes.get(key, 0)
        new = old + size if before else size
        if self._bytes - old + new > SEEN_BYTES_LIMIT:
            return False
        self._bytes, self._sizes[key] = self._bytes - old + new, new
        items[key] = (*before, pin)
        return True

    def leave_out(self, kind: ItemKind, names: Iterable[str], *, is_first: bool) -> bool:
        """Note what no client gets of a listing, anew on its first page; whether there is more."""
        old = self._lock.left_out
        kept = [key for key in old if not (is_first and locks.kind_of(key) is kind)]
        found = [locks.key_of(kind, name[:LEFT_OUT_LENGTH]) for name in names]
        new = tuple(dict.fromkeys((*kept, *found)))[:LEFT_OUT_LIMIT]
        self._lock = msgspec.structs.replace(self._lock, left_out=new)
        return not set(new) <= set(old)

    def is_whole(self, kind: ItemKind) -> bool:
        """Whether a whole listing of a kind was seen."""
        return kind in self._lock.kinds

    def end_listing(self, kind: ItemKind, names: dict[str, str]) -> bool:
        """What a whole listing does not have is not there; whether it is the first of its kind."""
        items = {
            key: pins
            for key, pins in self._lock.items.items()
            if locks.kind_of(key) is not kind or key.partition("/")[2] in names
        }
        self._sizes = {key: self._sizes.get(key, 0) for key in items}
        self._bytes = sum(self._sizes.values())
        is_new = not self.is_whole(kind)
        kinds = (*self._lock.kinds, kind) if is_new else self._lock.kinds
        self._lock = msgspec.structs.replace(self._lock, items=items, kinds=kinds)
        return is_new

    def forget(self, kind: ItemKind) -> None:
        """A kind may be another now, so its listing is not whole any more."""
        kinds = tuple(each for each in self._lock.kinds if each is not kind)
        self._lock = msgspec.structs.replace(self._lock, kinds=kinds)
