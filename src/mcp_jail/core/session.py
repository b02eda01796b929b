"""One conversation between a client and a server: events in, effects out.

What may happen to each thing that arrives:

    from the client                     becomes
    request, known method, allowed      Record (if judged), ToServer under an id of ours
    request, denied                     Record, ToClient: refusal in the shape of its era
    request, unknown method             Record, ToClient: -32601
    notifications/cancelled             ToServer for the request it means, else nothing
    notifications/initialized           ToServer
    answer                              Record: we forward no request of the server
    line that is no message             Record, ToClient: error
    anything, after the audit failed    ToClient: error, if it is a request

    from the server                     becomes
    answer to an id of ours             ToClient under the client's id, Record (if judged)
    answer to any other id              Record
    ping, roots/list                    ToServer: answered by us, from the policy
    sampling, elicitation               Record, ToServer: refused
    notification that is known          ToClient
    anything else                       Record

Rules: a call's Record comes before its ToServer. No input makes `handle` raise. Nothing is sent to
the server that was not decoded, judged and rendered anew.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import assert_never

from mcp_jail.core import decide, mcp, wire
from mcp_jail.core.clientside import UNRECORDED, ClientSide, Describe
from mcp_jail.core.events import (
    AuditFailed,
    Effect,
    Event,
    FromClient,
    FromServer,
    Oversize,
    ServerGone,
    ToClient,
)
from mcp_jail.core.inflight import InFlight
from mcp_jail.core.serverside import Declared, ServerSide
from mcp_jail.core.tally import Tally

# Tools whose arguments are remembered, of all pages of a listing; real servers have below 200.
DECLARED_LIMIT = 10_000


class Session:
    """The state of one run; `handle` is its only door."""

    def __init__(
        self,
        book: decide.Rulebook,
        outlook: decide.Outlook,
        *,
        fresh_id: Callable[[], str],
        describe: Describe,
        roots: tuple[str, ...] = (),
    ) -> None:
        in_flight = InFlight(fresh_id)
        self.tally = Tally()
        self._client = ClientSide(book, outlook, in_flight, self.tally, describe)
        self._server = ServerSide(book, in_flight, self.tally, roots, self._saw_tools)

    def handle(self, event: Event) -> list[Effect]:
        """What to do about an event, in this order."""
        match event:
            case FromClient(line):
                return self._client.handle(wire.parse(line))
            case FromServer(line):
                return self._server.handle(wire.parse(line))
            case Oversize(from_client=True):
                return self._oversize_from_client(event)
            case Oversize():
                return self._server.oversize(event)
            case ServerGone(how):
                return self._server.end_all(mcp.SERVER_GONE, f"the server is gone ({how})")
            case AuditFailed():
                self._client.is_closed = True
                return self._server.end_all(mcp.INTERNAL_ERROR, UNRECORDED)
            case _:
                assert_never(event)

    def _oversize_from_client(self, event: Oversize) -> list[Effect]:
        reason = f"a line of {event.size} bytes, over the limit of {wire.MESSAGE_LIMIT}"
        error = wire.render_error(None, mcp.TOO_LARGE, f"mcp-jail: {reason}")
        return [*self.tally.violation("client", reason), ToClient(error)]

    def _saw_tools(self, declared: Declared, *, is_first_page: bool) -> None:
        known = {} if is_first_page else self._client.declared or {}
        self._client.declared = dict(islice((known | declared).items(), DECLARED_LIMIT))
