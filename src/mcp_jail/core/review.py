"""What a person is shown of a server's words, and what their answer makes of the lock.

An answer is bound to a digest over exactly what was shown: each item with its change, the approved
and the seen object. So nothing that came later, and nothing that was left out, can be approved.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from mcp_jail.core import lock as locks
from mcp_jail.core.lock import Drift, ItemKind, Lock, Pin
from mcp_jail.core.sha256 import sha256

# Hex digits of the digest that a page shows, and the fewest that an answer must repeat: 48 bits are
# too many to find a second catalogue for while somebody reads the first.
SHORT_DIGEST: Final = 12


class Review(msgspec.Struct, frozen=True):
    """Some or all of what differs. `is_named`: a person picked the items, and knows each."""

    approved: Lock | None
    seen: Lock
    drifts: tuple[Drift, ...]
    is_named: bool = False

    @property
    def digest(self) -> str:
        """What an answer is bound to (SHA-256, hex)."""
        rows = [
            [drift.key, drift.change.value, _digest(drift.approved), _digest(drift.seen)]
            for drift in self.drifts
        ]
        kinds = [kind.value for kind in self.seen.kinds]
        return sha256(locks.canonical([rows, kinds, self.is_named])).hexdigest()

    @property
    def taken_out(self) -> tuple[Drift, ...]:
        """The items that an approval takes out of the lock: those that are gone, if named."""
        return tuple(each for each in self.drifts if each.seen is None and self.is_named)

    @property
    def taken_up(self) -> tuple[Drift, ...]:
        """The items that an approval takes up as they were seen."""
        return tuple(each for each in self.drifts if each.seen is not None)


class UnknownItemError(LookupError):
    """An item was named that does not differ; its argument is the name."""


def review(approved: Lock | None, seen: Lock, names: Iterable[str] = ()) -> Review:
    """What differs, or the items of these names (`tool/echo`, or `echo`) of it.

    UnknownItemError for a name that means none of them.
    """
    drifts = locks.drift(approved, seen)
    wanted = {key for name in names for key in _meant(name, drifts)}
    if not wanted:
        return Review(approved, seen, drifts)
    picked = tuple(each for each in drifts if each.key in wanted)
    return Review(approved, seen, picked, is_named=True)


def approved_after(shown: Review) -> Lock:
    """The lock once a person approved what was shown."""
    keys = frozenset(each.key for each in (*shown.taken_up, *shown.taken_out))
    return locks.approve(shown.approved, shown.seen, keys)


def rejected_after(shown: Review) -> Lock:
    """What still waits once a person rejected what was shown.

    A kind of which something new was rejected counts as not listed whole any more, so that an
    approval of the rest does not settle it.
    """
    items = dict(shown.seen.items)
    kinds = shown.seen.kinds
    approved = {} if shown.approved is None else shown.approved.items
    for each in shown.drifts:
        if each.key in approved:
            items[each.key] = approved[each.key]
        else:
            items.pop(each.key, None)
            kinds = tuple(kind for kind in kinds if kind is not locks.kind_of(each.key))
    return msgspec.structs.replace(shown.seen, items=items, kinds=kinds)


def waits(approved: Lock | None, seen: Lock | None) -> int:
    """How many items need a person; what is only gone does not."""
    if seen is None:
        return 0
    return len({each.key for each in locks.drift(approved, seen) if each.seen is not None})


def is_part(seen: Lock, approved: Lock | None) -> bool:
    """Whether a run saw too little of a server to approve by: a client may only have said hello.

    Each kind that the server offers must have been listed whole, then or when it was approved.
    Where another server was to be started it saw enough: that is to be judged first.
    """
    if approved is not None and any(_is_launch(each.key) for each in locks.drift(approved, seen)):
        return False
    known = {*seen.kinds, *(() if approved is None else approved.kinds)}
    return not set(_offered(seen)) <= known


def with_launch(seen: Lock, key: str, launch: Pin) -> Lock:
    """What was seen, with what would be started now in place of what was."""
    others = {key: pins for key, pins in seen.items.items() if not _is_launch(key)}
    kinds = (ItemKind.LAUNCH, *(kind for kind in seen.kinds if kind is not ItemKind.LAUNCH))
    items = {key: (launch,)} | others
    return msgspec.structs.replace(seen, items=items, kinds=kinds)


def without_launch(lock: Lock) -> Lock:
    """A lock for other machines: what is started has other paths there."""
    items = {key: pins for key, pins in lock.items.items() if not _is_launch(key)}
    kinds = tuple(kind for kind in lock.kinds if kind is not ItemKind.LAUNCH)
    return msgspec.structs.replace(lock, items=items, kinds=kinds)


def both(first: Lock, second: Lock) -> Lock:
    """What one server showed to clients of two eras."""
    items = dict(first.items)
    for key, pins in second.items.items():
        known = {pin.digest for pin in items.get(key, ())}
        items[key] = (*items.get(key, ()), *(pin for pin in pins if pin.digest not in known))
    kinds = {*first.kinds, *second.kinds}
    return Lock(
        name=first.name,
        kinds=tuple(kind for kind in ItemKind if kind in kinds),
        items=items,
        peers=first.peers | second.peers,
    )


def _offered(seen: Lock) -> Iterator[ItemKind]:
    """The kinds that a server says it lists; all where it said nothing of that."""
    said = [pin.value for pin in seen.items.get(_CAPABILITIES, ())]
    for capability, kinds in _KINDS_OF.items():
        if not said or any(type(each) is dict and capability in each for each in said):
            yield from kinds


_CAPABILITIES: Final = locks.key_of(ItemKind.SERVER, "capabilities")
_KINDS_OF: Final = {
    "tools": (ItemKind.TOOL,),
    "prompts": (ItemKind.PROMPT,),
    "resources": (ItemKind.RESOURCE, ItemKind.TEMPLATE),
}


def _meant(name: str, drifts: tuple[Drift, ...]) -> Iterator[str]:
    """The keys that a name means: the key itself, or the items of any kind with that name."""
    keys = dict.fromkeys(each.key for each in drifts)
    found = [name] if name in keys else [key for key in keys if key.partition("/")[2] == name]
    if not found:
        raise UnknownItemError(name)
    yield from found


def _digest(pin: Pin | None) -> str:
    return "" if pin is None else pin.digest


def _is_launch(key: str) -> bool:
    return locks.kind_of(key) is ItemKind.LAUNCH
