"""What a jail tried on its network, from the relay to the guard: one line of JSON each.

A jail can try a million things a second, and each line becomes an entry of the audit. So the first
of a kind is told at once, and its repetitions are counted and told every few seconds as one line;
beyond a number of kinds all others are counted together. What is refused again is told at once all
the same, a few times a second: another call may have tried it, whose model is to know. Pure: time
comes in.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

import msgspec

from mcp_jail.core.policy import Verdict

# Kinds of attempts that are told apart in one run; 5 MB of audit at most, before any repeats.
KINDS_LIMIT: Final = 1000
# Seconds between two lines about repetitions of one kind.
EVERY: Final = 10.0
# Repeated refusals that are told at once: so many in a row, and so many in a second for long. A
# model makes a call in some seconds, and a call is told five; 50 MB of audit in a day at most.
AGAIN_IN_A_ROW: Final = 10
AGAIN_PER_SECOND: Final = 2.0
# Characters of a host or a reason; the longest name has 253.
TEXT_LIMIT: Final = 300
# Bytes of a line the guard reads: no line of ours is longer, so one write(2) is whole (PIPE_BUF).
LINE_LIMIT: Final = 4096

OTHERS: Final = "(others)"


# Why something is refused that a rule opens, or that no rule could: there is too much of it.
TOO_MANY_NAMES = "too many names in one run"
TOO_MANY_CONNECTIONS = "too many connections at once"


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


class Tally:
    """Attempts in, those to tell out. `now` is in seconds, of a clock that never goes back."""

    def __init__(
        self, kinds: int = KINDS_LIMIT, every: float = EVERY, again: int = AGAIN_IN_A_ROW
    ) -> None:
        self._kinds = kinds
        self._every = every
        self._known: dict[Attempt, _Repeated] = {}
        self._due = 0.0
        self._most_again = self._again = float(again)
        self._then = 0.0  # `_again` was right

    def note(self, attempt: Attempt, now: float) -> Attempt | None:
        """Take an attempt in; it comes back, shortened, where it is to be told at once."""
        attempt = _short(attempt)
        kind = _kind(attempt)
        if kind not in self._known and len(self._known) >= self._kinds:
            # Verdicts and kinds are few, so these never are too many.
            kind = Attempt(what=attempt.what, verdict=attempt.verdict, host=OTHERS)
        repeated = self._known.get(kind)
        if repeated is None:
            self._known[kind] = _Repeated()
            return attempt if kind.host != OTHERS else _with_numbers(kind, attempt)
        if self._may_tell_again(attempt, now):
            return msgspec.structs.replace(attempt, again=True)
        if not repeated.times:
            self._due = self._due or now + self._every
        repeated.add(attempt)
        return None

    def due(self, now: float) -> list[Attempt]:
        """The repetitions that are to be told now."""
        return self.rest() if self._due and now >= self._due else []

    def wait(self, now: float) -> float | None:
        """Seconds until something is due, None where nothing waits."""
        return max(0.0, self._due - now) if self._due else None

    def rest(self) -> list[Attempt]:
        """All repetitions that were not told yet."""
        self._due = 0.0
        known = self._known.items()
        told = [_with_numbers(kind, repeated) for kind, repeated in known if repeated.times]
        for repeated in self._known.values():
            repeated.clear()
        return told

    def _may_tell_again(self, attempt: Attempt, now: float) -> bool:
        """Whether a repetition is a refusal, of which few were told of late; if so it is one."""
        if attempt.verdict is Verdict.ALLOW or attempt.what is What.LOST:
            return False
        left = self._again + (now - self._then) * AGAIN_PER_SECOND
        self._again, self._then = min(left, self._most_again), now
        if self._again < 1:
            return False
        self._again -= 1
        return True


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


def _kind(attempt: Attempt) -> Attempt:
    """What makes two attempts the same."""
    return Attempt(
        what=attempt.what,
        verdict=attempt.verdict,
        host=attempt.host,
        port=attempt.port,
        rule=attempt.rule,
        why=attempt.why,
    )


_ENCODER: Final = msgspec.json.Encoder()
_DECODER: Final = msgspec.json.Decoder(Attempt)
