"""The whole vocabulary between the session and the loop: events in, effects out.

Even a line for the person is an effect, so that a test can assert it.
"""

from __future__ import annotations

import msgspec

from mcp_jail.core.approved.lock import Lock
from mcp_jail.core.conversation.asks import Answer, Ask
from mcp_jail.core.recorded.audit import Entry
from mcp_jail.core.rules.rulebook import Rulebook


class FromClient(msgspec.Struct, frozen=True):
    """A line of the client, its newline cut off."""

    line: bytes


class FromServer(msgspec.Struct, frozen=True):
    """A line of the server, its newline cut off."""

    line: bytes


class CutOff(msgspec.Struct, frozen=True):
    """The last line of the server, whose newline never came."""

    line: bytes


class Oversize(msgspec.Struct, frozen=True):
    """A line over the limit, of which only the edges were kept."""

    size: int
    edges: bytes
    from_client: bool


class ServerGone(msgspec.Struct, frozen=True):
    """The server's end of the pipe is closed; `how` is its status in words."""

    how: str


class AuditFailed(msgspec.Struct, frozen=True):
    """An entry could not be written, so nothing more may be forwarded."""


class LockChanged(msgspec.Struct, frozen=True):
    """The lock file was written meanwhile; None: it is gone."""

    lock: Lock | None


class PolicyChanged(msgspec.Struct, frozen=True):
    """The policy was written anew and holds from now on.

    But for the keys in `restart`; `sha256` is of its text.
    """

    book: Rulebook
    restart: tuple[str, ...]
    sha256: str


class PolicyRefused(msgspec.Struct, frozen=True):
    """The policy was changed to something that cannot be taken up; what held holds still."""

    reason: str


class PolicyRestored(msgspec.Struct, frozen=True):
    """After a change that was refused the policy is again what holds."""


class NetTried(msgspec.Struct, frozen=True):
    """The server tried something on its network, or something became of it.

    `refused` are words for the model whose call it was, `told` for the person; empty: none.
    """

    entry: Entry
    refused: str = ""
    told: str = ""


class Tick(msgspec.Struct, frozen=True):
    """Seconds of a clock that only goes on; it comes before whatever happens then."""

    now: float


class Answered(msgspec.Struct, frozen=True):
    """A person answered an ask."""

    ticket: str
    answer: Answer


class NotAnswered(msgspec.Struct, frozen=True):
    """Somebody who may not tried to answer an ask or to take an answer back."""

    ticket: str
    by: str
    reason: str


class Revoked(msgspec.Struct, frozen=True):
    """A person takes an answer back."""

    ticket: str


# What persons write into files that are looked at between messages.
FileChanged = LockChanged | PolicyChanged | PolicyRefused | PolicyRestored

FromPerson = Answered | NotAnswered | Revoked

Event = (
    FromClient
    | FromServer
    | CutOff
    | Oversize
    | ServerGone
    | AuditFailed
    | LockChanged
    | PolicyChanged
    | PolicyRefused
    | PolicyRestored
    | NetTried
    | Tick
    | Answered
    | NotAnswered
    | Revoked
)


class Record(msgspec.Struct, frozen=True):
    """Write an entry down."""

    entry: Entry


class ToServer(msgspec.Struct, frozen=True):
    """Send a line; `is_reply` marks our own answer to the server, dropped in a flood of asking."""

    line: bytes
    is_reply: bool = False


class ToClient(msgspec.Struct, frozen=True):
    """Send a line; a question of the server is not put to the client if it cannot be recorded."""

    line: bytes
    is_question: bool = False


class Tell(msgspec.Struct, frozen=True):
    """Say something to the person, on the error stream."""

    text: str


class AwaitReview(msgspec.Struct, frozen=True):
    """Write down what was seen and is not approved, for a person to look at."""

    seen: Lock


class TrustFirst(msgspec.Struct, frozen=True):
    """Write down a first contact that the policy lets pass; another run may have been first."""

    lock: Lock


class AskPerson(msgspec.Struct, frozen=True):
    """Show an ask wherever a person may answer it."""

    ask: Ask


class AskOver(msgspec.Struct, frozen=True):
    """Take an ask away: it is answered (`how` is the verdict), or nobody waits for it any more."""

    ask: Ask
    how: str


Effect = Record | ToServer | ToClient | Tell | AwaitReview | TrustFirst | AskPerson | AskOver


def needs_record(effect: Effect) -> bool:
    """Whether something may only be sent once it is written down."""
    return isinstance(effect, ToServer) or (isinstance(effect, ToClient) and effect.is_question)
