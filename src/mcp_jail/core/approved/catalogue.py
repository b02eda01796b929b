"""What this run's server says it has, held against the lock: which of it may be shown and called.

Every page of every listing is compared as it passes. An item that is not in the lock as it stands
is neither shown nor callable; the rest goes on. Where the policy trusts a first contact, what no
lock knows of a kind is taken as approved, once. Two walks may run side by side, the client's and
our own before a first call; the last word of the server about an item counts.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from mcp_jail.core.approved import ignored
from mcp_jail.core.approved import lock as locks
from mcp_jail.core.approved.bare import bare_resource
from mcp_jail.core.approved.listed import Item, News, Page, Standing
from mcp_jail.core.approved.lock import Change, Drift, ItemKind, Lock, Pin
from mcp_jail.core.approved.other_words import OtherWords
from mcp_jail.core.approved.seen import ITEMS_LIMIT, Seen
from mcp_jail.core.policy import LockFirst, LockPolicy

# Drifts of one run that are written down: a server may change its words with every listing.
DRIFTS_RECORDED: Final = 1_000


# A listing so far: names to digests, or to what stands for an item listed in two forms.
_Walk = dict[str, str]
_TWICE: Final = ""


class Catalogue:
    """Compares what a server lists with the lock, for one run."""

    def __init__(
        self,
        name: str,
        policy: LockPolicy,
        lock: Lock | None = None,
        proposal: Lock | None = None,
        *,
        called: str = "",
    ) -> None:
        """Begin with nothing seen.

        `name` is this policy's and no other's, `called` is how a command names it. A `proposal`
        bounds what a first contact may be trusted with.
        """
        self.name = name
        self.called = called or name
        self._policy = policy
        self._lock = lock or Lock(name=name)
        self._proposal = proposal
        self._seen = Seen(name)
        self._known: dict[ItemKind, dict[str, _Known]] = {kind: {} for kind in ItemKind}
        self._walks: dict[tuple[ItemKind, bool], _Walk] = {}
        self._noted: set[tuple[str, str]] = set()
        self._other_words = OtherWords()
        self._trusted: dict[str, Pin] = {}
        self._fresh: dict[str, Pin] = {}  # trusted, and not written down yet
        self._may_trust = True
        self._drifts: list[Drift] = []
        self._is_news = False
        self._settled: list[ItemKind] = []

    @property
    def is_enabled(self) -> bool:
        """Whether anything is held against a lock."""
        return self._policy.enabled

    @property
    def seen(self) -> Lock:
        """All that was seen so far, approved or not."""
        return self._seen.lock

    def met(self, era: str, version: str, capabilities: dict[str, Any]) -> None:
        """Note the client that the server answers to."""
        self._seen.met(era, version, capabilities)

    def compare(self, page: Page) -> tuple[Item, ...]:
        """The items of a page that may be shown."""
        walk = self._walk_of(page)
        names: _Walk = {} if walk is None else walk
        shown: dict[str, Item] = {}
        for listed in page.items:
            item = self._restored(page, listed)
            known = self._look_at(page, item, names)
            shown.pop(item.name, None)  # what stands twice on a page is one item, or none
            if known is not None and known.is_approved:
                is_new = self._is_new_resource(page.kind, item)
                shown[item.name] = Item(item.name, bare_resource(item.value)) if is_new else item
        if self._seen.leave_out(page.kind, page.left_out, is_first=page.is_first):
            self._is_news |= self._policy.enabled
        if page.is_last and walk is not None:
            del self._walks[page.kind, page.is_ours]
            self._end_listing(page.kind, walk)
        return tuple(shown.values())

    def compare_server(self, parts: dict[str, Any], era: str) -> dict[str, Any]:
        """The parts of an opening answer (info, instructions, capabilities) that may be shown."""
        items = tuple(Item(name, value) for name, value in parts.items())
        page = Page(ItemKind.SERVER, era, items, is_first=True, is_last=True)
        return {item.name: item.value for item in self.compare(page)}

    def approved_server(self, part: str, era: str) -> Any:
        """What was approved of a part of the server, for that era if there is one, else None."""
        pins = self._lock.items.get(locks.key_of(ItemKind.SERVER, part), ())
        same = [pin for pin in pins if pin.era == era]
        return (same or list(pins))[-1].value if pins else None

    def standing(self, kind: ItemKind, name: str) -> Standing:
        """How an item stands that is about to be called."""
        if kind is ItemKind.RESOURCE:
            return self._standing_of_resource(name)
        known = self._known[kind].get(name)
        if known is None:
            return Standing.UNLISTED if self._seen.is_whole(kind) else Standing.UNSEEN
        if not known.is_approved:
            return Standing.TWICE if known.is_twice else Standing.DRIFTED
        is_settled = not self._policy.enabled or kind in self._lock.kinds
        if is_settled or self._lock.approves(locks.key_of(kind, name), known.pin.digest):
            return Standing.APPROVED
        # Trusted so far: it counts once it is written down, which an endless listing never is.
        return Standing.UNSEEN

    def value_of(self, kind: ItemKind, name: str) -> Any:
        """An item as it was last seen, None if it was not."""
        known = self._known[kind].get(name)
        return None if known is None else known.pin.value

    def words_of(self, kind: ItemKind, name: str) -> str:
        """What an answer about an item is bound to: its digest, and how often that was another.

        Words that came back are not those that an answer was to. Empty without a lock or where the
        item was not seen.
        """
        known = self._known[kind].get(name)
        if known is None or not self._policy.enabled:
            return ""
        return f"{known.pin.digest} {self._other_words.count(locks.key_of(kind, name))}"

    def drift_of(self, kind: ItemKind, name: str) -> Drift | None:
        """How an item differs that was seen, from what was approved of it in its era."""
        known = self._known[kind].get(name)
        if known is None or known.is_approved:
            return None
        key = locks.key_of(kind, name)
        pins = self._lock.items.get(key, ())
        same = [each for each in pins if each.era == known.pin.era]
        held = (same or list(pins))[-1] if pins else None
        return Drift(key, Change.CHANGED if pins else Change.ADDED, held, known.pin)

    def forget(self, kind: ItemKind) -> None:
        """The server says that a listing changed: the next call needs a new one."""
        self._known[kind] = {}
        self._walks.pop((kind, False), None)
        self._walks.pop((kind, True), None)
        self._seen.forget(kind)

    def replace(self, lock: Lock | None) -> frozenset[ItemKind]:
        """Take up a lock that was written meanwhile; the kinds of which other items are shown.

        None, for a lock that is gone or damaged, approves nothing, and no contact is a first one.
        """
        self._lock = lock or Lock(name=self.seen.name)
        self._trusted = {}
        self._noted.clear()  # what was told before an answer is news after it
        self._may_trust = lock is not None
        changed = set()
        for kind, known in self._known.items():
            for name, each in known.items():
                key = locks.key_of(kind, name)
                is_approved = not each.is_twice and self._approves(key, each.pin)
                if is_approved is not each.is_approved:
                    changed.add(kind)
                    known[name] = _Known(each.pin, is_approved, each.is_twice)
        return frozenset(changed)

    def take_news(self) -> News:
        """What was found since the last time this was asked."""
        drifts, waiting = tuple(self._drifts), self.seen if self._is_news else None
        self._drifts, self._is_news = [], False
        trusted = None
        if self._settled or self._fresh:
            # Each page at once: a listing without an end would else be a first contact for ever.
            kinds, self._settled = tuple(self._settled), []
            items: dict[str, tuple[Pin, ...]] = {key: (pin,) for key, pin in self._fresh.items()}
            self._fresh = {}
            name, peers = self.seen.name, self.seen.peers
            trusted = Lock(name=name, kinds=kinds, items=items, peers=peers)
        return News(drifts, waiting, trusted)

    def _is_new_resource(self, kind: ItemKind, item: Item) -> bool:
        """Whether an item passes only because resources come and go."""
        if kind is not ItemKind.RESOURCE or not self._policy.enabled:
            return False
        key = locks.key_of(kind, item.name)
        return key not in self._lock.items and key not in self._trusted

    # One page

    def _walk_of(self, page: Page) -> _Walk | None:
        """The listing a page continues; None when its beginning was not seen."""
        if page.is_first:
            self._walks[page.kind, page.is_ours] = {}
        return self._walks.get((page.kind, page.is_ours))

    def _restored(self, page: Page, item: Item) -> Item:
        """An item with the members that the policy ignores as they were approved."""
        key = locks.key_of(page.kind, item.name)
        if key not in self._policy.ignore:
            return item
        pins = list(self._lock.items.get(key, ()))
        if self._policy.first is LockFirst.TRUST:
            pins += [self._trusted[key]] if key in self._trusted else []
            pins += () if self._proposal is None else self._proposal.items.get(key, ())
        value = ignored.restored(
            key, item.value, page.era, approved=pins, ignored=self._policy.ignore
        )
        return Item(item.name, value)

    def _look_at(self, page: Page, item: Item, walk: _Walk) -> _Known | None:
        known = self._known[page.kind]
        if item.name not in known and len(known) >= ITEMS_LIMIT:
            return None
        key = locks.key_of(page.kind, item.name)
        pin, size = locks.pin_and_size(page.kind, item.value, page.era)
        is_twice = walk.get(item.name, pin.digest) != pin.digest
        if not self._seen.keep(key, pin, size, is_twice=is_twice):
            return None
        walk[item.name] = _TWICE if is_twice else pin.digest
        if is_twice:  # which of them was meant nobody knows, so none is trusted
            self._trusted.pop(key, None)
            self._fresh.pop(key, None)
        is_approved = not is_twice and self._approves(key, pin)
        known[item.name] = _Known(pin, is_approved, is_twice)
        self._other_words.note(key, pin)
        drift = None if is_approved else self.drift_of(page.kind, item.name)
        is_held = self._policy.enabled and not self._lock.approves(key, pin.digest)
        if drift is not None and is_held:
            self._note(drift)
        return known[item.name]

    def _approves(self, key: str, pin: Pin) -> bool:
        if not self._policy.enabled or self._lock.approves(key, pin.digest):
            return True
        if locks.is_free(key, pin.era, self._lock):
            return True
        if locks.kind_of(key) in self._lock.kinds:
            return False
        return self._trusts(key, pin)

    def _trusts(self, key: str, pin: Pin) -> bool:
        """Whether a first contact lets this pass; it then counts as approved, and only it."""
        is_first = self._may_trust and locks.kind_of(key) not in self._lock.reviewed
        is_first = is_first and key not in self._lock.items
        if self._policy.first is not LockFirst.TRUST or not is_first:
            return False
        trusted = self._trusted.get(key)
        if trusted is not None:
            return trusted.digest == pin.digest
        if not self._is_proposed(key, pin):
            return False
        self._trusted[key] = self._fresh[key] = pin
        return True

    def _is_proposed(self, key: str, pin: Pin) -> bool:
        """Whether a proposal has this, if there is one; it may say nothing of what is started."""
        if self._proposal is None or self._proposal.approves(key, pin.digest):
            return True
        is_launch = locks.kind_of(key) is ItemKind.LAUNCH
        return is_launch and ItemKind.LAUNCH not in self._proposal.kinds

    def _standing_of_resource(self, uri: str) -> Standing:
        """Which resources there are is no drift: one that is not listed goes by all that are.

        So a server of which nobody approved the resources gives none, listed or not.
        """
        known = self._known[ItemKind.RESOURCE]
        key = locks.key_of(ItemKind.RESOURCE, uri)
        if uri in known and not known[uri].is_approved:
            return Standing.TWICE if known[uri].is_twice else Standing.DRIFTED
        if key in self._lock.rejected and key not in self._lock.items:
            return Standing.DRIFTED
        if ItemKind.RESOURCE in self._lock.kinds:
            return Standing.APPROVED
        if not self._seen.is_whole(ItemKind.RESOURCE):
            return Standing.UNSEEN
        # Without any resource there is none to approve; then it is the server that counts.
        is_server_approved = any(
            locks.kind_of(key) is not ItemKind.LAUNCH for key in self._lock.items
        )
        is_all_approved = all(each.is_approved for each in known.values())
        return Standing.APPROVED if is_server_approved and is_all_approved else Standing.UNREVIEWED

    # A whole listing

    def _end_listing(self, kind: ItemKind, walk: _Walk) -> None:
        """What a whole listing does not have is not there."""
        self._known[kind] = {name: each for name, each in self._known[kind].items() if name in walk}
        is_new = self._seen.end_listing(kind, walk)
        if not self._policy.enabled:
            return
        if kind not in self._lock.kinds:
            self._settle(kind, is_new=is_new)

    def _settle(self, kind: ItemKind, *, is_new: bool) -> None:
        """Write a first contact down, if the policy trusts it; else it waits for a person."""
        is_first = self._may_trust and kind not in self._lock.reviewed
        if self._policy.first is LockFirst.TRUST and is_first:
            kinds = (*self._lock.kinds, kind)
            pins = {
                key: (pin,) for key, pin in self._trusted.items() if key not in self._lock.items
            }
            mine = {key: each for key, each in pins.items() if locks.kind_of(key) is kind}
            self._lock = msgspec.structs.replace(
                self._lock, kinds=kinds, items=self._lock.items | mine
            )
            self._settled.append(kind)
        elif is_new:
            self._is_news = True

    def _note(self, drift: Drift) -> None:
        """Remember a drift for whoever writes it down, once for each form it takes."""
        digest = "" if drift.seen is None else drift.seen.digest
        if self._lock.rejects(drift.key, digest):
            return  # it was told, and answered
        if (drift.key, digest) in self._noted or len(self._noted) >= DRIFTS_RECORDED:
            return
        self._noted.add((drift.key, digest))
        self._drifts.append(drift)
        self._is_news = True


class _Known(msgspec.Struct, frozen=True):
    """An item as it was last seen, and whether it may be shown and called.

    Never, if one listing had it in several forms.
    """

    pin: Pin
    is_approved: bool
    is_twice: bool
