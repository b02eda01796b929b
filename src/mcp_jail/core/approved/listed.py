"""What listings bring: items, pages of them, how an item stands then, and what is new."""

from __future__ import annotations

from enum import Enum
from typing import Any

import msgspec

from mcp_jail.core.approved.lock import Drift, ItemKind, Lock


class Standing(Enum):
    """How an item stands when it is called."""

    APPROVED = "approved"
    DRIFTED = "drifted"
    TWICE = "twice"  # one listing has it in several forms
    UNLISTED = "unlisted"  # a whole listing was seen, and it is not in it
    UNSEEN = "unseen"  # no whole listing was seen yet
    UNREVIEWED = "unreviewed"  # a resource of a server whose resources nobody has approved


class Item(msgspec.Struct, frozen=True):
    """One item of a listing: the name it is called by, and the whole object."""

    name: str
    value: dict[str, Any]


class Page(msgspec.Struct, frozen=True):
    """One answer to a list request, or a part of it; `is_ours` is our own walk's.

    `left_out` are names that no client gets, whatever is approved: they hide characters.
    """

    kind: ItemKind
    era: str
    items: tuple[Item, ...]
    is_first: bool
    is_last: bool
    is_ours: bool = False
    left_out: tuple[str, ...] = ()


class News(msgspec.Struct, frozen=True):
    """What was found since it was last asked for.

    `waiting` is all that was seen, where something of it needs a person; `trusted` are pins of a
    first contact that a policy lets pass, to be written down.
    """

    drifts: tuple[Drift, ...] = ()
    waiting: Lock | None = None
    trusted: Lock | None = None
