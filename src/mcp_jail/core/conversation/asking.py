"""What a person is asked about: held, answered with a ticket when nobody answers in time.

The ticket is for the person who answers; the model is told to make the very same call again later.
A call goes to the server only after its answer, and is judged anew then: policy and lock may have
changed while it waited. What a server asks of the person or of the client's model goes the same
way: a request of it is held; a result that asks (2026-07-28) cannot be, so its call ends with the
ticket and is made again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from mcp_jail.core.conversation import ask_words, replies, walks
from mcp_jail.core.conversation.asks import Answer, Ask, Grant, Held, Lasts, binding_of, for_a_while
from mcp_jail.core.conversation.events import (
    AskOver,
    AskPerson,
    Effect,
    NotAnswered,
    Record,
    Tell,
)
from mcp_jail.core.conversation.in_client import InClient
from mcp_jail.core.conversation.questions import Refusal
from mcp_jail.core.conversation.state import State
from mcp_jail.core.conversation.subjects import Subject
from mcp_jail.core.policy import Verdict
from mcp_jail.core.protocol import mcp, wire
from mcp_jail.core.protocol.mcp import Era, Treatment
from mcp_jail.core.protocol.wire import Failure, MessageId, Request, Result
from mcp_jail.core.recorded.audit import Entry, Kind
from mcp_jail.core.rules.decision import Decision

# The words for a call that is not even asked about.
TOO_MANY: Final = (
    "the user is asked about too much already; wait a minute before the next call of this kind"
)

# The same for a person and the audit, and what these are told of a person's "no".
_FULL: Final = "too much is asked at once"
_DENIED: Final = "denied by the user"

# Why a call that is asked about has not been passed on.
_WAITS: Final = "nobody has answered yet"
_GIVEN_UP: Final = "whoever asked for it gave it up while it waited"
_ASKED_THERE: Final = "the client asks its user"

# Judges a held request again, once its ask is answered.
Judge = Callable[[Held], list[Effect]]

# What the policy, as it is now, says to what an ask is about.
ByPolicy = Callable[[Ask], Verdict]


class Asking:
    """The asks of one run."""

    def __init__(self, state: State) -> None:
        self._state = state
        self.in_client = InClient(state)
        self._judge: Judge = lambda _: []
        self._by_policy: ByPolicy = lambda _: Verdict.ASK

    def judged_by(self, judge: Judge, by_policy: ByPolicy) -> None:
        """Say who judges what was held, once its ask is answered or the policy is another."""
        self._judge = judge
        self._by_policy = by_policy

    # What is asked about

    def answered(self, method: str, subject: Subject, decision: Decision) -> Decision | None:
        """What a person has said to this very call before, if it still counts."""
        binding = self._binding(method, subject)
        return _by_grant(decision, self._state.asks.take_grant(binding, self._state.now))

    def would_answer(self, method: str, subject: Subject, decision: Decision) -> Decision | None:
        """The same, but what counts once counts still."""
        binding = self._binding(method, subject)
        return _by_grant(decision, self._state.asks.grant_for(binding, self._state.now))

    def hold(
        self, request: Request, treatment: Treatment | None, subject: Subject, decision: Decision
    ) -> list[Effect]:
        """Keep a request until a person answers, or for as long as its sender can wait."""
        state = self._state
        ask, effects = self.begin(request.method, subject, decision)
        held = Held(request, treatment, state.now + state.wait)
        if ask is not None and treatment is not None and self.in_client.can(request, ask):
            if mcp.era_of(request.params) is Era.MODERN:
                waits = self._call_entry(ask, held, Verdict.ASK, _ASKED_THERE)
                return [*effects, waits, self.in_client.instead(request, ask)]
            if not self.in_client.is_open(ask):
                effects.append(self.in_client.put(ask))
        if ask is None or not state.asks.hold(ask, held):
            return [*effects, *self._too_many(held, subject, decision)]
        return effects

    def begin(
        self, method: str, subject: Subject, decision: Decision
    ) -> tuple[Ask | None, list[Effect]]:
        """The ask about this, opened if there is none yet; None where too many are open."""
        state = self._state
        binding = self._binding(method, subject)
        ask = state.asks.of_binding(binding)
        if ask is not None:
            return ask, []
        if not state.asks.may_begin(method, state.now):
            return None, []
        ask = Ask(
            ticket=state.fresh_ticket(),
            binding=binding,
            method=method,
            name=subject.name,
            arguments=subject.arguments,
            rule=decision.rule,
            where=decision.place,
            reason=decision.reason,
            since=state.now,
            is_uri=subject.is_uri,
        )
        state.asks.begin(ask)
        told = Tell(ask_words.told(ask))
        return ask, [Record(self._entry(ask, Kind.ASK, "ask")), told, AskPerson(ask)]

    def later(self, wanted: Sequence[Refusal]) -> tuple[list[Effect], int, str]:
        """Ask about what cannot be held; the code and the words for the call that ends by it."""
        effects: list[Effect] = []
        first = ""
        for each in wanted:
            ask, begun = self.begin(each.method, each.subject, each.decision)
            if ask is None:
                return effects, mcp.TOO_OFTEN, TOO_MANY
            effects += begun
            first = first or ask.ticket
        return effects, mcp.WAITING, replies.waiting_text(first)

    def said_in_client(
        self, id: MessageId | None, message: Result | Failure
    ) -> list[Effect] | None:
        """What a client answers to a question of ours, None where it is none of ours."""
        answer = None if isinstance(message, Failure) else wire.whole(message.raw)
        said = self.in_client.answered(id, answer)
        if said is None:
            return None
        ask, answered = said
        return [] if answered is None else self.answer(ask.ticket, answered)

    def retried(
        self, request: Request, treatment: Treatment
    ) -> tuple[Request | None, list[Effect]]:
        """A call that is made again with an answer to us, without it, and what comes of that.

        None for one that comes with a "no" to what was answered elsewhere meanwhile: the call has
        not been made, so the last word counts.
        """
        said = self.in_client.retried(request.params)
        if said is None:
            return request, []
        ask, answered = said
        params = {n: each for n, each in request.params.items() if n not in mcp.RETRY_MEMBERS}
        again = Request(request.id, request.method, params)
        if answered is None:
            return again, []
        if self._state.asks.get(ask.ticket) is None and answered.verdict is Verdict.DENY:
            return None, self._late_no(ask, answered, Held(again, treatment, self._state.now))
        return again, self.answer(ask.ticket, answered)

    # What becomes of it

    def tick(self) -> list[Effect]:
        """What is due: tickets for those who cannot wait longer, asks that nobody answered."""
        state = self._state
        due = state.asks.due
        if due is None or due > state.now:
            return []
        effects: list[Effect] = []
        for ask, held in state.asks.late(state.now):
            effects += [self._call_entry(ask, held, Verdict.ASK, _WAITS), ask_words.late(ask, held)]
        for ask in state.asks.expired(state.now):
            entry = self._entry(ask, Kind.ANSWER, "expired")
            effects += [Record(entry), AskOver(ask, "expired"), *self.in_client.over(ask)]
        return effects

    def answer(self, ticket: str, answer: Answer) -> list[Effect]:
        """Take a person's answer; nothing, where no such ask is open."""
        state = self._state
        ask = state.asks.get(ticket)
        if ask is None:
            return []
        held = state.asks.end(ask)
        is_no = answer.verdict is Verdict.DENY
        counts = answer
        if is_no and held and answer.lasts is Lasts.ONCE:  # it ends all that wait for it
            counts = for_a_while(answer)
        state.asks.grant(ask, counts, state.now)
        detail = {"by": answer.by, "lasts": answer.lasts.value}
        entry = self._entry(ask, Kind.ANSWER, answer.verdict.value, detail)
        effects: list[Effect] = [Record(entry), AskOver(ask, answer.verdict.value)]
        effects += self.in_client.over(ask)
        for each in held:
            effects += self._denied(ask, each) if is_no else self._judge(each)
        return effects

    def policy_changed(self) -> list[Effect]:
        """Close what the policy asks nobody about any more, and judge by it what waited."""
        effects: list[Effect] = []
        for ask in self._state.asks.open:
            verdict = self._by_policy(ask)
            if verdict is Verdict.ASK:
                continue
            held = self._state.asks.end(ask)
            entry = self._entry(ask, Kind.ANSWER, verdict.value, {"by": "policy"})
            effects += [Record(entry), AskOver(ask, verdict.value), *self.in_client.over(ask)]
            for each in held:
                effects += self._judge(each)
        self._state.asks.leave_to_rules(lambda ask: self._by_policy(ask) is not Verdict.ASK)
        return effects

    def refuse(self, tried: NotAnswered) -> list[Effect]:
        """Write down that somebody who may not tried to answer; the first thousand times."""
        if not self._state.tally.answer_refused():
            return []
        entry = Entry(
            kind=Kind.ANSWER,
            id=tried.ticket,
            verdict="refused",
            reason=tried.reason,
            detail={"by": tried.by},
        )
        ticket = replies.short(tried.ticket)
        told = f"an answer to {ticket} was refused: it came from {tried.reason}"
        return [Record(entry), Tell(told)]

    def revoke(self, ticket: str) -> list[Effect]:
        """Take an answer back; nothing, where none of this ticket counts."""
        grant = self._state.asks.revoke(ticket, self._state.now)
        if grant is None:
            return []
        return [Record(self._entry(grant.ask, Kind.ANSWER, "revoked"))]

    def drop(self, id: MessageId | None, *, from_client: bool) -> list[Effect] | None:
        """Forget a request that its sender cancelled, None where it is not held here."""
        dropped = self._state.asks.drop(id, from_client=from_client)
        if dropped is None:
            return None
        ask, held = dropped
        effects: list[Effect] = [self._call_entry(ask, held, Verdict.ASK, _GIVEN_UP)]
        if self._state.opening.is_legacy and not self._state.asks.held_by(ask.ticket):
            effects += self.in_client.take_back(ask)  # nobody waits for it there any more
        return effects

    def _late_no(self, ask: Ask, answer: Answer, held: Held) -> list[Effect]:
        """Deny what somebody allowed elsewhere before, and say so to whoever that was."""
        state = self._state
        state.asks.grant(ask, for_a_while(answer), state.now)
        detail = {"by": answer.by, "lasts": answer.lasts.value, "late": True}
        record = Record(self._entry(ask, Kind.ANSWER, answer.verdict.value, detail))
        return [record, Tell(ask_words.told_of_late_no(ask)), *self._denied(ask, held)]

    def _denied(self, ask: Ask, held: Held) -> list[Effect]:
        self._state.tally.denials += 1
        told = ask_words.told_to_sender(held, replies.DENIED_BY_USER, mcp.DENIED)
        return [self._call_entry(ask, held, Verdict.DENY, _DENIED), told]

    def _too_many(self, held: Held, subject: Subject, decision: Decision) -> list[Effect]:
        told = ask_words.told_to_sender(held, TOO_MANY, mcp.TOO_OFTEN)
        if held.treatment is None and not self._state.tally.question_refused():
            return [told]
        if held.treatment is not None:
            self._state.tally.denials += 1
        arguments, digest = self._state.describe(subject.arguments)
        entry = Entry(
            kind=Kind.CALL,
            method=held.request.method,
            name=subject.name,
            id=self._state.in_flight.fresh_id(),
            verdict=Verdict.DENY.value,
            rule=decision.rule,
            where=decision.place,
            reason=_FULL,
            arguments=arguments,
            digest=digest,
            detail=ask_words.sender(held),
        )
        to_person = f"denied {replies.short(subject.name or held.request.method)}: {_FULL}"
        to_person += "; what else is denied so for a minute is in the audit alone"
        tell = [Tell(to_person)] if self._state.asks.may_tell_full(self._state.now) else []
        return [Record(entry), *tell, told]

    def _binding(self, method: str, subject: Subject) -> str:
        """What the ask is bound to; the item's digest is the one it is approved under."""
        treatment = mcp.CLIENT_REQUESTS.get(method)
        kind = treatment and walks.kind_needed(treatment, is_uri=subject.is_uri)
        item = "" if kind is None else self._state.catalogue.words_of(kind, subject.name)
        return binding_of(method, subject.name, item, subject.arguments)

    def _call_entry(self, ask: Ask, held: Held, verdict: Verdict, reason: str) -> Record:
        """The entry of a request that is not passed on now."""
        entry = self._entry(
            ask, Kind.CALL, verdict.value, {"ask": ask.ticket} | ask_words.sender(held)
        )
        id = self._state.in_flight.fresh_id()
        return Record(msgspec.structs.replace(entry, id=id, reason=reason))

    def _entry(
        self, ask: Ask, kind: Kind, verdict: str, detail: dict[str, Any] | None = None
    ) -> Entry:
        arguments, digest = self._state.describe(ask.arguments)
        is_whole = kind in {Kind.ASK, Kind.CALL}
        return Entry(
            kind=kind,
            method=ask.method,
            name=ask.name,
            id=ask.ticket,
            verdict=verdict,
            rule=ask.rule,
            where=ask.where if is_whole else "",
            reason=ask.reason if is_whole else "",
            arguments=arguments if is_whole else None,
            digest=digest,
            detail=detail or {},
        )


def _by_grant(decision: Decision, grant: Grant | None) -> Decision | None:
    """A decision as a person's answer makes it."""
    if grant is None:
        return None
    verdict = grant.answer.verdict
    reason = _DENIED if verdict is Verdict.DENY else ""
    return msgspec.structs.replace(
        decision, verdict=verdict, reason=reason, hint="", ask=grant.ask.ticket
    )
