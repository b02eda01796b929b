"""What becomes of each thing a server sends: passed to the client, answered by us, or dropped."""

from __future__ import annotations

from typing import Protocol

from mcp_jail.core import decide, mcp, replies, wire
from mcp_jail.core.events import Effect, Oversize, Record, ToClient, ToServer
from mcp_jail.core.inflight import InFlight, Waiting
from mcp_jail.core.mcp import Treatment
from mcp_jail.core.policy import Roots
from mcp_jail.core.tally import Tally, quoted
from mcp_jail.core.wire import BadLine, Failure, MessageId, Notification, Request, Result

Declared = dict[str, frozenset[str]]


class SawTools(Protocol):
    """Takes the tools of a page that was listed, with the arguments each declares."""

    def __call__(self, declared: Declared, *, is_first_page: bool) -> None:
        """Remember them; a first page begins anew."""


class ServerSide:
    """Holds the server's messages against what was asked of it."""

    def __init__(
        self,
        book: decide.Rulebook,
        in_flight: InFlight,
        tally: Tally,
        roots: tuple[str, ...],
        saw_tools: SawTools,
    ) -> None:
        self._book = book
        self._in_flight = in_flight
        self._tally = tally
        self._roots = roots
        self._saw_tools = saw_tools

    def handle(self, message: wire.Message | BadLine) -> list[Effect]:
        """What to do about a message of the server."""
        match message:
            case Result(id):
                waiting = self._in_flight.get(id)
                return self._unasked(id) if waiting is None else self._result(waiting, message)
            case Failure(id):
                waiting = self._in_flight.get(id)
                return self._unasked(id) if waiting is None else self._failure(waiting, message)
            case Notification():
                return self._server_notification(message)
            case Request():
                return self._server_request(message)
            case BadLine(reason, _, id):
                waiting = self._in_flight.get(id)
                effects = self._tally.violation("server", reason)
                return effects if waiting is None else [*effects, *self._broken(waiting, reason)]

    def _unasked(self, id: MessageId | None) -> list[Effect]:
        if self._in_flight.was_cancelled(id):
            return []
        return self._tally.violation("server", f"an answer to an id never sent: {quoted(str(id))}")

    def _result(self, waiting: Waiting, result: Result) -> list[Effect]:
        reply = replies.reply_to(waiting, result.raw, self._book)
        if isinstance(reply, BadLine):
            return [
                *self._tally.violation("server", reply.reason),
                *self._broken(waiting, reply.reason),
            ]
        self._in_flight.end(waiting)
        if reply.declared is not None:
            self._saw_tools(reply.declared, is_first_page=waiting.is_first_page)
        effects: list[Effect] = [ToClient(reply.line)]
        for reason in reply.violations:
            effects += self._tally.violation("server", reason)
        if waiting.tool:
            size = wire.size_of(result.raw)
            effects.append(
                Record(replies.result_entry(waiting, is_error=reply.is_error, size=size))
            )
        return effects

    def _failure(self, waiting: Waiting, failure: Failure) -> list[Effect]:
        error = mcp.error_of_server(failure.error)
        if error is None:
            reason = "an error without code and message"
            return [*self._tally.violation("server", reason), *self._broken(waiting, reason)]
        if error["code"] == mcp.URL_ELICITATION_REQUIRED:
            error = {
                "code": mcp.DENIED,
                "message": "the server asked to send the user to a web page; the user's policy "
                "does not allow that",
            }
        self._in_flight.end(waiting)
        effects: list[Effect] = [ToClient(wire.render(Failure(waiting.client_id, error)))]
        if waiting.tool:
            effects.append(
                Record(replies.result_entry(waiting, is_error=True, detail={"code": error["code"]}))
            )
        return effects

    def _broken(
        self, waiting: Waiting, reason: str, code: int = mcp.INTERNAL_ERROR
    ) -> list[Effect]:
        """End a request whose answer cannot be passed on."""
        self._in_flight.end(waiting)
        text = f"mcp-jail: the server's answer was not passed on: {reason}"
        effects: list[Effect] = [ToClient(wire.render_error(waiting.client_id, code, text))]
        if waiting.tool:
            effects.append(
                Record(replies.result_entry(waiting, is_error=True, detail={"code": code}))
            )
        return effects

    def _server_request(self, request: Request) -> list[Effect]:
        match request.method:
            case "ping":
                return [ToServer(wire.render_result(request.id, {}), is_reply=True)]
            case "roots/list" if self._book.policy.roots is Roots.POLICY:
                roots = replies.roots_result(self._roots)
                return [ToServer(wire.render_result(request.id, roots), is_reply=True)]
            case "roots/list" | "sampling/createMessage" | "elicitation/create":
                code, text = mcp.DENIED, "not allowed by the user's policy"
            case _:
                code, text = mcp.METHOD_NOT_FOUND, "method not found"
        reply = wire.render_error(request.id, code, text)
        reason = f"a request of the server was refused: {quoted(request.method)}"
        return [*self._tally.violation("server", reason), ToServer(reply, is_reply=True)]

    def _server_notification(self, message: Notification) -> list[Effect]:
        match message.method:
            case "notifications/progress":
                return self._progress(message)
            case "notifications/cancelled":
                return self._server_cancelled(message)
            case method if method in mcp.SERVER_NOTIFICATIONS_PASSED:
                return self._passed_on(message)
            case method:
                return self._tally.violation("server", f"notification {quoted(method)}")

    def _progress(self, message: Notification) -> list[Effect]:
        token = wire.as_id(message.params.get("progressToken"))
        if token is not None and self._in_flight.has_token(token):
            return [ToClient(wire.render(message))]
        return self._tally.violation("server", "progress on a request that asked for none")

    def _passed_on(self, message: Notification) -> list[Effect]:
        """A notification as it is, but for the id of the subscription it belongs to."""
        meta = message.params.get("_meta")
        if type(meta) is not dict or mcp.SUBSCRIPTION_KEY not in meta:
            return [ToClient(wire.render(message))]
        waiting = self._in_flight.get(wire.as_id(meta[mcp.SUBSCRIPTION_KEY]))
        if waiting is None or waiting.treatment is not Treatment.LISTEN:
            return self._tally.violation("server", "a notification for a subscription never made")
        params = message.params | {"_meta": meta | {mcp.SUBSCRIPTION_KEY: waiting.client_id}}
        return [ToClient(wire.render(Notification(message.method, params)))]

    def _server_cancelled(self, message: Notification) -> list[Effect]:
        """A server may give up a subscription, the only long answer it owes (2026-07-28)."""
        waiting = self._in_flight.get(wire.as_id(message.params.get("requestId")))
        if waiting is None or waiting.treatment is not Treatment.LISTEN:
            return []  # it means a request of its own; we have answered that already
        self._in_flight.end(waiting)
        params = message.params | {"requestId": waiting.client_id}
        return [ToClient(wire.render(Notification(message.method, params)))]

    def oversize(self, event: Oversize) -> list[Effect]:
        """End the request that a dropped line answered, if its edges tell which it was."""
        reason = f"a line of {event.size} bytes, over the limit of {wire.MESSAGE_LIMIT}"
        effects = self._tally.violation("server", reason)
        for waiting in self._in_flight:
            if b'"' + waiting.id.encode() + b'"' in event.edges:
                return [*effects, *self._broken(waiting, reason, mcp.TOO_LARGE)]
        return effects

    def end_all(self, code: int, text: str) -> list[Effect]:
        """Answer all that waits with an error: nobody else will."""
        effects: list[Effect] = []
        for waiting in self._in_flight:
            self._in_flight.end(waiting)
            effects.append(
                ToClient(wire.render_error(waiting.client_id, code, f"mcp-jail: {text}"))
            )
            if waiting.tool:
                entry = replies.result_entry(waiting, is_error=True, detail={"code": code})
                effects.append(Record(entry))
        return effects
