"""What the loop's poll looks at; nothing is told to the kernel where nothing changed."""

from __future__ import annotations

import select


class Watched:
    """A poll and the descriptors it looks at, each with its mask of events."""

    def __init__(self) -> None:
        self._poll = select.poll()
        self._masks: dict[int, int] = {}

    def only(self, wanted: dict[int, int]) -> None:
        """Look at these descriptors from now on and at no others."""
        if wanted == self._masks:
            return
        for fd in self._masks.keys() - wanted.keys():
            self._poll.unregister(fd)
        for fd, mask in wanted.items():
            if self._masks.get(fd) != mask:
                self._poll.register(fd, mask)
        self._masks = wanted

    def ready(self, timeout_ms: int | None) -> dict[int, int]:
        """The descriptors that have something, with what; empty when the time is over."""
        return dict(self._poll.poll(timeout_ms))
