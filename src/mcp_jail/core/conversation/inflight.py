"""Which requests wait for an answer, and whose ids they carry.

A client's id never reaches the server: each request gets an id of ours, so that an answer with a
look-alike id (`"1"`, `1.0`, another request's) matches nothing. Ids are keyed by type and value,
since 1 == 1.0 == True in Python and three ids in JSON. The fresh ids come from outside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from mcp_jail.core.conversation.questions import Question
from mcp_jail.core.conversation.walks import Step
from mcp_jail.core.protocol.mcp import Era, Treatment, progress_token
from mcp_jail.core.protocol.wire import MessageId

# Requests that may wait at once. Real clients stay below a hundred; each costs about 1 KiB.
IN_FLIGHT_LIMIT = 10_000

# Ids remembered after the client cancelled, so that a late answer is not taken for a forgery.
CANCELLED_REMEMBERED = 1_024

# Questions of the server that may wait for the client at once (legacy era).
ASKED_LIMIT = 1_000

IdKey = tuple[type, MessageId]


class Waiting(msgspec.Struct, frozen=True):
    """One forwarded request: our id, the client's, and what the answer will be held against.

    Without a `client_id` it is a request of our own; `step` is then its place in a walk.
    """

    id: str
    client_id: MessageId | None
    method: str
    treatment: Treatment
    era: Era
    tool: str = ""
    progress_token: MessageId | None = None
    params: dict[str, Any] = {}  # as the client sent them
    number: int = 0  # how often it was asked for more
    step: Step | None = None


class InFlight:
    """The requests that were forwarded and not yet answered."""

    def __init__(self, fresh_id: Callable[[], str]) -> None:
        self._fresh_id = fresh_id
        self._by_id: dict[str, Waiting] = {}
        self._by_client_id: dict[IdKey, str] = {}
        self._by_token: dict[IdKey, str] = {}
        self._cancelled: dict[str, None] = {}

    def __len__(self) -> int:
        return len(self._by_id)

    def __iter__(self) -> Iterator[Waiting]:
        return iter(tuple(self._by_id.values()))

    def has_client_id(self, client_id: MessageId) -> bool:
        """Whether a request of the client with this very id is still unanswered."""
        return (type(client_id), client_id) in self._by_client_id

    def fresh_id(self) -> str:
        """An id nobody can guess, for the server's side."""
        return self._fresh_id()

    def add(self, waiting: Waiting) -> None:
        """Remember a request that is about to be forwarded."""
        self._by_id[waiting.id] = waiting
        if waiting.client_id is not None:
            self._by_client_id[type(waiting.client_id), waiting.client_id] = waiting.id
        if waiting.progress_token is not None:
            self._by_token[type(waiting.progress_token), waiting.progress_token] = waiting.id

    def get(self, id: MessageId | None) -> Waiting | None:
        """The request an answer names, None when no such id was sent."""
        return self._by_id.get(id) if type(id) is str else None

    def of_client_id(self, client_id: MessageId) -> Waiting | None:
        """The request the client means by its own id."""
        id = self._by_client_id.get((type(client_id), client_id))
        return None if id is None else self._by_id[id]

    def of_token(self, token: MessageId) -> Waiting | None:
        """The live request that asked for progress under exactly this token."""
        id = self._by_token.get((type(token), token))
        return None if id is None else self._by_id.get(id)

    def end(self, waiting: Waiting) -> None:
        """Forget a request: it was answered."""
        del self._by_id[waiting.id]
        if waiting.client_id is not None:
            del self._by_client_id[type(waiting.client_id), waiting.client_id]
        token = waiting.progress_token
        if token is not None and self._by_token.get((type(token), token)) == waiting.id:
            del self._by_token[type(token), token]

    def cancel(self, waiting: Waiting) -> None:
        """Forget a request the client gave up; a late answer to it is dropped without a word."""
        self.end(waiting)
        if len(self._cancelled) >= CANCELLED_REMEMBERED:
            del self._cancelled[next(iter(self._cancelled))]
        self._cancelled[waiting.id] = None

    def was_cancelled(self, id: MessageId | None) -> bool:
        """Whether an answer is merely late; true once per cancelled request."""
        return type(id) is str and self._cancelled.pop(id, 0) is None


class AskedOfClient(msgspec.Struct, frozen=True):
    """A question of the server that was put to the client: our id there, and the server's own."""

    id: str
    server_id: MessageId
    question: Question


class Asked:
    """The questions of a legacy server that the client has not answered yet."""

    def __init__(self) -> None:
        self._by_id: dict[str, AskedOfClient] = {}

    def __len__(self) -> int:
        return len(self._by_id)

    def add(self, asked: AskedOfClient) -> None:
        """Remember a question that is about to be put to the client."""
        self._by_id[asked.id] = asked

    def has_server_id(self, server_id: MessageId) -> bool:
        """Whether a question with this id of the server's is open."""
        return self.of_server_id(server_id) is not None

    def of_server_id(self, server_id: MessageId | None) -> AskedOfClient | None:
        """The question the server means by its own id."""
        for asked in self._by_id.values():
            if type(asked.server_id) is type(server_id) and asked.server_id == server_id:
                return asked
        return None

    def has_token(self, token: MessageId) -> bool:
        """Whether an open question asked for progress under exactly this token."""
        for asked in self._by_id.values():
            wanted = progress_token(asked.question.params)
            if type(wanted) is type(token) and wanted == token:
                return True
        return False

    def take(self, id: MessageId | None) -> AskedOfClient | None:
        """The question that an answer names, which is answered by that."""
        return self._by_id.pop(id, None) if type(id) is str else None
