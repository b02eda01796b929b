"""Names and the addresses that stand for them inside one jail.

The jail never sees a real address. A name gets one of 198.18.0.0/15 (RFC 2544: of no public use),
and the address a connection went to gives the name back. None is used for a second name within a
run: what a program remembers stays true, and a stale address leads nowhere else. Pure.
"""

from __future__ import annotations

from typing import Final

# 198.18.0.1; the network's own address is left out.
_FIRST: Final = (198 << 24) | (18 << 16) | 1

# Names of one run, below the 131,070 addresses there are. A wildcard rule lets a server make up
# names without end; as many take 5 MB.
NAMES_LIMIT: Final = 16_384


class Names:
    """The names that were asked for in one run, each with its address."""

    def __init__(self, limit: int = NAMES_LIMIT) -> None:
        self._limit = min(limit, NAMES_LIMIT)
        self._numbers: dict[str, int] = {}
        self._names: list[str] = []

    def address_of(self, name: str) -> str | None:
        """The address that stands for a canonical name, None when there is none left."""
        number = self._numbers.get(name)
        if number is None:
            if len(self._names) >= self._limit:
                return None
            number = len(self._names)
            self._numbers[name] = number
            self._names.append(name)
        return _dotted(_FIRST + number)

    def name_of(self, address: str) -> str | None:
        """The name an address stands for, None for one that was not given out."""
        octets = address.split(".")
        if len(octets) != 4 or not all(octet.isdecimal() for octet in octets):  # noqa: PLR2004
            return None
        value = int.from_bytes(bytes(int(octet) & 0xFF for octet in octets), "big")
        number = value - _FIRST
        if not 0 <= number < len(self._names) or _dotted(value) != address:
            return None
        return self._names[number]


def _dotted(value: int) -> str:
    return ".".join(str(octet) for octet in value.to_bytes(4, "big"))
