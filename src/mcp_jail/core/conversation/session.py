"""One conversation between a client and a server: events in, effects out.

What may happen to each thing that arrives:

    from the client                     becomes
    request, allowed and approved       Record (if judged), ToServer under an id of ours
    call of what was never listed       held; ToServer: a listing of ours, then as above or below;
                                        Record, ToClient: refusal, if none comes in time
    call that a person is asked about   held; Record, AskPerson; then as above or below, or a ticket
    request, denied                     Record, ToClient: refusal in the shape of its era
    request, unknown method             Record, ToClient: -32601
    answer to a question passed on      Record, ToServer under the server's id
    notifications/cancelled             ToServer for the request it means, else nothing
    notifications/initialized           ToServer
    line that is no message             Record, ToClient: error
    anything, after the audit failed    ToClient: error, if it is a request

    from the server                     becomes
    answer to an id of ours             ToClient under the client's id, Record (if judged)
    listing                             ToClient without what is not approved; Record, AwaitReview
    result that asks first              ToClient with what may be asked, or a refusal
    answer to any other id              Record
    ping, roots/list                    ToServer: answered by us, from the policy
    sampling, elicitation               Record, ToClient if the policy allows it, else ToServer
    notification that belongs to it     ToClient
    anything else                       Record

    from elsewhere
    the lock file was written           ToClient: listings have changed
    the policy was written              Record, Tell; ToClient: listings have changed; what it asks
                                        nobody about any more is judged anew
    a person answered an ask            Record, AskOver; what it held is judged anew
    time goes on                        ToClient: a ticket, for those who waited long enough

Rules: a call's Record comes before its ToServer. No input makes `handle` raise. Nothing is sent to
either side that was not decoded, judged and rendered anew.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, assert_never

from mcp_jail.core.approved.catalogue import Catalogue
from mcp_jail.core.approved.lock import KIND_OF_LIST
from mcp_jail.core.conversation import questions, replies
from mcp_jail.core.conversation.asking import Asking
from mcp_jail.core.conversation.asks import Ask, Asks, Held
from mcp_jail.core.conversation.calls import Calls
from mcp_jail.core.conversation.clientside import UNRECORDED, ClientSide
from mcp_jail.core.conversation.events import (
    Answered,
    AuditFailed,
    CutOff,
    Effect,
    Event,
    FileChanged,
    FromClient,
    FromPerson,
    FromServer,
    LockChanged,
    NetTried,
    NotAnswered,
    Oversize,
    PolicyChanged,
    PolicyRefused,
    PolicyRestored,
    Record,
    Revoked,
    ServerGone,
    Tell,
    Tick,
    ToClient,
)
from mcp_jail.core.conversation.forwarding import Forwarding
from mcp_jail.core.conversation.serverside import ServerSide
from mcp_jail.core.conversation.state import Describe, State
from mcp_jail.core.conversation.subjects import Subject
from mcp_jail.core.conversation.tally import Tally
from mcp_jail.core.conversation.undecided import Undecided
from mcp_jail.core.policy import Policy, Verdict
from mcp_jail.core.protocol import mcp, wire
from mcp_jail.core.rules import decide


class Session:
    """The state of one run; `handle` is its only door."""

    def __init__(
        self,
        book: decide.Rulebook,
        outlook: decide.Outlook,
        *,
        fresh_id: Callable[[], str],
        fresh_ticket: Callable[[], str],
        describe: Describe,
        roots: tuple[str, ...] = (),
        catalogue: Catalogue | None = None,
    ) -> None:
        catalogue = catalogue or Catalogue(book.policy.name, book.policy.lock)
        state = State(
            book,
            outlook,
            catalogue,
            fresh_id=fresh_id,
            fresh_ticket=fresh_ticket,
            describe=describe,
            roots=roots,
        )
        forwarding = Forwarding(state)
        asking = Asking(state)
        calls = Calls(state, forwarding, asking)
        self._state = state
        self._calls = calls
        self._asking = asking
        self._undecided = Undecided(state)
        self._client = ClientSide(state, forwarding, calls, asking)
        self._server = ServerSide(state, forwarding, asking, calls.release)
        asking.judged_by(self._judge_again, self._by_policy)

    @property
    def tally(self) -> Tally:
        """What was counted so far."""
        return self._state.tally

    @property
    def policy(self) -> Policy:
        """The policy that holds now."""
        return self._state.book.policy

    @property
    def asks(self) -> Asks:
        """What waits for a person, and what persons have said; to be read only."""
        return self._state.asks

    @property
    def unlike_policy(self) -> dict[str, Any]:
        """What of the policy as it is written does not hold, for `ps`."""
        return {
            "restart": list(self._state.restart),
            "policy_refused": self._state.policy_refused,
        }

    @property
    def due(self) -> float | None:
        """When a Tick has to come at the latest, None where nothing waits for one."""
        asks, walks = self._state.asks.due, self._state.walks.due
        if asks is None or walks is None:
            return walks if asks is None else asks
        return min(asks, walks)

    def mark_questions(self, phrase: str) -> None:
        """Say what marks the questions of ours in a client; before, none are asked there."""
        self._asking.in_client.phrase = phrase

    def handle(self, event: Event) -> list[Effect]:
        """What to do about an event, in this order."""
        match event:
            case FromClient(line):
                return self._client.handle(wire.parse(line))
            case FromServer(line):
                return self._server.handle(wire.parse(line), line)
            case Tick(now):
                return self._tick(now)
            case CutOff() | Oversize():
                return self._ragged(event)
            case ServerGone(how):
                return self._server.end_all(mcp.SERVER_GONE, f"the server is gone ({how})")
            case AuditFailed():
                self._state.is_closed = True
                return self._server.end_all(mcp.INTERNAL_ERROR, UNRECORDED)
            case LockChanged() | PolicyChanged() | PolicyRefused() | PolicyRestored():
                return self._file_changed(event)
            case NetTried():
                return self._tried(event)
            case Answered() | NotAnswered() | Revoked():
                return self._about_asks(event)
            case _:
                assert_never(event)

    def _tick(self, now: float) -> list[Effect]:
        self._state.now = now
        due = self.due
        if due is None or due > now:
            return []
        return [*self._asking.tick(), *self._undecided.tick()]

    def _file_changed(self, event: FileChanged) -> list[Effect]:
        match event:
            case LockChanged(lock):
                self._server.answers.lock_changed()
                return self._server.notices.told_of(self._state.catalogue.replace(lock))
            case PolicyChanged():
                self._state.replace_book(event.book)
                self._state.restart, self._state.policy_refused = event.restart, ""
                told = self._server.notices.told_of(KIND_OF_LIST.values())
                return [*replies.policy_taken_up(event), *told, *self._asking.policy_changed()]
            case PolicyRefused(reason):
                self._state.policy_refused = reason
                return replies.policy_refused(self._state.book.policy.name, reason)
            case PolicyRestored():
                self._state.policy_refused = ""
                return replies.policy_restored(self._state.book.policy.name)

    def _about_asks(self, event: FromPerson) -> list[Effect]:
        match event:
            case Answered(ticket, answer):
                return self._asking.answer(ticket, answer)
            case NotAnswered():
                return self._asking.refuse(event)
            case Revoked(ticket):
                return self._asking.revoke(ticket)

    def _by_policy(self, ask: Ask) -> Verdict:
        treatment = mcp.CLIENT_REQUESTS.get(ask.method)
        if treatment is None:
            return questions.verdict_of(ask.method, self._state.book)
        return self._calls.by_policy(treatment, Subject(ask.name, ask.arguments, ask.is_uri))

    def _judge_again(self, held: Held) -> list[Effect]:
        if held.treatment is None:
            return self._server.question(held.request)
        return self._calls.judge_again(held.request, held.treatment)

    def _tried(self, event: NetTried) -> list[Effect]:
        """Write down what the server tried on its network; tell model and person of a refusal."""
        if event.refused:
            self._state.refused.note(event.refused, self._state.in_flight)
        told = [Tell(event.told)] if event.told else []
        return [Record(event.entry), *told]

    def passes_logs(self) -> bool:
        """Whether a plain log message goes to the client now, as it is and without a record."""
        return self._server.notices.passes_logs()

    def _ragged(self, event: CutOff | Oversize) -> list[Effect]:
        if isinstance(event, CutOff):
            return self._server.cut_off(event.line)
        if not event.from_client:
            return self._server.oversize(event)
        reason = f"a line of {event.size} bytes, over the limit of {wire.MESSAGE_LIMIT}"
        error = wire.render_error(None, mcp.TOO_LARGE, f"mcp-jail: {reason}")
        return [*self._state.tally.violation("client", reason), ToClient(error)]
