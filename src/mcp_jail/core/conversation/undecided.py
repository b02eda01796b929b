"""Requests that were held and end without a verdict: each is in the audit all the same.

The client gives one up, the server ends, or it never says what it has. A listing of ours is waited
for so long and no longer: a model must not hang on a server that says nothing.
"""

from __future__ import annotations

from typing import Final

from mcp_jail.core.approved.lock import KIND_OF_LIST, ItemKind
from mcp_jail.core.conversation import replies
from mcp_jail.core.conversation.events import Effect, Record, Tell, ToClient, ToServer
from mcp_jail.core.conversation.state import State
from mcp_jail.core.conversation.subjects import Subject, subject_of, subscribed_uris
from mcp_jail.core.policy import Verdict
from mcp_jail.core.protocol import mcp, wire
from mcp_jail.core.protocol.mcp import Treatment
from mcp_jail.core.protocol.wire import BadLine, Notification, Request
from mcp_jail.core.recorded.audit import Entry, Kind
from mcp_jail.core.rules.decision import Decision

CANCELLED: Final = "the client gave it up while it was held"
LATE: Final = "the server did not list in time what it has"


class Undecided:
    """Ends what was held by one run."""

    def __init__(self, state: State) -> None:
        self._state = state

    def entry(self, request: Request, reason: str) -> Record:
        """The entry of a request that ends here; it was counted when it came."""
        self._state.tally.denials += 1
        subject = _subject_of(request)
        arguments, digest = self._state.describe(subject.arguments)
        return Record(
            Entry(
                kind=Kind.CALL,
                method=request.method,
                name=subject.name,
                id=self._state.in_flight.fresh_id(),
                verdict=Verdict.DENY.value,
                rule=replies.HELD_RULE,
                reason=reason,
                arguments=arguments,
                digest=digest,
            )
        )

    def tick(self) -> list[Effect]:
        """Refuse what has waited for a listing long enough."""
        state = self._state
        effects: list[Effect] = []
        for kind in state.walks.late(state.now):
            effects += self._given_up(kind)
            for request in state.walks.release(kind):
                decision = Decision(Verdict.DENY, replies.LOCK_RULE, None, LATE)
                treatment = mcp.CLIENT_REQUESTS[request.method]
                subject = _subject_of(request)
                effects += [
                    self.entry(request, LATE),
                    ToClient(replies.refusal(request, treatment, decision)),
                    Tell(replies.told_to_person(request.method, subject.name, decision)),
                ]
        return effects

    def _given_up(self, kind: ItemKind) -> list[Effect]:
        """Take a listing of ours back, so that the next call may begin another one."""
        effects: list[Effect] = []
        for waiting in self._state.in_flight:
            if waiting.treatment is Treatment.WALK and KIND_OF_LIST[waiting.method] is kind:
                self._state.in_flight.cancel(waiting)
                cancelled = Notification("notifications/cancelled", {"requestId": waiting.id})
                effects.append(ToServer(wire.render(cancelled)))
        return effects


def _subject_of(request: Request) -> Subject:
    """What a held request is about; one of another shape was never held."""
    treatment = mcp.CLIENT_REQUESTS[request.method]
    if treatment is Treatment.LISTEN:
        uris = subscribed_uris(request.params)
        return Subject(next(iter(uris), ""), {"uris": uris}, is_uri=True)
    subject = subject_of(request, treatment)
    return Subject("", {}) if isinstance(subject, BadLine) else subject
