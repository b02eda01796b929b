"""What can be learnt of a connection from the first bytes its client sends. Pure.

The readers (`hello`, `http_host`) give the name those bytes ask for, or raise one of these.
"""

from __future__ import annotations

from typing import NamedTuple


class Asked(NamedTuple):
    """The host that first bytes name: canonical, None where they name none; a port if written."""

    host: str | None
    port: int | None = None


class NeedMoreError(Exception):
    """Nothing wrong so far; with fewer than `at_least` bytes it is not worth another look."""

    def __init__(self, at_least: int) -> None:
        super().__init__(at_least)
        self.at_least = at_least


class UnfitError(Exception):
    """Not what was expected, in words."""
