"""A verdict in words: the policy key that made it, where it stands, and why."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from mcp_jail.core.policy import Verdict
from mcp_jail.errors import Place

KeyPath = tuple[str, ...]
Places = Mapping[KeyPath, Place]

# The words of an `ask`, the same wherever it is told.
ASK_MEANS = "needs the user's approval"

_REASONS = {
    Verdict.ALLOW: "allowed by the policy",
    Verdict.ASK: ASK_MEANS,
    Verdict.DENY: "not allowed by the policy",
}


class Decision(msgspec.Struct, frozen=True):
    """A verdict, the policy key that made it, and why.

    `ask` is the ticket of the ask that a person answered, where that made the verdict.
    """

    verdict: Verdict
    rule: str
    where: Place | None
    reason: str
    hint: str = ""
    ask: str = ""

    @property
    def place(self) -> str:
        """Where the key stands, as file:line:column; empty where nobody wrote it."""
        return "" if self.where is None else str(self.where)


def plainly(verdict: Verdict, path: KeyPath, places: Places, reason: str = "") -> Decision:
    """What is said of a verdict that stands at a key of the policy."""
    return Decision(verdict, dotted(path), places.get(path), reason or _REASONS[verdict])


def dotted(path: KeyPath) -> str:
    """A key of the policy as people write it."""
    return ".".join(path)


def yaml_key(name: str) -> str:
    """A printable name as a key of the policy file."""
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'
