"""What a person is shown of a server's words, and what their answer makes of the lock.

An answer is bound to a digest over exactly what was shown: each item with its change, the approved
and the seen object. So nothing that came later, and nothing that was left out, can be approved.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from mcp_jail.core.approved import lock as locks
from mcp_jail.core.approved.lock import Change, Drift, ItemKind, Lock, Pin
from mcp_jail.core.sha256 import sha256

# Hex digits of the digest that a page shows, and the fewest that an answer repeats. The server
# writes both catalogues, the one that is read and the one it would have approved, so it looks for
# any two that meet (a birthday): half of the bits count. 48 take a laptop a minute, 128 take
# 2**64 catalogues.
SHORT_DIGEST: Final = 32


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
        shown = [rows, kinds, self.is_named, self.seen.left_out]
        return sha256(locks.canonical(shown)).hexdigest()

    @property
    def taken_out(self) -> tuple[Drift, ...]:
        """The items that an approval takes out of the lock: those that are gone, if named."""
        return tuple(each for each in self.drifts if each.seen is None and self.is_named)

    @property
    def kept(self) -> tuple[Drift, ...]:
        """The items that are gone and stay approved all the same, as nobody named them."""
        return tuple(each for each in self.drifts if each.seen is None and not self.is_named)

    @property
    def taken_up(self) -> tuple[Drift, ...]:
        """The items that an approval takes up as they were seen."""
        return tuple(each for each in self.drifts if each.seen is not None)

    @property
    def turned_down(self) -> tuple[Drift, ...]:
        """The items that a rejection is about: what is only gone, if it was named."""
        return tuple(each for each in self.drifts if each.seen is not None or self.is_named)


class UnknownItemError(LookupError):
    """An item was named that does not differ; its argument is the name."""


def review(approved: Lock | None, seen: Lock, names: Iterable[str] = ()) -> Review:
    """What differs and was not rejected, or the items of these names (`tool/echo`, or `echo`).

    A rejected one may be named too. UnknownItemError for a name that means none of them.
    """
    drifts = locks.drift(approved, seen)
    if picked := _picked(names, drifts):
        return Review(approved, seen, picked, is_named=True)
    return Review(approved, seen, _open(approved, drifts))


def review_to_reject(approved: Lock | None, seen: Lock, names: Iterable[str] = ()) -> Review:
    """The same for who says no: a name may also mean what was approved and did not change."""
    drifts = _open(approved, locks.drift(approved, seen))
    if picked := _picked(names, drifts, () if approved is None else _unchanged(approved)):
        return Review(approved, seen, picked, is_named=True)
    return Review(approved, seen, drifts)


def approved_after(shown: Review) -> Lock:
    """The lock once a person approved what was shown."""
    keys = frozenset(each.key for each in (*shown.taken_up, *shown.taken_out))
    return locks.approve(shown.approved, shown.seen, keys)


def rejected_after(shown: Review) -> Lock:
    """The lock once a person rejected what was shown."""
    return locks.reject(shown.approved, shown.seen.name, shown.turned_down)


def rejected_of(approved: Lock | None, seen: Lock) -> tuple[str, ...]:
    """The items that are still there in a form that was rejected."""
    drifts = locks.drift(approved, seen)
    still = (each.key for each in drifts if each not in _open(approved, drifts))
    return tuple(dict.fromkeys(still))


def listed_twice(seen: Lock) -> tuple[str, ...]:
    """The items that one client was listed in several forms: no client is shown those."""
    return tuple(
        key for key, pins in seen.items.items() if len({pin.era for pin in pins}) < len(pins)
    )


def waits(approved: Lock | None, seen: Lock | None) -> int:
    """How many items need a person; what is only gone does not."""
    if seen is None:
        return 0
    drifts = _open(approved, locks.drift(approved, seen))
    return len({each.key for each in drifts if each.seen is not None})


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
    return msgspec.structs.replace(locks.without_rejections(lock), items=items, kinds=kinds)


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
        left_out=tuple(dict.fromkeys((*first.left_out, *second.left_out))),
    )


def _offered(seen: Lock) -> Iterator[ItemKind]:
    """The kinds that a server says it lists; all where it said nothing of that."""
    said = [pin.value for pin in seen.items.get(locks.CAPABILITIES, ())]
    for capability, kinds in _KINDS_OF.items():
        if not said or any(type(each) is dict and capability in each for each in said):
            yield from kinds


_KINDS_OF: Final = {
    "tools": (ItemKind.TOOL,),
    "prompts": (ItemKind.PROMPT,),
    "resources": (ItemKind.RESOURCE, ItemKind.TEMPLATE),
}


def _open(approved: Lock | None, drifts: tuple[Drift, ...]) -> tuple[Drift, ...]:
    """Those that nobody rejected."""
    if approved is None or not approved.rejected:
        return drifts
    return tuple(
        each
        for each in drifts
        if each.seen is None or not approved.rejects(each.key, each.seen.digest)
    )


def _unchanged(approved: Lock) -> tuple[Drift, ...]:
    """What was approved, each form of it."""
    return tuple(
        Drift(key, Change.UNCHANGED, pin, None)
        for key, pins in sorted(approved.items.items())
        for pin in pins
    )


def _picked(
    names: Iterable[str], drifts: tuple[Drift, ...], otherwise: tuple[Drift, ...] = ()
) -> tuple[Drift, ...]:
    """What some names mean: of what differs, else of the rest; UnknownItemError."""
    picked: set[tuple[str, Change]] = set()
    for name in names:
        found = _meant(name, drifts) or _meant(name, otherwise)
        if not found:
            raise UnknownItemError(name)
        picked |= {(each.key, each.change) for each in found}
    return tuple(each for each in (*drifts, *otherwise) if (each.key, each.change) in picked)


def _meant(name: str, drifts: tuple[Drift, ...]) -> tuple[Drift, ...]:
    """Those of this very key; else the items of any kind with that name."""
    exact = tuple(each for each in drifts if each.key == name)
    return exact or tuple(each for each in drifts if each.key.partition("/")[2] == name)


def _digest(pin: Pin | None) -> str:
    return "" if pin is None else pin.digest


def _is_launch(key: str) -> bool:
    return locks.kind_of(key) is ItemKind.LAUNCH
