"""What becomes of each thing a client sends: forwarded under an id of ours, refused, or dropped."""

from __future__ import annotations

from typing import Any, Protocol

from msgspec import Raw

from mcp_jail.core import decide, mcp, replies, wire
from mcp_jail.core.audit import Entry, Kind
from mcp_jail.core.events import Effect, Record, Tell, ToClient, ToServer
from mcp_jail.core.inflight import IN_FLIGHT_LIMIT, InFlight, Waiting
from mcp_jail.core.mcp import Treatment
from mcp_jail.core.policy import Verdict
from mcp_jail.core.tally import Tally, quoted
from mcp_jail.core.wire import BadLine, Failure, Notification, Request, Result

# What a request is told once the audit cannot be written.
UNRECORDED = "the audit cannot be written, so no call is carried out"


class Describe(Protocol):
    """Makes of a call's arguments what the audit may hold: redacted JSON and a digest."""

    def __call__(self, arguments: dict[str, Any]) -> tuple[Raw | None, str]:
        """The redacted arguments, None where the policy wants none, and the digest."""


class ClientSide:
    """Judges the client's messages.

    `declared` is kept up to date by the server's side. Once `is_closed`, nothing is forwarded.
    """

    def __init__(
        self,
        book: decide.Rulebook,
        outlook: decide.Outlook,
        in_flight: InFlight,
        tally: Tally,
        describe: Describe,
    ) -> None:
        self._book = book
        self._outlook = outlook
        self._in_flight = in_flight
        self._tally = tally
        self._describe = describe
        self.declared: dict[str, frozenset[str]] | None = None
        self.is_closed = False

    def handle(self, message: wire.Message | BadLine) -> list[Effect]:
        """What to do about a message of the client."""
        if self.is_closed:
            return _refused(message)
        match message:
            case Request():
                return self._client_request(message)
            case Notification():
                return self._client_notification(message)
            case Result() | Failure():
                return self._tally.violation(
                    "client", "an answer to a request that was never passed on"
                )
            case BadLine(reason, code, id):
                error = wire.render_error(id, code, f"mcp-jail: {reason}")
                return [*self._tally.violation("client", reason), ToClient(error)]

    def _client_request(self, request: Request) -> list[Effect]:
        fault = self._fault_of_id(request)
        if fault is not None:
            error = wire.render_error(None, wire.INVALID_REQUEST, f"mcp-jail: {fault}")
            return [*self._tally.violation("client", fault), ToClient(error)]
        treatment = mcp.CLIENT_REQUESTS.get(request.method)
        if treatment is None:
            return self._refuse_method(request)
        match treatment:
            case Treatment.CALL_TOOL | Treatment.READ_RESOURCE | Treatment.GET_PROMPT:
                return self._judge(request, treatment)
            case Treatment.LISTEN:
                return self._listen(request)
            case Treatment.OPEN | Treatment.LIST | Treatment.FORWARD:
                return [self._forward(request, treatment)]

    def _fault_of_id(self, request: Request) -> str | None:
        if self._in_flight.has_client_id(request.id):
            return "a request with this id is still unanswered"
        if len(self._in_flight) >= IN_FLIGHT_LIMIT:
            return f"more than {IN_FLIGHT_LIMIT} requests are unanswered"
        return None

    def _refuse_method(self, request: Request) -> list[Effect]:
        reason = f"method not passed on: {quoted(request.method)}"
        error = wire.render_error(request.id, mcp.METHOD_NOT_FOUND, f"mcp-jail: {reason}")
        return [*self._tally.violation("client", reason), ToClient(error)]

    def _judge(self, request: Request, treatment: Treatment) -> list[Effect]:
        self._tally.calls += 1
        subject = replies.subject_of(request, treatment)
        if isinstance(subject, BadLine):
            self._tally.denials += 1
            error = wire.render_error(request.id, subject.code, f"mcp-jail: {subject.reason}")
            return [*self._tally.violation("client", subject.reason), ToClient(error)]
        decision = self._decide(treatment, subject)
        ours = self._in_flight.fresh_id()
        entry = self._entry_of(ours, request, subject, decision)
        if decision.verdict is Verdict.ALLOW:
            return [Record(entry), self._forward(request, treatment, subject.name, ours)]
        self._tally.denials += 1
        return [
            Record(entry),
            ToClient(replies.refusal(request, treatment, decision)),
            Tell(
                replies.told_to_person(
                    request.method,
                    subject.name,
                    decision,
                    is_listed=self._is_listed(treatment, subject.name),
                )
            ),
        ]

    def _is_listed(self, treatment: Treatment, name: str) -> bool:
        """Whether the server has a tool of this name, as far as is known."""
        return (
            treatment is not Treatment.CALL_TOOL or self.declared is None or name in self.declared
        )

    def _decide(self, treatment: Treatment, subject: replies.Subject) -> decide.Decision:
        if treatment is Treatment.CALL_TOOL:
            declared = None if self.declared is None else self.declared.get(subject.name)
            call = decide.ToolCall(subject.name, subject.arguments, declared)
            return decide.decide(call, self._book, self._outlook)
        if treatment is Treatment.READ_RESOURCE:
            return decide.decide_resource(subject.name, self._book)
        return decide.decide_prompt(subject.name, self._book)

    def _entry_of(
        self, ours: str, request: Request, subject: replies.Subject, decision: decide.Decision
    ) -> Entry:
        arguments, digest = self._describe(subject.arguments)
        return Entry(
            kind=Kind.CALL,
            method=request.method,
            name=subject.name,
            id=ours,
            verdict=decision.verdict.value,
            rule=decision.rule,
            where="" if decision.where is None else str(decision.where),
            reason=decision.reason if decision.verdict is not Verdict.ALLOW else "",
            arguments=arguments,
            digest=digest,
        )

    def _listen(self, request: Request) -> list[Effect]:
        """A subscription is judged like the reading of each resource it names."""
        ours = self._in_flight.fresh_id()
        entries: list[Effect] = []
        for uri in replies.subscribed_uris(request.params):
            decision = decide.decide_resource(uri, self._book)
            entry = Record(self._entry_of(ours, request, replies.Subject(uri, {}), decision))
            if decision.verdict is not Verdict.ALLOW:
                self._tally.denials += 1
                return [entry, ToClient(replies.refusal(request, Treatment.LISTEN, decision))]
            entries.append(entry)
        return [*entries, self._forward(request, Treatment.LISTEN, ours=ours)]

    def _forward(
        self, request: Request, treatment: Treatment, tool: str = "", ours: str = ""
    ) -> ToServer:
        ours = ours or self._in_flight.fresh_id()
        self._in_flight.add(
            Waiting(
                id=ours,
                client_id=request.id,
                method=request.method,
                treatment=treatment,
                era=mcp.era_of(request.params),
                tool=tool,
                progress_token=mcp.progress_token(request.params),
                is_first_page="cursor" not in request.params,
            )
        )
        params = mcp.offered_to_server(request.method, request.params)
        return ToServer(wire.render(Request(ours, request.method, params)))

    def _client_notification(self, message: Notification) -> list[Effect]:
        match message.method:
            case "notifications/initialized":
                return [ToServer(wire.render(message))]
            case "notifications/cancelled":
                return self._cancel(message)
            case "notifications/roots/list_changed" | "notifications/progress":
                return []  # the server knows only the policy's roots, and no request of its own
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
        waiting = self._in_flight.of_client_id(client_id)
        if waiting is None:
            return []  # answered meanwhile
        self._in_flight.cancel(waiting)
        params = message.params | {"requestId": waiting.id}
        effects: list[Effect] = [ToServer(wire.render(Notification(message.method, params)))]
        if waiting.tool:
            effects.append(Record(replies.result_entry(waiting, detail={"cancelled": True})))
        return effects


def _refused(message: wire.Message | BadLine) -> list[Effect]:
    """The error for a request after the audit failed; nothing else is answered."""
    if not isinstance(message, Request):
        return []
    error = wire.render_error(message.id, mcp.INTERNAL_ERROR, f"mcp-jail: {UNRECORDED}")
    return [ToClient(error)]
