"""What a server may ask through the client: sampling, elicitation and roots, in both eras.

In the legacy era a question is a request of the server; in the modern one it stands in a result
that is not the answer yet. Either way it is judged here, and so is the client's answer to it. Roots
are never the client's: the policy's own directories are the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from mcp_jail.core.conversation import elicitation, sampling
from mcp_jail.core.conversation.handles import of_question
from mcp_jail.core.conversation.subjects import Subject
from mcp_jail.core.policy import Roots, Verdict
from mcp_jail.core.rules import decide
from mcp_jail.core.rules.rulebook import Rulebook
from mcp_jail.core.text import hidden

SAMPLING: Final = "sampling/createMessage"
ELICITATION: Final = "elicitation/create"
ROOTS: Final = "roots/list"
METHODS: Final = frozenset({SAMPLING, ELICITATION, ROOTS})


# What a person has said to a question before: the decision by it, None where it is nothing.
Answered = Callable[[str, Subject, decide.Decision], decide.Decision | None]


class Question(msgspec.Struct, frozen=True):
    """A question that may be put to the client: its params as they are passed on."""

    method: str
    params: dict[str, Any]
    decision: decide.Decision


class Refusal(msgspec.Struct, frozen=True):
    """A question that is not put to the client, and why."""

    method: str
    decision: decide.Decision
    params: dict[str, Any] = {}  # as they would be passed on, where a person may allow it
    said: dict[str, Any] = {}  # as the server said them, for the audit

    @property
    def subject(self) -> Subject:
        """What a person would be asked about."""
        return Subject("", self.params)

    @property
    def text(self) -> str:
        """The words of the refusal."""
        return f"the server asked for {_NOUNS.get(self.method, 'more')}: {self.decision.reason}"


def judge(
    method: str,
    params: dict[str, Any],
    book: Rulebook,
    capabilities: Mapping[str, Any],
    answered: Answered,
) -> Question | Refusal:
    """Hold a question against the policy and against what the client can be asked for.

    `answered` knows what a person has said to it. Not for roots, which nobody is asked for.
    """
    key = {SAMPLING: "sampling", ELICITATION: "elicitation"}.get(method)
    if key is None:
        # The server's own words stay out of ours: `method` goes to the audit only.
        return _refused(method, "tools", "a question nobody knows", book, params)
    verdict = verdict_of(method, book)
    if verdict is Verdict.DENY:
        return _refused(method, key, "not allowed by the policy", book, params)
    passed = _passed_sampling(params) if method == SAMPLING else _passed_elicitation(params)
    if isinstance(passed, str):
        return _refused(method, key, passed, book, params)
    passed = hidden.cleaned(passed, book.policy.text)[0]
    if not _can_be_asked(method, passed, capabilities):
        return _refused(method, key, "the client did not offer it", book, params)
    allowed = decide.Decision(Verdict.ALLOW, key, book.places.get((key,)), "")
    if verdict is Verdict.ALLOW:
        return Question(method, passed, allowed)
    asked = msgspec.structs.replace(allowed, verdict=Verdict.ASK, reason=decide.ASK_MEANS)
    said = answered(method, Subject("", passed), asked) or asked
    if said.verdict is Verdict.ALLOW:
        return Question(method, passed, said)
    return Refusal(method, said, passed)


def unanswered(
    put: Sequence[tuple[str, dict[str, Any]]],
    book: Rulebook,
    capabilities: Mapping[str, Any],
    answered: Answered,
) -> list[Refusal]:
    """What of some questions a person has to allow first; nothing, where one is refused anyway.

    All of it at once, and before an answer for one call is used up (`answered` only looks): else
    two questions that are put together would never be allowed together.
    """
    found = []
    for method, params in put:
        if method == ROOTS:
            continue
        judged = judge(method, params, book, capabilities, answered)
        if isinstance(judged, Refusal):
            if judged.decision.verdict is not Verdict.ASK:
                return []
            found.append(judged)
    return found


def verdict_of(method: str, book: Rulebook) -> Verdict:
    """What the policy says to sampling or an elicitation as such."""
    return book.policy.sampling if method == SAMPLING else book.policy.elicitation


def roots_are_ours(book: Rulebook) -> bool:
    """Whether a server that asks for roots is told the policy's."""
    return book.policy.roots is Roots.POLICY


def roots_refused(book: Rulebook) -> Refusal:
    """What becomes of asking for roots where the policy tells none."""
    return _refused(ROOTS, "roots", "not allowed by the policy", book)


def fault_of_answer(question: Question, answer: Any) -> str | None:
    """Why a client's answer cannot go back to the server, None where it can."""
    if type(answer) is not dict:
        return "the answer is not an object"
    if question.method == SAMPLING:
        return sampling.fault_of_sampled(answer)
    return elicitation.fault_of_answer(question.params, answer)


def fault_of_answers(asked: Mapping[str, Question], answers: Mapping[str, Any]) -> str | None:
    """Why the answers to some questions cannot go back: each must be to one that was put."""
    for key, answer in answers.items():
        question = asked.get(key)
        if question is None:
            return "it answers a question that was not passed on"
        fault = fault_of_answer(question, answer)
        if fault is not None:
            return f"the answer to {key[:80]!r}: {fault}"
    return None


_NOUNS = {SAMPLING: "the client's model", ELICITATION: "input of a person", ROOTS: "roots"}

# The members of an elicitation that are passed on.
_ELICITATION_PASSED = frozenset(
    {"mode", "message", "requestedSchema", "url", "elicitationId", "_meta"}
)


def _passed_sampling(params: dict[str, Any]) -> dict[str, Any] | str:
    passed = sampling.passed_sampling(params)
    return passed if isinstance(passed, str) else passed | of_question(params)


def _passed_elicitation(params: dict[str, Any]) -> dict[str, Any] | str:
    if "task" in params:
        return "a question as a task is not passed on"
    mode = params.get("mode", "form")
    if type(mode) is not str or mode not in {"form", "url"}:
        return "a mode nobody knows"
    check = elicitation.fault_of_form if mode == "form" else elicitation.fault_of_url
    fault = check(params)
    if fault is not None:
        return fault
    if hidden.hides(params):
        return "it has hidden characters"
    kept = {name: value for name, value in params.items() if name in _ELICITATION_PASSED}
    kept.pop("_meta", None)
    return kept | of_question(params)


def _can_be_asked(method: str, passed: dict[str, Any], capabilities: Mapping[str, Any]) -> bool:
    """Whether the client said that it can be asked this."""
    if method == SAMPLING:
        offer = capabilities.get("sampling")
        return type(offer) is dict and ("tools" not in passed or "tools" in offer)
    offer = capabilities.get("elicitation")
    if type(offer) is not dict:
        return False
    mode = passed.get("mode", "form")
    return mode in offer or (mode == "form" and "url" not in offer)


def _refused(
    method: str, key: str, reason: str, book: Rulebook, said: dict[str, Any] | None = None
) -> Refusal:
    decision = decide.Decision(Verdict.DENY, key, book.places.get((key,)), reason)
    return Refusal(method, decision, said=said or {})
