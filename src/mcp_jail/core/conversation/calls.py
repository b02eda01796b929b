"""Requests that are judged: calls of tools, readings, prompts, completions, tasks, subscriptions.

A request is first held against the policy. If that lets it pass, its item must stand in the lock as
it is now; where that is not known, it is held until the server has listed what it has.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from mcp_jail.core.approved.changes import changed_members
from mcp_jail.core.approved.listed import Standing
from mcp_jail.core.approved.lock import ItemKind
from mcp_jail.core.conversation import questions, replies, walks
from mcp_jail.core.conversation.asking import Asking
from mcp_jail.core.conversation.events import Effect, Record, Tell, ToClient
from mcp_jail.core.conversation.forwarding import Forwarding
from mcp_jail.core.conversation.rounds import Retry
from mcp_jail.core.conversation.state import State
from mcp_jail.core.conversation.subjects import Subject, is_retry, subject_of, subscribed_uris
from mcp_jail.core.conversation.subscribed import filter_of
from mcp_jail.core.policy import Additional, Verdict, strictest
from mcp_jail.core.protocol import mcp, wire
from mcp_jail.core.protocol.mcp import Era, Treatment
from mcp_jail.core.protocol.wire import BadLine, Request
from mcp_jail.core.recorded.audit import Entry, Kind
from mcp_jail.core.rules import decide
from mcp_jail.core.rules.decide import Decision
from mcp_jail.core.rules.decision import dotted
from mcp_jail.core.rules.rates import Limit


class Calls:
    """Judges requests and sends on what is allowed."""

    def __init__(self, state: State, forwarding: Forwarding, asking: Asking) -> None:
        self._state = state
        self._forwarding = forwarding
        self._asking = asking

    def judge(
        self,
        request: Request,
        treatment: Treatment,
        *,
        is_listed: bool = False,
        is_new: bool = True,
    ) -> list[Effect]:
        """What to do about a request; after `is_listed` it is not held for a listing any more."""
        if is_new:
            self._state.tally.calls += 1
        subject = subject_of(request, treatment)
        if isinstance(subject, BadLine):
            return self._malformed(request, subject)
        if treatment is Treatment.TASK:
            return self._of_task(request, subject)
        is_task = "task" in request.params and mcp.era_of(request.params) is Era.LEGACY
        if is_task and not self._state.opening.has_tasks:
            fault = BadLine("the server takes no call as a task", mcp.INVALID_PARAMS, request.id)
            return self._malformed(request, fault)
        decision = self._decide(treatment, subject)
        standing = self._standing(treatment, subject)
        if standing is Standing.UNSEEN and not is_listed and _depends_on_listing(decision):
            return self._hold(request, treatment, subject)
        if decision.verdict is not Verdict.DENY:
            decision = self._by_lock(standing) or decision
        if decision.verdict is Verdict.ASK:
            return self._asked(request, treatment, subject, decision)
        return self._decided(request, treatment, subject, decision)

    def release(self, kind: ItemKind) -> list[Effect]:
        """Judge what waited for a listing that is there now, or that will not come."""
        effects: list[Effect] = []
        for request in self._state.walks.release(kind):
            treatment = mcp.CLIENT_REQUESTS[request.method]
            if treatment is Treatment.LISTEN:
                effects += self.listen(request, is_listed=True)
            else:
                effects += self.judge(request, treatment, is_listed=True, is_new=False)
        return effects

    def judge_again(self, request: Request, treatment: Treatment) -> list[Effect]:
        """Judge what a person was asked about; its item may have to be listed again first."""
        if treatment is Treatment.LISTEN:
            return self.listen(request)
        return self.judge(request, treatment, is_new=False)

    def by_policy(self, treatment: Treatment, subject: Subject) -> Verdict:
        """What the policy alone says to a request."""
        if treatment is not Treatment.LISTEN:
            return self._decide(treatment, subject).verdict
        book, uris = self._state.book, subject.arguments["uris"]
        return strictest(*(decide.decide_resource(uri, book).verdict for uri in uris))

    def listen(self, request: Request, *, is_listed: bool = False) -> list[Effect]:
        """A subscription is judged like the reading of each resource it names."""
        wanted = filter_of(request.params, self._state.tasks.is_modern)
        if isinstance(wanted, str):
            fault = BadLine(f"{request.method} {wanted}", mcp.INVALID_PARAMS, request.id)
            return self._malformed(request, fault)
        kept = {"notifications": wanted, "_meta": request.params["_meta"]}
        request = Request(request.id, request.method, kept)
        judged: list[tuple[str, Decision]] = []
        for uri in subscribed_uris(request.params):
            decision = decide.decide_resource(uri, self._state.book)
            if decision.verdict is not Verdict.DENY:
                standing = self._standing(Treatment.LISTEN, _resource(uri))
                if standing is Standing.UNSEEN and not is_listed:
                    return self._hold(request, Treatment.LISTEN, _resource(uri))
                decision = self._by_lock(standing) or decision
            judged.append((uri, decision))
        ours = self._state.in_flight.fresh_id()
        for uri, decision in judged:
            if decision.verdict is Verdict.DENY:
                return self._denied(request, Treatment.LISTEN, _resource(uri), decision)
        to_ask = [(uri, each) for uri, each in judged if each.verdict is Verdict.ASK]
        if to_ask:
            first, decision = to_ask[0]
            subject = Subject(first, {"uris": [uri for uri, _ in to_ask]}, is_uri=True)
            answered = self._asking.answered(request.method, subject, decision)
            if answered is None:
                return self._asking.hold(request, Treatment.LISTEN, subject, decision)
            if answered.verdict is not Verdict.ALLOW:
                return self._denied(request, Treatment.LISTEN, subject, answered)
            allowed = dict.fromkeys((uri for uri, _ in to_ask), answered)
            judged = [(uri, allowed.get(uri, each)) for uri, each in judged]
        entries: list[Effect] = [
            Record(self._entry_of(ours, request, _resource(uri), decision))
            for uri, decision in judged
        ]
        return [*entries, self._forwarding.forward(request, Treatment.LISTEN, id=ours)]

    def _malformed(self, request: Request, fault: BadLine) -> list[Effect]:
        self._state.tally.denials += 1
        error = wire.render_error(request.id, fault.code, f"mcp-jail: {fault.reason}")
        return [*self._state.tally.violation("client", fault.reason), ToClient(error)]

    # A person

    def _asked(
        self, request: Request, treatment: Treatment, subject: Subject, decision: Decision
    ) -> list[Effect]:
        if is_retry(request.params) and self._state.rounds.repeats(request.method, request.params):
            # It answers what the server asked about a call that was allowed.
            decided = msgspec.structs.replace(decision, verdict=Verdict.ALLOW)
            return self._decided(request, treatment, subject, decided)
        answered = self._asking.answered(request.method, subject, decision)
        if answered is None:
            over = None
            if treatment is Treatment.CALL_TOOL:  # nobody is asked about what is refused anyway
                over = self._by_rate(subject.name, self._state.rates.has_room)
            if over is not None:
                return self._denied(request, treatment, subject, over)
            return self._asking.hold(request, treatment, subject, decision)
        return self._decided(request, treatment, subject, answered)

    # The policy

    def _decide(self, treatment: Treatment, subject: Subject) -> Decision:
        state = self._state
        if treatment is Treatment.CALL_TOOL:
            name, declared = subject.name, self._declared(subject.name)
            is_absent = not self._is_listed(treatment, name)
            tool = decide.ToolCall(name, subject.arguments, declared, is_absent=is_absent)
            return decide.decide(tool, state.book, state.outlook)
        if subject.is_uri:
            return decide.decide_resource(subject.name, state.book)
        return decide.decide_prompt(subject.name, state.book)

    def _declared(self, tool: str) -> frozenset[str] | None:
        """The arguments a tool declares; all, where nobody has to know them yet."""
        if self._state.book.policy.tools.additional is Additional.ALLOW:
            return None
        value = self._state.catalogue.value_of(ItemKind.TOOL, tool)
        return None if value is None else mcp.declared_arguments(value)

    # The lock

    def _standing(self, treatment: Treatment, subject: Subject) -> Standing:
        """How the item stands that a request needs; without a lock only its arguments matter."""
        kind = walks.kind_needed(treatment, is_uri=subject.is_uri)
        additional = self._state.book.policy.tools.additional
        is_strict = kind is ItemKind.TOOL and additional is Additional.DENY
        if kind is None or not (self._state.catalogue.is_enabled or is_strict):
            return Standing.APPROVED
        return self._state.catalogue.standing(kind, subject.name)

    def _by_lock(self, standing: Standing) -> Decision | None:
        """A denial where an item is not what a person approved."""
        if standing is Standing.APPROVED or not self._state.catalogue.is_enabled:
            return None
        hint = f"look at it with: mcp-jail diff {self._state.catalogue.called}"
        if standing is Standing.UNSEEN:
            reason, hint = "the server did not say what it has", ""
        elif standing is Standing.UNLISTED:
            reason, hint = "not in the approved catalogue", ""
        elif standing is Standing.TWICE:
            reason = "not in the approved catalogue: the server lists it in several forms"
        elif standing is Standing.UNREVIEWED:
            reason = "nobody has approved the server's resources"
        else:
            reason = "not in the approved catalogue as it is now"
        return Decision(Verdict.DENY, replies.LOCK_RULE, None, reason, hint)

    def _hold(self, request: Request, treatment: Treatment, subject: Subject) -> list[Effect]:
        """Keep a request until the server has listed what it has, and let it do so."""
        kind = walks.kind_needed(treatment, is_uri=subject.is_uri)
        if kind is None or not self._state.walks.hold(kind, request, self._state.now):
            return []
        method, era = walks.METHOD_OF_KIND[kind], mcp.era_of(request.params)
        return [self._forwarding.step(method, era, walks.first_step(request))]

    # What comes of it

    def _decided(
        self, request: Request, treatment: Treatment, subject: Subject, decision: Decision
    ) -> list[Effect]:
        if decision.verdict is Verdict.ALLOW and treatment is Treatment.CALL_TOOL:
            decision = self._by_rate(subject.name, self._state.rates.take) or decision
        if decision.verdict is not Verdict.ALLOW:
            return self._denied(request, treatment, subject, decision)
        return self._allowed(request, treatment, subject, decision)

    def _by_rate(self, tool: str, has_room: Callable[[str, Limit, float], bool]) -> Decision | None:
        """A denial where a tool is called more often than its rules let it be."""
        for rule in self._state.book.tools.for_name(tool):
            limit = rule.limit
            key = dotted(rule.path)
            if limit is not None and not has_room(key, limit, self._state.now):
                path = (*rule.path, "limit")
                reason = f"more than {limit.told}; wait before you call it again"
                where = self._state.book.places.get(path)
                return Decision(Verdict.DENY, dotted(path), where, reason)
        return None

    def _allowed(
        self, request: Request, treatment: Treatment, subject: Subject, decision: Decision
    ) -> list[Effect]:
        retry = Retry({}, 0)
        if is_retry(request.params):
            taken = self._state.rounds.take(request.method, request.params)
            if isinstance(taken, str):
                return self._malformed(request, BadLine(taken, mcp.INVALID_PARAMS, request.id))
            retry = taken
        self._state.note_subscribed(request.method, subject.name)
        ours = self._state.in_flight.fresh_id()
        sent = self._forwarding.forward(
            request,
            treatment,
            id=ours,
            tool=subject.name,
            retry=retry.members if retry.number else None,
            number=retry.number,
        )
        return [Record(self._entry_of(ours, request, subject, decision)), sent]

    def _denied(
        self, request: Request, treatment: Treatment, subject: Subject, decision: Decision
    ) -> list[Effect]:
        self._state.tally.denials += 1
        ours = self._state.in_flight.fresh_id()
        told = replies.told_to_person(
            request.method,
            subject.name,
            decision,
            is_listed=self._is_listed(treatment, subject.name),
        )
        return [
            Record(self._denial_of(ours, request, treatment, subject, decision)),
            ToClient(replies.refusal(request, treatment, decision)),
            Tell(told),
        ]

    def _denial_of(
        self,
        ours: str,
        request: Request,
        treatment: Treatment,
        subject: Subject,
        decision: Decision,
    ) -> Entry:
        """The entry of a denial; one by the lock says which members of the item are other now."""
        entry = self._entry_of(ours, request, subject, decision)
        kind = walks.kind_needed(treatment, is_uri=subject.is_uri)
        if decision.rule != replies.LOCK_RULE or kind is None:
            return entry
        drift = self._state.catalogue.drift_of(kind, subject.name)
        if drift is None:
            return entry
        told = {"item": drift.key, "change": drift.change.value}
        members = changed_members(drift)
        more: dict[str, Any] = {"members": list(members)} if members else {}
        return msgspec.structs.replace(entry, detail=entry.detail | told | more)

    def _is_listed(self, treatment: Treatment, name: str) -> bool:
        """Whether the server has a tool of this name, as far as is known."""
        if treatment is not Treatment.CALL_TOOL:
            return True
        return self._state.catalogue.standing(ItemKind.TOOL, name) is not Standing.UNLISTED

    def _of_task(self, request: Request, subject: Subject) -> list[Effect]:
        """A task goes by the call it is of: that was allowed, or there would be no such task."""
        if not self._state.opening.takes_tasks(mcp.era_of(request.params), request.params):
            return [ToClient(replies.missing_tasks(request))]
        task = self._state.tasks.get(subject.name)
        fault: str | None = "it names a task that is none of this run"
        if task is not None:
            fault = questions.fault_of_answers(task.asked, subject.arguments)
        if task is None or fault is not None:
            fault = f"{request.method}: {fault}"
            return self._malformed(request, BadLine(fault, mcp.INVALID_PARAMS, request.id))
        ours = self._state.in_flight.fresh_id()
        decision = Decision(Verdict.ALLOW, "tools", None, "")
        named = Subject(task.tool, subject.arguments)
        entry = Record(self._entry_of(ours, request, named, decision))
        sent = self._forwarding.forward(request, Treatment.TASK, id=ours, tool=task.tool)
        return [entry, sent]

    def _entry_of(self, ours: str, request: Request, subject: Subject, decision: Decision) -> Entry:
        arguments, digest = self._state.describe(subject.arguments)
        answers = request.params.get("inputResponses")
        return Entry(
            kind=Kind.CALL,
            method=request.method,
            name=subject.name,
            id=ours,
            verdict=decision.verdict.value,
            rule=decision.rule,
            where=decision.place,
            reason=decision.reason if decision.verdict is not Verdict.ALLOW else "",
            arguments=arguments,
            digest=digest,
            detail=({"answers": sorted(answers)} if type(answers) is dict else {})
            | ({"ask": decision.ask} if decision.ask else {}),
        )


def _resource(uri: str) -> Subject:
    return Subject(uri, {}, is_uri=True)


def _depends_on_listing(decision: Decision) -> bool:
    """Whether a decision may be another once the server has listed what it has."""
    return decision.verdict is not Verdict.DENY or decision.rule == "tools.additional"
