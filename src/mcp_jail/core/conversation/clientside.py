"""What becomes of each thing a client sends: forwarded under an id of ours, refused, or dropped."""

from __future__ import annotations

from typing import assert_never

from mcp_jail.core.conversation import handles, questions, replies
from mcp_jail.core.conversation.asking import Asking
from mcp_jail.core.conversation.calls import Calls
from mcp_jail.core.conversation.events import Effect, Record, ToClient, ToServer
from mcp_jail.core.conversation.forwarding import Forwarding
from mcp_jail.core.conversation.inflight import IN_FLIGHT_LIMIT
from mcp_jail.core.conversation.state import State
from mcp_jail.core.conversation.tally import quoted
from mcp_jail.core.conversation.undecided import CANCELLED, Undecided
from mcp_jail.core.protocol import mcp, wire
from mcp_jail.core.protocol.mcp import Era, Treatment
from mcp_jail.core.protocol.wire import BadLine, Failure, MessageId, Notification, Request, Result

# What a request is told once the audit cannot be written.
UNRECORDED = "the audit cannot be written, so no call is carried out"

# What a client may send before it has sent `initialize` in the legacy era.
_BEFORE_OPENING = frozenset({"initialize", "ping"})


class ClientSide:
    """Judges the client's messages."""

    def __init__(self, state: State, forwarding: Forwarding, calls: Calls, asking: Asking) -> None:
        self._state = state
        self._tally = state.tally
        self._forwarding = forwarding
        self._calls = calls
        self._asking = asking
        self._undecided = Undecided(state)

    def handle(self, message: wire.Message | BadLine) -> list[Effect]:
        """What to do about a message of the client."""
        if self._state.is_closed:
            return _refused(message)
        match message:
            case Request():
                return self._request(message)
            case Notification():
                return self._notification(message)
            case Result(id) | Failure(id):
                return self._answer(id, message)
            case BadLine(reason, code, id):
                error = wire.render_error(id, code, f"mcp-jail: {reason}")
                return [*self._tally.violation("client", reason), ToClient(error)]

    def _request(self, request: Request) -> list[Effect]:
        fault = self._fault_of_id(request)
        if fault is not None:
            error = wire.render_error(None, wire.INVALID_REQUEST, f"mcp-jail: {fault}")
            return [*self._tally.violation("client", fault), ToClient(error)]
        treatment = mcp.CLIENT_REQUESTS.get(request.method)
        era = mcp.era_of(request.params)
        if treatment is None or mcp.ONLY_IN_ERA.get(request.method, era) is not era:
            return self._refuse_method(request)
        if self._is_too_early(request):
            error = wire.render_error(
                request.id, wire.INVALID_REQUEST, "mcp-jail: `initialize` comes first"
            )
            return [
                *self._tally.violation("client", "a request before initialize"),
                ToClient(error),
            ]
        match treatment:
            case Treatment.LISTEN:
                return self._calls.listen(request)
            case Treatment.OPEN | Treatment.LIST | Treatment.LIST_TASKS | Treatment.FORWARD:
                return self._plain(request, treatment)
            case Treatment.WALK | Treatment.OURS:
                return self._refuse_method(request)
            case (
                Treatment.CALL_TOOL
                | Treatment.READ_RESOURCE
                | Treatment.GET_PROMPT
                | Treatment.COMPLETE
                | Treatment.TASK
            ):
                retried, effects = self._asking.retried(request, treatment)
                if retried is None:
                    return effects
                return [*effects, *self._calls.judge(retried, treatment)]
            case _:
                assert_never(treatment)

    def _plain(self, request: Request, treatment: Treatment) -> list[Effect]:
        """A request that is forwarded as it is; an opening one tells us who speaks."""
        opening, params = self._state.opening, request.params
        if request.method == "initialize":
            opening.opened(params)
        if treatment is Treatment.OPEN:
            era = mcp.era_of(params)
            self._state.catalogue.met(
                era.value, mcp.version_of(params), opening.capabilities_of(era, params)
            )
        return [self._forwarding.forward(request, treatment)]

    def _fault_of_id(self, request: Request) -> str | None:
        state = self._state
        if state.in_flight.has_client_id(request.id) or state.holds(request.id):
            return "a request with this id is still unanswered"
        if len(state.in_flight) + len(state.walks) + len(state.asks) >= IN_FLIGHT_LIMIT:
            return f"more than {IN_FLIGHT_LIMIT} requests are unanswered"
        return None

    def _is_too_early(self, request: Request) -> bool:
        """A legacy server may be asked nothing before it was told of the client."""
        is_legacy = mcp.era_of(request.params) is Era.LEGACY
        return (
            is_legacy and not self._state.opening.is_asked and request.method not in _BEFORE_OPENING
        )

    def _refuse_method(self, request: Request) -> list[Effect]:
        reason = f"method not passed on: {quoted(request.method)}"
        error = wire.render_error(request.id, mcp.METHOD_NOT_FOUND, f"mcp-jail: {reason}")
        return [*self._tally.violation("client", reason), ToClient(error)]

    def _answer(self, id: MessageId | None, message: Result | Failure) -> list[Effect]:
        """The client's answer to a question of the server that was put to it."""
        asked = self._state.asked.take(id)
        ours = self._asking.said_in_client(id, message) if asked is None else None
        if ours is not None:
            return ours
        if asked is None:
            return self._tally.violation("client", "an answer to a question never passed on")
        if isinstance(message, Failure):
            error = mcp.error_of_server(message.error)
            error = error or {"code": mcp.INTERNAL_ERROR, "message": "the client failed"}
            line = wire.render(Failure(asked.server_id, error))
            return [
                ToServer(line, is_reply=True),
                Record(replies.answer_entry(asked, is_error=True)),
            ]
        answer = wire.whole(message.raw)
        fault = answer.reason if isinstance(answer, BadLine) else None
        fault = fault or questions.fault_of_answer(asked.question, answer)
        if isinstance(answer, BadLine) or fault is not None:
            line = wire.render_error(asked.server_id, mcp.INTERNAL_ERROR, "the client failed")
            refused = self._tally.violation("client", f"an answer that is none: {fault}")
            return [*refused, ToServer(line, is_reply=True)]
        answer = handles.of_answer(answer, asked.question.params)
        line = wire.render_result(asked.server_id, answer)
        return [Record(replies.answer_entry(asked, answer=answer)), ToServer(line, is_reply=True)]

    def _notification(self, message: Notification) -> list[Effect]:
        match message.method:
            case "notifications/initialized":
                return [ToServer(wire.render(message))]
            case "notifications/cancelled":
                return self._cancel(message)
            case "notifications/progress":
                token = wire.as_id(message.params.get("progressToken"))
                if token is not None and self._state.asked.has_token(token):
                    passed = _cut(message, "progressToken", "progress", "total", "message")
                    return [ToServer(wire.render(passed), is_reply=True)]
                return []
            case "notifications/roots/list_changed":
                return []  # the server knows only the policy's roots
            case _ if message.method in mcp.CLIENT_REQUESTS:
                reason = f"a request without an id: {quoted(message.method)}"
                error = wire.render_error(None, wire.INVALID_REQUEST, f"mcp-jail: {reason}")
                return [*self._tally.violation("client", reason), ToClient(error)]
            case _:
                return self._tally.violation("client", f"notification {quoted(message.method)}")

    def _cancel(self, message: Notification) -> list[Effect]:
        client_id = wire.as_id(message.params.get("requestId"))
        if client_id is None:
            return self._tally.violation("client", "a cancellation that names no request")
        held = self._state.walks.drop(client_id)
        if held is not None:
            return [self._undecided.entry(held, CANCELLED)]  # it was never sent
        dropped = self._asking.drop(client_id, from_client=True)
        if dropped is not None:
            return dropped
        waiting = self._state.in_flight.of_client_id(client_id)
        if waiting is None:
            return []  # answered meanwhile
        self._state.in_flight.cancel(waiting)
        params = _cut(message, "reason").params | {"requestId": waiting.id}
        effects: list[Effect] = [ToServer(wire.render(Notification(message.method, params)))]
        if waiting.tool:
            effects.append(Record(replies.result_entry(waiting, detail={"cancelled": True})))
        return effects


def _cut(message: Notification, *names: str) -> Notification:
    """A notification with no members but these."""
    kept = {name: message.params[name] for name in names if name in message.params}
    return Notification(message.method, kept)


def _refused(message: wire.Message | BadLine) -> list[Effect]:
    """The error for a request after the audit failed; nothing else is answered."""
    if not isinstance(message, Request):
        return []
    error = wire.render_error(message.id, mcp.INTERNAL_ERROR, f"mcp-jail: {UNRECORDED}")
    return [ToClient(error)]
