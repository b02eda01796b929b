"""What a guard and those who answer say to each other on its control socket.

JSON Lines: `{"v":1,"id":1,"op":"answer",...}` is answered by `{"id":1,"ok":{...}}` or
`{"id":1,"error":{"code","message","hint"}}`. After `watch`, lines with `event` come in between.
"""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

from mcp_jail.core.conversation.asks import Answer, Ask, Asks, Grant, Lasts
from mcp_jail.core.policy import Verdict
from mcp_jail.core.sha256 import sha256

VERSION: Final = 1

# Bytes of one request. The longest that anyone has to send has two hundred.
REQUEST_LIMIT: Final = 64 * 1024

# Bytes of one reply that a reader takes: all open asks at once, each with its arguments cut.
REPLY_LIMIT: Final = 4 * 1024 * 1024

# Characters of arguments in a list of asks; `ask` gives more of one.
SHORT_ARGUMENTS: Final = 2_000
LONG_ARGUMENTS: Final = 256 * 1024

# Seconds that an answer may count for as a time. Who wants more says `session`.
SECONDS_LIMIT: Final = 24 * 3600


class Request(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What is asked of a guard."""

    v: Literal[1]
    id: int
    op: Literal["status", "asks", "ask", "answer", "grants", "revoke", "watch"]
    ticket: str = ""
    shown: str = ""  # with an answer: the digest of the ask as it was shown
    verdict: Literal["allow", "deny"] | None = None
    lasts: Lasts = Lasts.ONCE
    seconds: float = 0.0


class Problem(msgspec.Struct, frozen=True):
    """Why a guard did not do what was asked of it."""

    code: str
    message: str
    hint: str = ""


class Reply(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a guard answers: `ok` or `error`; or, unasked, an `event` that a watcher is told of."""

    id: int = 0
    ok: dict[str, Any] | None = None
    error: Problem | None = None
    event: dict[str, Any] | None = None


class AskView(msgspec.Struct, frozen=True, kw_only=True):
    """An open ask as it is shown; `arguments` is JSON, cut where `size` is more."""

    ticket: str
    server: str
    method: str
    name: str
    arguments: str
    size: int
    rule: str
    where: str
    reason: str
    age: float  # seconds
    held: int  # calls that wait for this answer now
    has_secret: bool = False  # in its arguments, known or by its shape


class GrantView(msgspec.Struct, frozen=True, kw_only=True):
    """An answer that counts still; `left` are seconds, None as long as the run."""

    ticket: str
    server: str
    method: str
    name: str
    arguments: str
    verdict: str
    lasts: str
    by: str
    left: float | None


class Written(msgspec.Struct, frozen=True):
    """An ask and its arguments as JSON, of which `size` characters there are."""

    ask: Ask
    text: str
    size: int
    has_secret: bool


def answer_of(request: Request, by: str) -> Answer | Problem:
    """The answer that a request carries."""
    if request.verdict is None:
        return Problem("bad-request", "an answer needs a verdict, allow or deny")
    is_time = request.lasts is Lasts.TIME
    if is_time is not (0 < request.seconds <= SECONDS_LIMIT):
        return Problem("bad-request", f"seconds go with 'time' only, {SECONDS_LIMIT} at most")
    return Answer(
        verdict=Verdict(request.verdict), lasts=request.lasts, seconds=request.seconds, by=by
    )


def shown_digest(view: AskView) -> str:
    """The digest of what a person is shown of an ask; an answer is to that and to nothing else."""
    shown = [view.ticket, view.server, view.method, view.name, view.arguments, view.size]
    return sha256(_json(shown).encode()).hexdigest()


def written(ask: Ask, *, has_secret: bool) -> Written:
    """An ask with its arguments as text."""
    text = _json(ask.arguments)
    return Written(ask, text[:LONG_ARGUMENTS], len(text), has_secret)


def ask_view(server: str, written: Written, asks: Asks, now: float, *, limit: int) -> AskView:
    """An ask as it is shown to who asks for it."""
    ask = written.ask
    return AskView(
        ticket=ask.ticket,
        server=server,
        method=ask.method,
        name=ask.name,
        arguments=written.text[:limit],
        size=written.size,
        rule=ask.rule,
        where=ask.where,
        reason=ask.reason,
        age=round(now - ask.since, 1),
        held=asks.held_by(ask.ticket),
        has_secret=written.has_secret,
    )


def grant_view(server: str, grant: Grant, now: float) -> GrantView:
    """An answer as it is shown to who asks for it."""
    return GrantView(
        ticket=grant.ask.ticket,
        server=server,
        method=grant.ask.method,
        name=grant.ask.name,
        arguments=_json(grant.ask.arguments)[:SHORT_ARGUMENTS],
        verdict=grant.answer.verdict.value,
        lasts=grant.answer.lasts.value,
        by=grant.answer.by,
        left=None if grant.until is None else round(max(0.0, grant.until - now), 1),
    )


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
