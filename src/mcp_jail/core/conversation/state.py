"""What both sides of a conversation know of it: the parts that last from message to message."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Protocol

from msgspec import Raw

from mcp_jail.core.approved.catalogue import Catalogue
from mcp_jail.core.conversation.asks import Asks
from mcp_jail.core.conversation.inflight import Asked, InFlight
from mcp_jail.core.conversation.network import Refused
from mcp_jail.core.conversation.opening import Opening
from mcp_jail.core.conversation.questions import Question
from mcp_jail.core.conversation.rounds import Rounds
from mcp_jail.core.conversation.tally import Tally
from mcp_jail.core.conversation.tasks import Tasks
from mcp_jail.core.conversation.walks import Walks
from mcp_jail.core.protocol.wire import MessageId, Request
from mcp_jail.core.rules.outlook import Outlook
from mcp_jail.core.rules.rates import Rates, seconds_of
from mcp_jail.core.rules.rulebook import Rulebook

# Web pages a person was sent to that are remembered, so that a server may say when they are done.
PAGES_REMEMBERED: Final = 1_000

# Resources one run may be subscribed to (legacy era).
SUBSCRIBED_LIMIT: Final = 10_000


class Describe(Protocol):
    """Makes of a call's arguments what the audit may hold: redacted JSON and a digest."""

    def __call__(self, arguments: dict[str, Any]) -> tuple[Raw | None, str]:
        """The redacted arguments, None where the policy wants none, and the digest."""


class State:
    """The state of one run. Once `is_closed`, nothing is forwarded."""

    def __init__(
        self,
        book: Rulebook,
        outlook: Outlook,
        catalogue: Catalogue,
        *,
        fresh_id: Callable[[], str],
        fresh_ticket: Callable[[], str],
        describe: Describe,
        roots: tuple[str, ...],
    ) -> None:
        self.book = book
        self.outlook = outlook
        self.fresh_ticket = fresh_ticket
        self.describe = describe
        self.roots = roots
        self.catalogue = catalogue
        self.opening = Opening(book.policy)
        self.in_flight = InFlight(fresh_id)
        self.asked = Asked()
        self.walks = Walks()
        self.rounds = Rounds(fresh_id)
        self.tasks = Tasks()
        self.asks = Asks(seconds_of(book.policy.ask.remember))
        self.rates = Rates()
        self.tally = Tally()
        self.refused = Refused()
        self.subscribed: set[str] = set()
        self.pages: set[str] = set()
        self.restart: tuple[str, ...] = ()  # keys of the policy that were changed and do not hold
        self.policy_refused = ""  # why a change of the policy was not taken up, while it stands
        self.now = 0.0
        self.is_closed = False

    @property
    def wait(self) -> float:
        """Seconds a call is held for an answer."""
        return seconds_of(self.book.policy.ask.wait)

    def replace_book(self, book: Rulebook) -> None:
        """Go on by the rules of a policy that was written meanwhile."""
        self.book = book
        self.opening.policy = book.policy
        self.asks.remember = seconds_of(book.policy.ask.remember)

    def holds(self, client_id: MessageId) -> bool:
        """Whether a request of this id waits here, for a listing or for a person."""
        return self.walks.holds(client_id) or self.asks.holds(client_id, from_client=True)

    def release_all(self) -> list[Request]:
        """All that waits here: neither listing nor person will answer any more."""
        held = [each for each in self.asks.release_all() if each.treatment is not None]
        return [*self.walks.release_all(), *(each.request for each in held)]

    def note_page(self, question: Question) -> None:
        """Remember a page that a person is sent to, so that its end may be told."""
        id = question.params.get("elicitationId")
        if type(id) is str and len(self.pages) < PAGES_REMEMBERED:
            self.pages.add(id)

    def note_subscribed(self, method: str, uri: str) -> None:
        """Remember what the client is subscribed to (legacy era), if that is what it asks for."""
        if method == "resources/unsubscribe":
            self.subscribed.discard(uri)
        elif method == "resources/subscribe" and len(self.subscribed) < SUBSCRIBED_LIMIT:
            self.subscribed.add(uri)
