"""How often something may happen: the `limit` of a rule, counted over the time before a call."""

from __future__ import annotations

from collections import deque
from typing import Final

import msgspec

# Seconds of a unit, in the durations and rates of a policy.
_SECONDS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_UNITS: Final = {"s": "a second", "min": "a minute", "h": "an hour"}


class Limit(msgspec.Struct, frozen=True):
    """At most `count` in any time of this many seconds; `text` is how the policy says it."""

    count: int
    seconds: float
    text: str

    @property
    def told(self) -> str:
        """The limit in words."""
        return f"{self.count} {_UNITS[self.text.partition('/')[2]]}"


def limit_of(rate: str) -> Limit:
    """The limit of a policy's rate, such as `30/min`."""
    count, _, unit = rate.partition("/")
    return Limit(int(count), _SECONDS[unit], rate)


def seconds_of(duration: str) -> float:
    """The seconds of a policy's duration, such as `50s`."""
    number = duration.rstrip("abcdefghijklmnopqrstuvwxyz")
    return int(number) * _SECONDS[duration[len(number) :]]


class Rates:
    """What was let through lately, by the key of its rule; times never go back."""

    def __init__(self) -> None:
        self._times: dict[str, deque[float]] = {}

    def has_room(self, key: str, limit: Limit, now: float) -> bool:
        """Whether one more would not be too many."""
        times = self._times.setdefault(key, deque())
        while times and times[0] <= now - limit.seconds:
            times.popleft()
        return len(times) < limit.count

    def take(self, key: str, limit: Limit, now: float) -> bool:
        """Count one more, unless that would be too many."""
        if not self.has_room(key, limit, now):
            return False
        self._times[key].append(now)
        return True
