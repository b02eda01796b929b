"""What waits for a person: asks with the requests each holds, and the grants that answers leave.

An ask is bound to the item as it was approved and to the exact arguments, and so is what an answer
grants: another tool of that name, or one argument more, is another ask. The launch is bound by
where all this lives, in the memory of one run. Times are seconds of one monotonic clock.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from enum import Enum
from typing import Any, Final

import msgspec

from mcp_jail.core.approved.lock import canonical
from mcp_jail.core.policy import Verdict
from mcp_jail.core.protocol.mcp import CLIENT_REQUESTS, Treatment
from mcp_jail.core.protocol.wire import MessageId, Request
from mcp_jail.core.sha256 import sha256

# Asks that may be open at once. Nobody reads more; each may hold arguments of megabytes.
OPEN_LIMIT: Final = 100

# New asks of one minute. A model that tries one thing after the other must not tire a person out.
NEW_PER_MINUTE: Final = 30
_MINUTE: Final = 60.0

# The same of what a server asks itself: it must not use up what the model's calls have.
SERVERS_OPEN_LIMIT: Final = 20
SERVERS_PER_MINUTE: Final = 10

# Seconds that a "no" to a call that waited counts for the same call again: a model that tries at
# once must not ask a person once more.
NO_SECONDS: Final = 60.0

# Seconds that a yes for always counts before its rule is taken up: it is written after the answer.
RULE_SECONDS: Final = 60.0

# Requests held by all asks: the same call said again and again before it is answered.
HELD_LIMIT: Final = 1_000

# Answers that are remembered at once.
GRANTS_LIMIT: Final = 1_000


class Lasts(Enum):
    """How long an answer counts."""

    ONCE = "once"  # for one call, which may come after the ask has been waited for in vain
    TIME = "time"
    SESSION = "session"  # until this run ends
    ALWAYS = "always"  # until the rule is taken up that who answers writes into the policy


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What a person said: `seconds` are those of TIME, `by` is the way it came."""

    verdict: Verdict
    lasts: Lasts
    by: str
    seconds: float = 0.0


def for_a_while(no: Answer) -> Answer:
    """A "no" that counts for the same call again, which a model makes at once."""
    return msgspec.structs.replace(no, lasts=Lasts.TIME, seconds=NO_SECONDS)


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """One question to a person: whether this may be called with exactly these arguments."""

    ticket: str
    binding: str
    method: str
    name: str
    arguments: dict[str, Any]
    rule: str
    where: str
    reason: str
    since: float
    is_uri: bool = False


class Held(msgspec.Struct, frozen=True):
    """A request that waits for an answer until a time; without a `treatment` it is the server's."""

    request: Request
    treatment: Treatment | None
    until: float

    def is_of(self, id: MessageId | None, *, from_client: bool) -> bool:
        """Whether it is the request that one side means by this id."""
        mine = self.request.id
        same = type(mine) is type(id) and mine == id
        return same and (self.treatment is not None) is from_client


class Grant(msgspec.Struct, frozen=True, kw_only=True):
    """An answer that still counts; it goes by the ticket of its ask."""

    ask: Ask
    answer: Answer
    since: float
    until: float | None  # None: as long as the run

    def counts(self, now: float) -> bool:
        """Whether its time is not over."""
        return self.until is None or self.until > now


def binding_of(method: str, name: str, item: str, arguments: dict[str, Any]) -> str:
    """What makes two calls the same one to a person; `item` is the digest it was approved under."""
    return sha256(canonical([method, name, item, arguments])).hexdigest()


def _is_servers(method: str) -> bool:
    """Whether it is the server that asks the person or the client's model for something."""
    return method not in CLIENT_REQUESTS


class Asks:
    """The asks and grants of one run; `remember` is how long either outlives its call."""

    def __init__(self, remember: float) -> None:
        self.remember = remember
        self._open: dict[str, Ask] = {}  # by ticket
        self._by_binding: dict[str, str] = {}
        self._held: dict[str, list[Held]] = {}
        self._until: dict[str, float] = {}
        self._grants: dict[str, Grant] = {}  # by binding
        self._begun: deque[float] = deque()
        self._begun_by_server: deque[float] = deque()
        self._told_full: float | None = None

    def __len__(self) -> int:
        """The requests that are held."""
        return sum(len(held) for held in self._held.values())

    @property
    def open(self) -> tuple[Ask, ...]:
        """The asks that nobody has answered, oldest first."""
        return tuple(self._open.values())

    def grants(self, now: float) -> tuple[Grant, ...]:
        """The answers that still count, oldest first."""
        return tuple(grant for grant in self._grants.values() if grant.counts(now))

    def get(self, ticket: str) -> Ask | None:
        """The open ask of a ticket."""
        return self._open.get(ticket)

    def held_by(self, ticket: str) -> int:
        """How many requests wait for this very answer."""
        return len(self._held.get(ticket, ()))

    def of_binding(self, binding: str) -> Ask | None:
        """The open ask about this very call."""
        ticket = self._by_binding.get(binding)
        return None if ticket is None else self._open[ticket]

    def may_begin(self, method: str, now: float) -> bool:
        """Whether a person may be troubled with one more question of this method."""
        theirs = _is_servers(method)
        begun = self._begun_by_server if theirs else self._begun
        while begun and begun[0] <= now - _MINUTE:
            begun.popleft()
        are_open = sum(_is_servers(ask.method) is theirs for ask in self._open.values())
        open_limit = SERVERS_OPEN_LIMIT if theirs else OPEN_LIMIT
        return are_open < open_limit and len(begun) < (
            SERVERS_PER_MINUTE if theirs else NEW_PER_MINUTE
        )

    def may_tell_full(self, now: float) -> bool:
        """Whether to say that too much is asked: once a minute, as that is what is asked again."""
        is_told = self._told_full is not None and now < self._told_full + _MINUTE
        self._told_full = self._told_full if is_told else now
        return not is_told

    def begin(self, ask: Ask) -> None:
        """Open an ask."""
        self._open[ask.ticket] = ask
        self._by_binding[ask.binding] = ask.ticket
        self._held[ask.ticket] = []
        self._until[ask.ticket] = ask.since + self.remember
        (self._begun_by_server if _is_servers(ask.method) else self._begun).append(ask.since)

    def hold(self, ask: Ask, held: Held) -> bool:
        """Keep a request until its ask is answered; False where too many are kept."""
        if len(self) >= HELD_LIMIT:
            return False
        self._held[ask.ticket].append(held)
        self._until[ask.ticket] = max(self._until[ask.ticket], held.until + self.remember)
        return True

    def end(self, ask: Ask) -> list[Held]:
        """Close an ask; what it held."""
        del self._open[ask.ticket], self._by_binding[ask.binding], self._until[ask.ticket]
        return self._held.pop(ask.ticket)

    # Requests that are held

    def holds(self, id: MessageId | None, *, from_client: bool) -> bool:
        """Whether a request with this id of one side is being held."""
        return any(
            each.is_of(id, from_client=from_client) for held in self._held.values() for each in held
        )

    def drop(self, id: MessageId | None, *, from_client: bool) -> tuple[Ask, Held] | None:
        """Forget a held request that its side cancelled; it and its ask, which stays open."""
        for ticket, held in self._held.items():
            for each in held:
                if each.is_of(id, from_client=from_client):
                    held.remove(each)
                    return self._open[ticket], each
        return None

    def late(self, now: float) -> list[tuple[Ask, Held]]:
        """Take out the requests that have waited long enough."""
        late = []
        for ticket, held in self._held.items():
            over = [each for each in held if each.until <= now]
            if over:
                self._held[ticket] = [each for each in held if each.until > now]
                late += [(self._open[ticket], each) for each in over]
        return late

    def expired(self, now: float) -> list[Ask]:
        """Close the asks nobody answered and nobody waits for any more, forget old grants."""
        over = [self._open[ticket] for ticket, until in self._until.items() if until <= now]
        for ask in over:
            self.end(ask)
        self._forget_old_grants(now)
        return over

    def release_all(self) -> list[Held]:
        """All that is held: nothing will be answered any more."""
        held = [each for of_one in self._held.values() for each in of_one]
        self._held = {ticket: [] for ticket in self._held}
        return held

    @property
    def due(self) -> float | None:
        """When something of this has to be looked at again, None where nothing waits."""
        if not self._open:  # as it is at nearly every wake-up
            return None
        times = [each.until for held in self._held.values() for each in held]
        return min([*times, *self._until.values()], default=None)

    # Grants

    def grant(self, ask: Ask, answer: Answer, now: float) -> bool:
        """Remember an answer; False where too many are remembered."""
        self._forget_old_grants(now)
        if len(self._grants) >= GRANTS_LIMIT and ask.binding not in self._grants:
            return False
        until: float | None = None
        if answer.lasts is Lasts.ONCE:
            until = now + self.remember
        elif answer.lasts is Lasts.TIME:
            until = now + answer.seconds
        elif answer.lasts is Lasts.ALWAYS:
            until = now + RULE_SECONDS
        self._grants[ask.binding] = Grant(ask=ask, answer=answer, since=now, until=until)
        return True

    def grant_for(self, binding: str, now: float) -> Grant | None:
        """The answer that counts for a call."""
        grant = self._grants.get(binding)
        return grant if grant is not None and grant.counts(now) else None

    def take_grant(self, binding: str, now: float) -> Grant | None:
        """The same; one for a single call is used up by it."""
        grant = self.grant_for(binding, now)
        if grant is not None and grant.answer.lasts is Lasts.ONCE:
            del self._grants[binding]
        return grant

    def revoke(self, ticket: str, now: float) -> Grant | None:
        """Take an answer back; None where none of this ticket counts."""
        for binding, grant in self._grants.items():
            if grant.ask.ticket == ticket and grant.counts(now):
                del self._grants[binding]
                return grant
        return None

    def leave_to_rules(self, decides: Callable[[Ask], bool]) -> None:
        """Forget what was allowed for always where the policy decides by now, however it does."""
        for binding, grant in list(self._grants.items()):
            if grant.answer.lasts is Lasts.ALWAYS and decides(grant.ask):
                del self._grants[binding]

    def _forget_old_grants(self, now: float) -> None:
        over = [binding for binding, grant in self._grants.items() if not grant.counts(now)]
        for binding in over:
            del self._grants[binding]
