"""Asks put to the person in front of the client, by its own elicitation, in both eras.

Only for clients that are known to show an elicitation to a person, only for calls that can be shown
whole, and never for longer than `ask.remember`. Ours carries a phrase that only this installation
knows; a server's text that speaks of us is refused elsewhere. In the legacy era it is a request of
ours; in the modern one the call is answered with it, and the client makes the call again.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from mcp_jail.core.conversation.asks import Answer, Ask, Lasts
from mcp_jail.core.conversation.events import Effect, ToClient
from mcp_jail.core.conversation.like_ours import NO, ONCE, WHILE
from mcp_jail.core.conversation.state import State
from mcp_jail.core.policy import Channel, Verdict
from mcp_jail.core.protocol import mcp, wire
from mcp_jail.core.protocol.wire import MessageId, Notification, Request
from mcp_jail.core.text.shown import NAME_LIMIT, name_shown, unmistakable

# Clients, by the name they give themselves, that show an elicitation to a person and wait.
SHOW_IT: Final = frozenset(
    {
        "claude-code",
        "codex-mcp-client",
        "cursor-vscode",
        "Visual Studio Code",
        "Visual Studio Code - Insiders",
    }
)

# How an answer that came this way is called in the audit.
BY: Final = "client"

# Characters of a call's arguments, as they are shown; who cannot see all must answer elsewhere.
SHOWN_LIMIT: Final = 1_500

# Questions of ours whose answers are waited for; there are no more asks than a hundred.
REMEMBERED_LIMIT: Final = 200

# The key of our own question in a result that asks (2026-07-28).
_KEY: Final = "mcp-jail"


class InClient:
    """The questions of ours that wait in the client; none without a `phrase`."""

    def __init__(self, state: State) -> None:
        self._state = state
        self.phrase = ""
        self._asks: dict[str, Ask] = {}  # by our id, or by our token in the modern era
        self._dismissed: set[str] = set()  # tickets whose question was closed without an answer

    def can(self, request: Request, ask: Ask) -> bool:
        """Whether this client's person can be asked about this."""
        policy, opening = self._state.book.policy, self._state.opening
        era = mcp.era_of(request.params)
        offer = opening.capabilities_of(era, request.params).get("elicitation")
        takes_forms = type(offer) is dict and ("form" in offer or "url" not in offer)
        return (
            bool(self.phrase)
            and Channel.CLIENT in policy.ask.channels
            and takes_forms
            and opening.name_of(era, request.params) in SHOW_IT
            and ask.ticket not in self._dismissed
            and len(name_shown(ask.name)) <= NAME_LIMIT
            and len(_shown(ask)) <= SHOWN_LIMIT
            and ask.method in mcp.ASKING_METHODS
        )

    def is_open(self, ask: Ask) -> bool:
        """Whether the client has a question about this already."""
        return any(each.ticket == ask.ticket for each in self._asks.values())

    def put(self, ask: Ask) -> Effect:
        """The question as a request (legacy era)."""
        id = self._remember(ask)
        return ToClient(wire.render(Request(id, "elicitation/create", self._form(ask))))

    def instead(self, request: Request, ask: Ask) -> Effect:
        """The question as what a call is answered with (2026-07-28)."""
        token = self._remember(ask)
        asked = {_KEY: {"method": "elicitation/create", "params": self._form(ask)}}
        result = {"resultType": "input_required", "requestState": token, "inputRequests": asked}
        return ToClient(wire.render_result(request.id, result))

    def over(self, ask: Ask) -> list[Effect]:
        """Take the question back that is open still: somebody answered elsewhere.

        In the modern era nothing can be taken back: who answers late makes the call again by that.
        A "no" counts then, since the call has not been made; else the answer that was first.
        """
        self._dismissed.discard(ask.ticket)
        if not self._state.opening.is_legacy:
            return []
        return self.take_back(ask)

    def take_back(self, ask: Ask) -> list[Effect]:
        """Close the questions about an ask that are open still (legacy era)."""
        effects: list[Effect] = []
        for id in [id for id, each in self._asks.items() if each.ticket == ask.ticket]:
            del self._asks[id]
            params = {"requestId": id, "reason": "answered elsewhere"}
            cancelled = Notification("notifications/cancelled", params)
            effects.append(ToClient(wire.render(cancelled)))
        return effects

    def answered(self, id: MessageId | None, answer: Any) -> tuple[Ask, Answer | None] | None:
        """The ask that a client's answer is about and what it says, None where it is not ours.

        An answer that says nothing, such as a form that was closed, leaves the ask open.
        """
        ask = self._asks.pop(id, None) if type(id) is str else None
        if ask is None:
            return None
        said = self._said(answer)
        if said is None and self._state.asks.get(ask.ticket) is not None:
            self._dismissed.add(ask.ticket)
        return ask, said

    def retried(self, params: dict[str, Any]) -> tuple[Ask, Answer | None] | None:
        """The same of a call that is made again with the answer; each is answered once."""
        token, answers = params.get("requestState"), params.get("inputResponses")
        if type(token) is not str or token not in self._asks:
            return None
        answer = answers.get(_KEY) if type(answers) is dict and answers.keys() <= {_KEY} else None
        return self.answered(token, answer)

    def _remember(self, ask: Ask) -> str:
        """An id nobody can guess, under which an answer comes; the oldest of too many goes."""
        if len(self._asks) >= REMEMBERED_LIMIT:
            del self._asks[next(iter(self._asks))]
        id = self._state.in_flight.fresh_id()
        self._asks[id] = ask
        return id

    def _said(self, answer: Any) -> Answer | None:
        if type(answer) is not dict or answer.get("action") not in {"accept", "decline"}:
            return None
        if answer["action"] == "decline":
            return Answer(verdict=Verdict.DENY, lasts=Lasts.ONCE, by=BY)
        content = answer.get("content")
        choice = content.get("answer") if type(content) is dict else None
        if choice == ONCE:
            return Answer(verdict=Verdict.ALLOW, lasts=Lasts.ONCE, by=BY)
        if choice == WHILE:
            seconds = self._state.asks.remember
            return Answer(verdict=Verdict.ALLOW, lasts=Lasts.TIME, seconds=seconds, by=BY)
        return Answer(verdict=Verdict.DENY, lasts=Lasts.ONCE, by=BY) if choice == NO else None

    def _form(self, ask: Ask) -> dict[str, Any]:
        policy = self._state.book.policy
        server = self._state.catalogue.name
        message = (
            f"mcp-jail ({self.phrase}): may {server} run this, with exactly these arguments?\n"
            f"tool: {name_shown(ask.name)}\narguments: {_shown(ask)}"
        )
        choices = [ONCE, WHILE, NO]
        answer = {
            "type": "string",
            "title": "Answer",
            "description": f"a while is {policy.ask.remember}",
            "enum": choices,
        }
        schema = {"type": "object", "properties": {"answer": answer}, "required": ["answer"]}
        return {"message": message, "requestedSchema": schema}


def _shown(ask: Ask) -> str:
    pretty = msgspec.json.format(msgspec.json.encode(ask.arguments), indent=2).decode()
    return unmistakable(pretty)
