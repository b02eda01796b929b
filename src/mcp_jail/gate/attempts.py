"""What a jail tried on its network, from the relay to the guard: one line of JSON each.

A jail can try a million things a second, and each line becomes an entry of the audit. So the first
of a kind is told at once, and its repetitions are counted and told every few seconds as one line.
What is refused again is told at once all the same, a few times a second: another call may have
tried it, whose model is to know.

What a rule opens costs the server a real connection and has a larger room of its own: it is told by
name, and the rest of a flood by the rule that opened it, with all that it moved. What is refused
costs nothing; so many kinds of it are told in a row, then so many a second and a few with each call
of a tool, and the rest as a number. Pure: time comes in.
"""

from __future__ import annotations

from collections import OrderedDict
from enum import Enum
from typing import Final

import msgspec

from mcp_jail.core.policy import Verdict

# Kinds that are remembered, of what is opened and of what is refused; of the latter as many are
# told in a row, and then so many new ones in a second: 5 MB of audit at once, and 50 MB in a day.
KINDS_LIMIT: Final = 1000
NEW_PER_SECOND: Final = 2.0
# The same for what is opened, which is two kinds a connection: its beginning and its end. With as
# many lines a second about repetitions, 1 GB in a day of a server that does nothing else.
OPENED_IN_A_ROW: Final = 2 * KINDS_LIMIT
OPENED_PER_SECOND: Final = 20.0
REPEATS_PER_SECOND: Final = 20.0
# Seconds between two lines about repetitions of one kind.
EVERY: Final = 10.0
# Repeated refusals that are told at once: so many in a row, and so many in a second for long. A
# model makes a call in some seconds, and a call is told five; 50 MB of audit in a day at most.
AGAIN_IN_A_ROW: Final = 10
AGAIN_PER_SECOND: Final = 2.0
# The same for each call that begins when there was no room: as many as its model is told.
FOR_A_CALL: Final = 5
# Characters of a host or a reason; the longest name has 253.
TEXT_LIMIT: Final = 300
# Bytes of a line the guard reads: no line of ours is longer, so one write(2) is whole (PIPE_BUF).
LINE_LIMIT: Final = 4096

# What stands for all that is only counted, and why it is.
OTHERS: Final = "(others)"
TOO_MANY_TO_TELL: Final = "more than are told one by one"

# Why something is refused, where that is asked about: because no rule opens it, and another would;
NO_RULE_NAMES: Final = "no rule names it"
NO_RULE_OPENS: Final = "no rule opens it"
NOT_LED_ON: Final = "nothing is led on but TCP to a rule's port"
HELPED_BY_A_RULE: Final = frozenset({NO_RULE_NAMES, NO_RULE_OPENS, NOT_LED_ON})
# or because there is too much of it.
TOO_MANY_NAMES: Final = "too many names in one run"
TOO_MANY_CONNECTIONS: Final = "too many connections at once"


class What(Enum):
    """What was tried, or what became of it."""

    LOOKUP = "lookup"  # a name was asked for that no rule opens
    CONNECT = "connect"  # TCP: opened or refused
    FAILED = "failed"  # opened by a rule, but the other side cannot be reached
    CLOSED = "closed"  # an opened connection is over
    UDP = "udp"
    PING = "ping"
    OTHER = "other"  # another protocol
    LOST = "lost"  # attempts that were not seen or not told, only counted
    BROKEN = "broken"  # the gate itself: nothing passes any more


class Attempt(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One attempt, or `times` of the same. `host` is the name or address the program used."""

    what: What
    verdict: Verdict
    host: str = ""
    port: int = 0
    rule: str = ""  # of network.allow, as it is written
    why: str = ""  # it was refused, or failed
    address: str = ""  # that was dialled
    sent: int = 0  # bytes from the jail
    received: int = 0
    ms: int = 0  # how long it took to open, or how long it was open; the longest of `times`
    times: int = 1
    again: bool = False  # one of its kind was told before


def encode(attempt: Attempt) -> bytes:
    """An attempt as one line, newline included, at most LINE_LIMIT bytes."""
    return _ENCODER.encode(attempt) + b"\n"


def decode(line: bytes) -> Attempt:
    """The attempt a line holds; ValueError for anything that is not one."""
    if len(line) > LINE_LIMIT:
        raise ValueError("a line that is too long")
    return _DECODER.decode(line)


class Room:
    """So many in a row, and so many in a second for long. `now` as below."""

    def __init__(self, most: float, per_second: float) -> None:
        self._most = self._left = float(most)
        self._per_second = per_second
        self._then = 0.0  # `_left` was right

    def make(self, least: float) -> None:
        """Have room for some at least."""
        self._left = max(self._left, min(least, self._most))

    def take(self, now: float) -> bool:
        """Whether there is room for one more; if so it is taken."""
        left = self._left + (now - self._then) * self._per_second
        self._left, self._then = min(left, self._most), now
        if self._left < 1:
            return False
        self._left -= 1
        return True


class Tally:
    """Attempts in, those to tell out. `now` is in seconds, of a clock that never goes back."""

    def __init__(
        self,
        kinds: int = KINDS_LIMIT,
        every: float = EVERY,
        again: int = AGAIN_IN_A_ROW,
        opened: int = OPENED_IN_A_ROW,
    ) -> None:
        self._every = every
        self._opened = _Kinds(kinds)
        self._refused = _Kinds(kinds)
        self._others: dict[Attempt, _Repeated] = {}  # one for each What and rule
        self._new = Room(kinds, NEW_PER_SECOND)
        self._new_opened = Room(opened, OPENED_PER_SECOND)
        self._again = Room(again, AGAIN_PER_SECOND)
        self._due = 0.0
        self._not_before = 0.0  # is the next line about repetitions

    def note(self, attempt: Attempt, now: float) -> list[Attempt]:
        """Take an attempt in; it comes back, shortened, where it is to be told at once.

        So do the repetitions of a kind that is forgotten for it.
        """
        attempt = _short(attempt)
        kind = _kind(attempt)
        is_free = _is_free(attempt)
        kinds = self._opened if is_free else self._refused
        repeated = kinds.get(kind)
        if repeated is None:
            if (self._new_opened if is_free else self._new).take(now):
                return [attempt, *kinds.begin(kind)]
            return self._count(attempt, now)
        if not is_free and self._again.take(now):
            return [msgspec.structs.replace(attempt, again=True)]
        repeated.add(attempt)
        self._begin_to_wait(now)
        return []

    def make_room(self) -> None:
        """Have the next few refusals told at once, whether new or told before."""
        for room in (self._new, self._again):
            room.make(FOR_A_CALL)

    def due(self, now: float) -> list[Attempt]:
        """The repetitions that are to be told now."""
        if not self._due or now < self._due:
            return []
        told = self.rest()
        self._not_before = now + len(told) / REPEATS_PER_SECOND
        return told

    def wait(self, now: float) -> float | None:
        """Seconds until something is due, None where nothing waits."""
        return max(0.0, self._due - now) if self._due else None

    def rest(self) -> list[Attempt]:
        """All repetitions that were not told yet; what was opened goes first."""
        self._due = 0.0
        told = [*self._opened.rest(), *self._refused.rest()]
        counted = {kind: repeated for kind, repeated in self._others.items() if repeated.times}
        # One that came to nothing since is told at once again.
        self._others = {kind: _Repeated() for kind in counted}
        return told + [_with_numbers(kind, repeated) for kind, repeated in counted.items()]

    def _count(self, attempt: Attempt, now: float) -> list[Attempt]:
        """Take in what there is no room for: it is one of many, by the rule that opened it."""
        self._begin_to_wait(now)
        kind = Attempt(
            what=attempt.what,
            verdict=attempt.verdict,
            host=OTHERS,
            rule=attempt.rule,
            why=TOO_MANY_TO_TELL,
        )
        if kind in self._others:
            self._others[kind].add(attempt)
            return []
        self._others[kind] = _Repeated()
        return [_with_numbers(kind, attempt)]

    def _begin_to_wait(self, now: float) -> None:
        self._due = self._due or max(now + self._every, self._not_before)


class _Kinds:
    """The kinds that were told last, each with its repetitions."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._known: OrderedDict[Attempt, _Repeated] = OrderedDict()

    def get(self, kind: Attempt) -> _Repeated | None:
        """The repetitions of a kind, which is then the last to be forgotten."""
        repeated = self._known.get(kind)
        if repeated is not None:
            self._known.move_to_end(kind)
        return repeated

    def begin(self, kind: Attempt) -> list[Attempt]:
        """Remember a kind; the one that is forgotten for it comes back with its repetitions."""
        self._known[kind] = _Repeated()
        if len(self._known) <= self._limit:
            return []
        old, repeated = self._known.popitem(last=False)
        return [_with_numbers(old, repeated)] if repeated.times else []

    def rest(self) -> list[Attempt]:
        """The repetitions of all of them, which are told with that."""
        known = self._known.items()
        told = [_with_numbers(kind, repeated) for kind, repeated in known if repeated.times]
        for repeated in self._known.values():
            repeated.clear()
        return told


class _Repeated:
    """Repetitions of one kind since they were last told."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.times = self.sent = self.received = self.ms = 0

    def add(self, attempt: Attempt) -> None:
        self.times += attempt.times
        self.sent += attempt.sent
        self.received += attempt.received
        self.ms = max(self.ms, attempt.ms)


def _with_numbers(kind: Attempt, of: Attempt | _Repeated) -> Attempt:
    """A kind with the numbers of one attempt, or of several."""
    return msgspec.structs.replace(
        kind, times=of.times, sent=of.sent, received=of.received, ms=of.ms
    )


def _short(attempt: Attempt) -> Attempt:
    if len(attempt.host) <= TEXT_LIMIT and len(attempt.why) <= TEXT_LIMIT:
        return attempt
    return msgspec.structs.replace(
        attempt, host=attempt.host[:TEXT_LIMIT], why=attempt.why[:TEXT_LIMIT]
    )


def _is_free(attempt: Attempt) -> bool:
    """Whether it costs the server something, or cannot be many: it takes no room of refusals."""
    return attempt.verdict is Verdict.ALLOW or attempt.what is What.LOST


def _kind(attempt: Attempt) -> Attempt:
    """What makes two attempts the same: all but the numbers."""
    return Attempt(
        what=attempt.what,
        verdict=attempt.verdict,
        host=attempt.host,
        port=attempt.port,
        rule=attempt.rule,
        why=attempt.why,
        address=attempt.address,
    )


_ENCODER: Final = msgspec.json.Encoder()
_DECODER: Final = msgspec.json.Decoder(Attempt)
