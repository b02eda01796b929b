"""The port through which decisions ask about the world: what a path is, whether a pattern fits.

Decisions are pure; what they cannot know is asked here, and the edges answer (`sandbox.view`,
`proxy.patterns`). A test answers from a dictionary.
"""

from __future__ import annotations

from enum import Enum
from typing import Protocol

import msgspec


class Space(Enum):
    """Whose file tree is meant: a path may be two different files inside and outside."""

    HOST = "host"
    JAIL = "jail"


class SeenKind(Enum):
    """What stands at a path, its last component not followed."""

    MISSING = "missing"
    DIRECTORY = "directory"
    FILE = "file"  # anything that is neither directory nor link
    LINK = "link"
    OPAQUE = "opaque"  # cannot be told, or can change under our eyes: never resolves


class Seen(msgspec.Struct, frozen=True):
    """An answer of `look`; `target` is the link's text and None for every other kind."""

    kind: SeenKind
    target: str | None = None


MISSING = Seen(SeenKind.MISSING)
DIRECTORY = Seen(SeenKind.DIRECTORY)
FILE = Seen(SeenKind.FILE)
OPAQUE = Seen(SeenKind.OPAQUE)


class Outlook(Protocol):
    """What a decision may ask."""

    def look(self, space: Space, path: str) -> Seen:
        """What stands at a canonical absolute path: no `.`, no `..`, parents are directories."""

    def is_straight(self, path: str) -> bool:
        """Whether no component of a clean absolute path is a link, in both trees.

        A short cut for the usual case: True only where `look` would say the same of each component,
        False where that is not certain.
        """

    def fullmatch(self, pattern: str, text: str) -> bool | None:
        """Whether a regular expression fits the whole text; None where it took too long."""


class Blind:
    """An outlook that knows nothing: no path resolves, no pattern fits."""

    def look(self, space: Space, path: str) -> Seen:  # noqa: ARG002
        """Nothing that resolves."""
        return OPAQUE

    def is_straight(self, path: str) -> bool:  # noqa: ARG002
        """Never certain."""
        return False

    def fullmatch(self, pattern: str, text: str) -> bool | None:  # noqa: ARG002
        """Never in time."""
        return None
