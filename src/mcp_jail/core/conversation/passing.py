"""How an answer ends: passed on to the client, or not, with what is written down about it."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Raw

from mcp_jail.core.approved.lock import KIND_OF_LIST, ItemKind
from mcp_jail.core.conversation import replies
from mcp_jail.core.conversation.events import (
    AwaitReview,
    Effect,
    Record,
    Tell,
    ToClient,
    TrustFirst,
)
from mcp_jail.core.conversation.inflight import Waiting
from mcp_jail.core.conversation.results import Reply
from mcp_jail.core.conversation.state import State
from mcp_jail.core.protocol import mcp, wire
from mcp_jail.core.protocol.mcp import Treatment
from mcp_jail.core.protocol.wire import BadLine

Release = Callable[[ItemKind], list[Effect]]


class Passing:
    """Ends requests; `release` judges the calls that waited for a listing of ours."""

    def __init__(self, state: State, release: Release) -> None:
        self._state = state
        self._release = release

    def passed(self, waiting: Waiting, reply: Reply | BadLine, raw: Raw) -> list[Effect]:
        """Pass a result on, with what was found in it."""
        if isinstance(reply, BadLine):
            return [*self.not_passed(waiting, reply.reason), *self.news()]
        if waiting.client_id is None:
            return self.ended_ours(waiting)
        line = wire.render_result(waiting.client_id, reply.result)
        if self.is_too_large(waiting, line):
            return [*self.news(), *self.too_large(waiting, line)]
        self._state.in_flight.end(waiting)
        if waiting.method == "initialize":
            self._state.opening.is_legacy = True
        effects: list[Effect] = [*self.news(), ToClient(line)]  # what is trusted is written first
        for reason in reply.violations:
            effects += self._state.tally.violation("server", reason)
        if waiting.tool:
            size = wire.size_of(raw)
            effects.append(
                Record(replies.result_entry(waiting, is_error=reply.is_error, size=size))
            )
        return effects

    def not_passed(self, waiting: Waiting, reason: str) -> list[Effect]:
        """Refuse what the server answered: it breaks the rules of the wire."""
        violation = self._state.tally.violation("server", reason)
        return [*violation, *self.give_up(waiting, reason)]

    def is_too_large(self, waiting: Waiting, line: bytes) -> bool:
        """Whether the client would choke on the answer to this request."""
        return len(line) > self._state.opening.line_limit(waiting.era, waiting.params)

    def too_large(self, waiting: Waiting, line: bytes) -> list[Effect]:
        """End a request whose answer the client would choke on."""
        limit = self._state.opening.line_limit(waiting.era, waiting.params)
        reason = f"it has {len(line)} bytes; this client takes {limit}"
        return self.give_up(waiting, reason, mcp.TOO_LARGE)

    def give_up(
        self, waiting: Waiting, reason: str, code: int = mcp.INTERNAL_ERROR
    ) -> list[Effect]:
        """End a request whose answer cannot be passed on."""
        if waiting.client_id is None:
            return self.ended_ours(waiting)
        self._state.in_flight.end(waiting)
        text = f"mcp-jail: the server's answer was not passed on: {reason}"
        effects: list[Effect] = [ToClient(wire.render_error(waiting.client_id, code, text))]
        if waiting.tool:
            entry = replies.result_entry(waiting, is_error=True, detail={"code": code})
            effects.append(Record(entry))
        return effects

    def news(self) -> list[Effect]:
        """What the catalogue found, as entries, words to the person and files to write."""
        news = self._state.catalogue.take_news()
        effects: list[Effect] = [
            Record(replies.item_entry(drift, "drift")) for drift in news.drifts
        ]
        if news.drifts:
            effects.append(Tell(replies.drifts_told(self._state.catalogue.called, news.drifts)))
        if news.waiting is not None:
            effects.append(AwaitReview(news.waiting))
        if news.trusted is not None:
            entry = replies.trusted_entry(news.trusted)
            effects += [Record(entry), TrustFirst(news.trusted)]
        return effects

    def ended_ours(self, waiting: Waiting) -> list[Effect]:
        """A request of ours came to nothing: what waited for it is judged by what is known."""
        self._state.in_flight.end(waiting)
        if waiting.treatment is Treatment.WALK:
            return [*self.news(), *self._release(KIND_OF_LIST[waiting.method])]
        return []
