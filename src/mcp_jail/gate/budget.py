"""So many in a second and no more, whoever decides how much comes in."""

from __future__ import annotations

from mcp_jail.gate.loop import Loop


class PerSecond:
    """What may be done in the second that runs."""

    def __init__(self, loop: Loop, most: int) -> None:
        self._loop = loop
        self._most = self._left = most
        self._second = 0

    def take(self) -> bool:
        """Whether one more may be done now; if so it counts."""
        second = int(self._loop.now)
        if second != self._second:
            self._second, self._left = second, self._most
        self._left -= 1
        return self._left >= 0

    @property
    def wait(self) -> float:
        """Seconds until the next second begins."""
        return self._second + 1 - self._loop.now
