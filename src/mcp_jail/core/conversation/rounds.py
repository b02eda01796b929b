"""Results that ask first (`input_required`, 2026-07-28), and the retries that answer them.

A client repeats its request with the answers, under a new id. To be the same request it must name
the round by the token we gave it in place of the server's `requestState`, and be equal in method,
subject and arguments; its answers may only be to the questions that were passed on. So no answer
goes to a question that nobody let through, and what was approved cannot be exchanged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from mcp_jail.core.approved.lock import canonical
from mcp_jail.core.conversation import questions
from mcp_jail.core.conversation.handles import of_answer
from mcp_jail.core.conversation.questions import Question
from mcp_jail.core.protocol import mcp

# Rounds that wait for a retry. A client has one for each call it is in the middle of.
ROUNDS_LIMIT: Final = 1_000

# Times one request may be asked for more; the SDKs give up at ten.
ROUNDS_OF_ONE_REQUEST: Final = 10

# Questions of one result. Each is an entry of its own, and nobody answers more at once.
QUESTIONS_OF_ONE_ROUND: Final = 100


class Round(msgspec.Struct, frozen=True):
    """What one result asked for, and of which request."""

    subject: bytes  # canonical: method and params without what changes between retries
    state: str | None  # the server's own `requestState`
    asked: dict[str, Question]
    ours: dict[str, dict[str, Any]]  # answers of ours (roots), under the server's keys
    number: int


class Retry(msgspec.Struct, frozen=True):
    """What goes to the server with the repeated request."""

    members: dict[str, Any]
    number: int


class Rounds:
    """The rounds of one run that wait for a retry."""

    def __init__(self, fresh_token: Callable[[], str]) -> None:
        self._fresh_token = fresh_token
        self._waiting: dict[str, Round] = {}

    def add(self, round_: Round) -> str:
        """Remember a round that is passed on; the token to give the client."""
        if len(self._waiting) >= ROUNDS_LIMIT:
            del self._waiting[next(iter(self._waiting))]
        token = self._fresh_token()
        self._waiting[token] = round_
        return token

    def forget(self, token: str) -> None:
        """Forget a round that was not passed on after all."""
        self._waiting.pop(token, None)

    def repeats(self, method: str, params: dict[str, Any]) -> bool:
        """Whether a request is one that was let through before and was asked for more."""
        round_ = self._of(params)
        return round_ is not None and subject_of(method, params) == round_.subject

    def take(self, method: str, params: dict[str, Any]) -> Retry | str:
        """The retry that a client's request is, or why it is none; a round is answered once."""
        round_ = self._of(params)
        if round_ is None:
            return "it answers a question that was not passed on; make the call anew"
        if subject_of(method, params) != round_.subject:
            return "it is not the request that was asked about"
        answers = params.get("inputResponses", {})
        if type(answers) is not dict:
            return "it answers a question that was not passed on"
        fault = questions.fault_of_answers(round_.asked, answers)
        if fault is not None:
            return fault
        del self._waiting[params["requestState"]]
        said = {key: of_answer(each, round_.asked[key].params) for key, each in answers.items()}
        return retry_of(round_, said)

    def _of(self, params: dict[str, Any]) -> Round | None:
        """The round that a request names."""
        token = params.get("requestState")
        return self._waiting.get(token) if type(token) is str else None


def retry_of(round_: Round, answers: dict[str, Any]) -> Retry:
    """The members a retry carries to the server: its own state, the answers, and ours."""
    members: dict[str, Any] = {}
    given = answers | round_.ours
    if given:
        members["inputResponses"] = given
    if round_.state is not None:
        members["requestState"] = round_.state
    return Retry(members, round_.number)


def subject_of(method: str, params: dict[str, Any]) -> bytes:
    """What makes two requests the same one: all but the answers and, save the era, `_meta`."""
    kept = {
        name: value
        for name, value in params.items()
        if name != "_meta" and name not in mcp.RETRY_MEMBERS
    }
    return canonical([method, mcp.era_of(params).value, kept])
