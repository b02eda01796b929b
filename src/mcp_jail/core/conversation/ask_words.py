"""What is said of an ask: to the person on the error stream, and to who waits for the answer."""

from __future__ import annotations

from typing import Any

from mcp_jail.core.conversation import replies
from mcp_jail.core.conversation.asks import Ask, Held
from mcp_jail.core.conversation.events import Effect, ToClient, ToServer
from mcp_jail.core.protocol import mcp, wire


def told(ask: Ask) -> str:
    """The line on the error stream."""
    return (
        f"asks you about {replies.short(ask.name or ask.method)}; "
        f"answer with: mcp-jail allow {ask.ticket}, or mcp-jail deny {ask.ticket}"
    )


def told_of_late_no(ask: Ask) -> str:
    """The line for who has answered before, and is overruled."""
    name = replies.short(ask.name or ask.method)
    return f"{name} is denied: a no in the client came after the answer to {ask.ticket}"


def late(ask: Ask, held: Held) -> Effect:
    """The ticket, for who cannot wait longer."""
    return told_to_sender(held, replies.waiting_text(ask.ticket), mcp.WAITING)


def told_to_sender(held: Held, text: str, code: int) -> Effect:
    """The words for who waits: a model reads them, a server gets no more than that it is so."""
    id = held.request.id
    if held.treatment is None:
        return ToServer(wire.render_error(id, code, "the user has not allowed it"), is_reply=True)
    era = mcp.era_of(held.request.params)
    return ToClient(replies.refusal_in_words(id, held.treatment, era, text, code=code))


def sender(held: Held) -> dict[str, Any]:
    """What the audit says of who sent it, where that is not the client."""
    return {"from": "server"} if held.treatment is None else {}
