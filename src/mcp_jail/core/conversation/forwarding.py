"""How a request goes to the server: under an id of ours, cut to what is passed on."""

from __future__ import annotations

from typing import Any

from mcp_jail.core.conversation import handles
from mcp_jail.core.conversation.events import ToServer
from mcp_jail.core.conversation.inflight import Waiting
from mcp_jail.core.conversation.state import State
from mcp_jail.core.conversation.walks import Step
from mcp_jail.core.protocol import mcp, wire
from mcp_jail.core.protocol.mcp import Era, Treatment
from mcp_jail.core.protocol.wire import Request


class Forwarding:
    """Sends requests on and remembers them."""

    def __init__(self, state: State) -> None:
        self._state = state

    def forward(
        self,
        request: Request,
        treatment: Treatment,
        *,
        id: str = "",
        tool: str = "",
        retry: dict[str, Any] | None = None,
        number: int = 0,
    ) -> ToServer:
        """Send a request of the client; `retry` are the members that answer a round."""
        params = request.params
        waiting = Waiting(
            id=id or self._state.in_flight.fresh_id(),
            client_id=request.id,
            method=request.method,
            treatment=treatment,
            era=mcp.era_of(params),
            tool=tool,
            progress_token=mcp.progress_token(params),
            params=params,
            number=number,
        )
        self._state.in_flight.add(waiting)
        told = self._state.opening.told_to_server(request.method, params)
        told = handles.of_request(told, lambda id: self._state.tasks.get(id) is not None)
        if retry is not None:
            kept = {name: value for name, value in told.items() if name not in mcp.RETRY_MEMBERS}
            told = kept | retry
        return ToServer(wire.render(Request(waiting.id, request.method, told)))

    def step(self, method: str, era: Era, step: Step) -> ToServer:
        """Ask for a page of a walk of ours."""
        return self.ours(method, era, step.params, Treatment.WALK, step)

    def ours(
        self,
        method: str,
        era: Era,
        params: dict[str, Any],
        treatment: Treatment = Treatment.OURS,
        step: Step | None = None,
    ) -> ToServer:
        """Send a request of our own, in the era and with the metadata the client chose."""
        id = self._state.in_flight.fresh_id()
        waiting = Waiting(id, None, method, treatment, era, params=params, step=step)
        self._state.in_flight.add(waiting)
        told = self._state.opening.told_to_server(method, params)
        return ToServer(wire.render(Request(id, method, told)))
