"""What becomes of each thing a server sends: passed to the client, answered by us, or dropped."""

from __future__ import annotations

from typing import Final

from mcp_jail.core.conversation import handles, questions, replies
from mcp_jail.core.conversation.answers import Answers
from mcp_jail.core.conversation.asking import Asking
from mcp_jail.core.conversation.events import Effect, Oversize, Record, ToClient, ToServer
from mcp_jail.core.conversation.forwarding import Forwarding
from mcp_jail.core.conversation.inflight import ASKED_LIMIT, AskedOfClient, Waiting
from mcp_jail.core.conversation.notices import Notices
from mcp_jail.core.conversation.passing import Release
from mcp_jail.core.conversation.questions import Refusal
from mcp_jail.core.conversation.state import State
from mcp_jail.core.conversation.tally import quoted
from mcp_jail.core.conversation.undecided import Undecided
from mcp_jail.core.policy import Verdict
from mcp_jail.core.protocol import mcp, wire
from mcp_jail.core.protocol.mcp import Era
from mcp_jail.core.protocol.wire import BadLine, Failure, MessageId, Notification, Request, Result

# Bytes at each end of a line that cannot be read, where the id of what it answers may stand.
EDGE: Final = 4 * 1024


class ServerSide:
    """Holds the server's messages against what was asked of it."""

    def __init__(
        self, state: State, forwarding: Forwarding, asking: Asking, release: Release
    ) -> None:
        self._state = state
        self._tally = state.tally
        self._asking = asking
        self._undecided = Undecided(state)
        self.answers = Answers(state, forwarding, asking, release)
        self.notices = Notices(state, self.answers.interim, asking)

    def handle(self, message: wire.Message | BadLine, line: bytes) -> list[Effect]:
        """What to do about a message of the server; `line` is what it was read from."""
        match message:
            case Result(id):
                waiting = self._state.in_flight.get(id)
                if waiting is None:
                    return self._unasked(id)
                return self.answers.result(waiting, message)
            case Failure(id):
                waiting = self._state.in_flight.get(id)
                if waiting is None:
                    return self._unasked(id)
                return self.answers.failure(waiting, message)
            case Notification():
                return self.notices.handle(message)
            case Request():
                return self._request(message)
            case BadLine(reason, _, id):
                effects = self._tally.violation("server", reason)
                waiting = self._state.in_flight.get(id)
                if waiting is None and id is None:
                    waiting = self._named_in(line[:EDGE] + line[-EDGE:])
                if waiting is None:
                    return effects
                return [*effects, *self.answers.passing.give_up(waiting, reason)]

    def cut_off(self, line: bytes) -> list[Effect]:
        """What to do about a line that may be half of one.

        A half ends no request: that the server is gone, which comes next, tells more.
        """
        message = wire.parse(line)
        if isinstance(message, BadLine):
            return self._tally.violation("server", "it ended in the midst of a line")
        return self.handle(message, line)

    def oversize(self, event: Oversize) -> list[Effect]:
        """End the request that a dropped line answered, if its edges tell which it was."""
        reason = f"a line of {event.size} bytes, over the limit of {wire.MESSAGE_LIMIT}"
        effects = self._tally.violation("server", reason)
        waiting = self._named_in(event.edges)
        if waiting is None:
            return effects
        return [*effects, *self.answers.passing.give_up(waiting, reason, mcp.TOO_LARGE)]

    def _named_in(self, edges: bytes) -> Waiting | None:
        """The request that an unreadable answer means: nobody else writes an id of ours."""
        for waiting in self._state.in_flight:
            if b'"' + waiting.id.encode() + b'"' in edges:
                return waiting
        return None

    def end_all(self, code: int, text: str) -> list[Effect]:
        """Answer all that waits with an error: nobody else will."""
        effects: list[Effect] = []
        for waiting in self._state.in_flight:
            self._state.in_flight.end(waiting)
            if waiting.client_id is None:
                continue
            effects.append(
                ToClient(wire.render_error(waiting.client_id, code, f"mcp-jail: {text}"))
            )
            if waiting.tool:
                entry = replies.result_entry(waiting, is_error=True, detail={"code": code})
                effects.append(Record(entry))
        for request in self._state.release_all():
            error = wire.render_error(request.id, code, f"mcp-jail: {text}")
            effects += [ToClient(error), self._undecided.entry(request, text)]
        return effects

    def _unasked(self, id: MessageId | None) -> list[Effect]:
        if self._state.in_flight.was_cancelled(id):
            return []
        return self._tally.violation("server", f"an answer to an id never sent: {quoted(str(id))}")

    def _request(self, request: Request) -> list[Effect]:
        """A request of a server, which there are in the legacy era only."""
        book = self._state.book
        if request.method == "ping":
            return [ToServer(wire.render_result(request.id, {}), is_reply=True)]
        if request.method not in questions.METHODS:
            return self._refuse(request, mcp.METHOD_NOT_FOUND, "method not found")
        if request.method == questions.ROOTS:
            if not questions.roots_are_ours(book):
                return self._refuse(request, mcp.DENIED, "not allowed by the user's policy")
            roots = replies.roots_result(self._state.roots)
            return [ToServer(wire.render_result(request.id, roots), is_reply=True)]
        if not self._state.opening.is_legacy:
            return self._refuse(request, mcp.METHOD_NOT_FOUND, "method not found")
        return self.question(request)

    def question(self, request: Request) -> list[Effect]:
        """Sampling or an elicitation: put to the client if the policy lets it."""
        state = self._state
        if state.is_closed:
            error = wire.render_error(request.id, mcp.INTERNAL_ERROR, "nobody is asked any more")
            return [ToServer(error, is_reply=True)]
        is_held = state.asks.holds(request.id, from_client=False)
        is_twice = is_held or state.asked.has_server_id(request.id)
        if is_twice or len(state.asked) >= ASKED_LIMIT:
            return self._refuse(request, wire.INVALID_REQUEST, "too many questions, or one twice")
        task = handles.related_task(request.params)
        if task is not None and state.tasks.get(task) is None:
            return self._refuse(request, mcp.INVALID_PARAMS, "a task that is none of this run")
        judged = questions.judge(
            request.method,
            request.params,
            state.book,
            state.opening.capabilities,
            self._asking.answered,
        )
        if isinstance(judged, Refusal) and judged.decision.verdict is Verdict.ASK:
            return self._asking.hold(request, None, judged.subject, judged.decision)
        id = state.in_flight.fresh_id()
        entry = replies.question_record(id, judged, self._state.describe)
        if isinstance(judged, Refusal):
            error = wire.render_error(request.id, mcp.DENIED, "not allowed by the user's policy")
            refused = ToServer(error, is_reply=True)
            if not self._tally.question_refused():
                return [refused]
            return [entry, replies.question_told(judged), refused]
        line = wire.render(Request(id, judged.method, judged.params))
        if len(line) > state.opening.line_limit(Era.LEGACY, {}):
            return self._refuse(request, mcp.TOO_LARGE, "too large for the client")
        state.asked.add(AskedOfClient(id, request.id, judged))
        state.note_page(judged)
        return [entry, ToClient(line, is_question=True)]

    def _refuse(self, request: Request, code: int, text: str) -> list[Effect]:
        reply = wire.render_error(request.id, code, text)
        reason = f"a request of the server was refused: {quoted(request.method)}"
        return [*self._tally.violation("server", reason), ToServer(reply, is_reply=True)]
