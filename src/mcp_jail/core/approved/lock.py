"""The lock: what a person approved of a server's words, and what differs from it now.

Pinned is everything a model or a person may read and a host may act on: whole tools, prompts,
resource templates and known resources with keys nobody has heard of, the server's instructions,
info and capabilities, and the launch identity. A pin is the digest over the canonical JSON of the
whole decoded object, so a change of any leaf is a drift.

Canonical JSON, version 1: keys sorted by code point, order of arrays kept, no white space, UTF-8,
integers exact, 1 is not 1.0, no Unicode normalisation.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any, Final

import msgspec

from mcp_jail.core.sha256 import sha256

VERSION: Final = 1

# Bytes of a lock file. The largest real catalogues (several hundred tools) take 1 MiB.
LOCK_LIMIT: Final = 64 * 1024 * 1024

# The launch identity belongs to no protocol era.
NO_ERA: Final = ""


class ItemKind(Enum):
    """What a pinned item is."""

    LAUNCH = "launch"
    SERVER = "server"
    TOOL = "tool"
    PROMPT = "prompt"
    TEMPLATE = "template"
    RESOURCE = "resource"


# The kind that each list method lists.
KIND_OF_LIST: Final[dict[str, ItemKind]] = {
    "tools/list": ItemKind.TOOL,
    "prompts/list": ItemKind.PROMPT,
    "resources/templates/list": ItemKind.TEMPLATE,
    "resources/list": ItemKind.RESOURCE,
}


# The name of the one item of its kind: what is started.
COMMAND: Final = "command"

# The key of what a server offers.
CAPABILITIES: Final = "server/capabilities"


class Pin(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One object as it was seen or approved, and its digest (SHA-256, hex)."""

    digest: str
    era: str
    value: Any


class Lock(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Pins by `kind/name`; what waits for approval has the same form as what was approved.

    An item has more than one pin where a server describes it differently in the two eras. `kinds`
    are those of which a whole listing was seen; `peers` says, by era, which protocol version and
    client capabilities the server answered to. `rejected` are digests by key that a person does not
    want to be asked about again, `reviewed` the kinds of which they answered for any item: no
    listing of those is a first contact. `left_out` are keys that were seen and can be approved by
    nobody, as their names hide characters.
    """

    v: int = VERSION
    name: str
    kinds: tuple[ItemKind, ...] = ()
    items: dict[str, tuple[Pin, ...]] = {}
    peers: dict[str, dict[str, Any]] = {}
    rejected: dict[str, tuple[str, ...]] = {}
    reviewed: tuple[ItemKind, ...] = ()
    left_out: tuple[str, ...] = ()

    def approves(self, key: str, digest: str) -> bool:
        """Whether this very object was approved under this key."""
        return any(pin.digest == digest for pin in self.items.get(key, ()))

    def rejects(self, key: str, digest: str) -> bool:
        """Whether this very object was rejected under this key."""
        return digest in self.rejected.get(key, ())


class Change(Enum):
    """How an item differs from what was approved."""

    ADDED = "added"
    CHANGED = "changed"
    REMOVED = "removed"
    UNCHANGED = "unchanged"  # as it was approved, which somebody may take back


class Drift(msgspec.Struct, frozen=True):
    """One item that is not as it was approved."""

    key: str
    change: Change
    approved: Pin | None
    seen: Pin | None


def canonical(value: Any) -> bytes:
    """A decoded JSON value as canonical JSON, version 1."""
    return _encode(value)


def key_of(kind: ItemKind, name: str) -> str:
    """The key of an item."""
    return f"{kind.value}/{name}"


def kind_of(key: str) -> ItemKind:
    """The kind of a key; ValueError where it is none."""
    return ItemKind(key.partition("/")[0])


def pin(kind: ItemKind, value: Any, era: str) -> Pin:
    """The pin of an object as it was received."""
    return pin_and_size(kind, value, era)[0]


def pin_and_size(kind: ItemKind, value: Any, era: str) -> tuple[Pin, int]:
    """The pin of an object as it was received, and the bytes it takes as JSON."""
    kept = _steady(kind, value)
    text = canonical(kept)
    digest = sha256(kind.value.encode() + b"\0" + text).hexdigest()
    return Pin(digest, era, kept), len(text)


def is_time(value: Any) -> bool:
    """Whether a value is a date, or a date and time, as ISO 8601 writes them."""
    return type(value) is str and _TIME.fullmatch(value) is not None


def catalogue_digest(seen: Lock) -> str:
    """One digest over all that was seen: what an approval is bound to."""
    lines = [[key, sorted(each.digest for each in pins)] for key, pins in seen.items.items()]
    return sha256(canonical([sorted(lines), [kind.value for kind in seen.kinds]])).hexdigest()


def read_lock(text: bytes) -> Lock:
    """A lock from its file; ValueError says what is wrong with it.

    Every digest is worked out anew: a file whose objects do not have their digests is refused, so
    that nobody is shown one text while another is approved.
    """
    if len(text) > LOCK_LIMIT:
        raise ValueError(f"{len(text)} bytes, over the limit of {LOCK_LIMIT}")
    try:
        lock = _decode(text)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise ValueError(f"no lock file: {error}") from error
    if lock.v != VERSION:
        raise ValueError(f"version {lock.v}; this mcp-jail knows {VERSION}")
    for key, pins in lock.items.items():
        kind = _known_kind(key)
        if not pins or any(pin(kind, each.value, each.era) != each for each in pins):
            raise ValueError(f"the digest of {key[:80]!r} is not that of its object")
    return lock


def write_lock(lock: Lock) -> bytes:
    """A lock as its file: one form for one value, with line breaks, so that versions compare."""
    return msgspec.json.format(_encode(lock), indent=1) + b"\n"


def drift(approved: Lock | None, seen: Lock) -> tuple[Drift, ...]:
    """How what was seen differs from what was approved, sorted by key.

    Which resources there are changes with every file, so only the words of a known one can drift
    once resources were approved at all.
    """
    approved = approved or Lock(name=seen.name)
    found = [
        _drift_of(key, approved.items.get(key, ()), pin)
        for key, pins in seen.items.items()
        for pin in pins
        if not approved.approves(key, pin.digest) and not is_free(key, pin.era, approved)
    ]
    found += [
        Drift(key, Change.REMOVED, pins[-1], None)
        for key, pins in approved.items.items()
        if key not in seen.items and kind_of(key) in seen.kinds and not _is_resource(key)
    ]
    return tuple(sorted(found, key=lambda each: each.key))


def is_free(key: str, era: str, approved: Lock) -> bool:
    """Whether an item needs no approval of its own beside what was approved.

    So it is with new resources, of which there may be any number, and with the capabilities of a
    server in an era in which none were approved: SDKs offer other switches in each, and no word of
    them is passed on.
    """
    if key in approved.rejected:
        return False
    pins = approved.items.get(key, ())
    if key == CAPABILITIES:
        return bool(pins) and all(each.era != era for each in pins)
    return _is_resource(key) and not pins and ItemKind.RESOURCE in approved.kinds


def approve(approved: Lock | None, seen: Lock, keys: frozenset[str] | None = None) -> Lock:
    """The lock after a person approved some keys of what was seen, or all of it.

    What is no longer listed goes only if it is named: a server may list less to a client that can
    do less. A pin of the other era stays, since clients of both may be in use.
    """
    old = approved or Lock(name=seen.name)
    items, rejected = dict(old.items), dict(old.rejected)
    answered = set()
    for each in drift(approved, seen):
        if keys is not None and each.key not in keys:
            continue
        answered.add(kind_of(each.key))
        if each.seen is None:
            if keys is not None:
                del items[each.key]
        else:
            others = [pin for pin in items.get(each.key, ()) if pin.era != each.seen.era]
            items[each.key] = (*others, each.seen)
            rejected.pop(each.key, None)
    if keys is None:
        items |= {key: pins for key, pins in seen.items.items() if key not in items}
    settled = (kind for kind in seen.kinds if _is_settled(kind, seen, items, rejected))
    return Lock(
        name=old.name,
        kinds=_in_order({*old.kinds, *settled}),
        items=items,
        peers=old.peers | seen.peers,
        rejected=rejected,
        reviewed=_in_order({*old.reviewed, *answered}),
    )


def reject(approved: Lock | None, name: str, drifts: Iterable[Drift]) -> Lock:
    """The lock after a person rejected some forms of items.

    What was approved and is not seen otherwise is taken out. Any of these forms stays blocked, and
    nobody is asked until the item changes.
    """
    old = approved or Lock(name=name)
    items, rejected = dict(old.items), dict(old.rejected)
    reviewed = set(old.reviewed)
    for each in drifts:
        reviewed.add(kind_of(each.key))
        forms = items.pop(each.key, ()) if each.seen is None else (each.seen,)
        known = rejected.get(each.key, ())
        rejected[each.key] = (*known, *(pin.digest for pin in forms if pin.digest not in known))
    return msgspec.structs.replace(
        old, items=items, rejected=rejected, reviewed=_in_order(reviewed)
    )


def is_blank(lock: Lock | None) -> bool:
    """Whether nothing was approved."""
    return lock is None or not lock.items


def without_approvals(lock: Lock) -> Lock:
    """A lock of which only the rejections count."""
    return Lock(name=lock.name, rejected=lock.rejected, reviewed=lock.reviewed)


def without_rejections(lock: Lock) -> Lock:
    """A lock of which only the approvals count."""
    return msgspec.structs.replace(lock, rejected={}, reviewed=())


_TIME: Final = re.compile(
    r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:?\d\d)?)?", re.ASCII
)

_encode = msgspec.json.Encoder(order="sorted").encode
_decode = msgspec.json.Decoder(Lock).decode


def _steady(kind: ItemKind, value: Any) -> Any:
    """An object without what changes by nature: a resource's size, and when it was last changed.

    Only a number and a time are left out; anything else in their place is text for somebody.
    """
    if kind is not ItemKind.RESOURCE or type(value) is not dict:
        return value
    kept = {name: each for name, each in value.items() if name != "size" or type(each) is not int}
    notes = kept.get("annotations")
    if type(notes) is dict and is_time(notes.get("lastModified")):
        kept["annotations"] = {name: each for name, each in notes.items() if name != "lastModified"}
    return kept


def _known_kind(key: str) -> ItemKind:
    try:
        return kind_of(key)
    except ValueError:
        raise ValueError(f"no kind of item: {key[:80]!r}") from None


def _drift_of(key: str, pins: tuple[Pin, ...], seen: Pin) -> Drift:
    """The change of a seen item; it is held against the pin of its own era if there is one."""
    if not pins:
        return Drift(key, Change.ADDED, None, seen)
    same_era = [each for each in pins if each.era == seen.era]
    return Drift(key, Change.CHANGED, (same_era or list(pins))[-1], seen)


def _is_resource(key: str) -> bool:
    return key.startswith(ItemKind.RESOURCE.value + "/")


def _is_settled(
    kind: ItemKind,
    seen: Lock,
    items: Mapping[str, tuple[Pin, ...]],
    rejected: Mapping[str, tuple[str, ...]],
) -> bool:
    """Whether a person answered for all that was seen of a kind."""
    mine = (each for each in seen.items.items() if kind_of(each[0]) is kind)
    return all(
        any(pin.digest == each.digest for pin in items.get(key, ()))
        or each.digest in rejected.get(key, ())
        for key, pins in mine
        for each in pins
    )


def _in_order(kinds: set[ItemKind]) -> tuple[ItemKind, ...]:
    return tuple(kind for kind in ItemKind if kind in kinds)
