"""Retries: an answer reaches the server only with the very request that was asked about."""

from __future__ import annotations

import itertools
from typing import Any, Final

import pytest

from core.conversation.test_session import MODERN, entries, kinds
from mcp_jail.core.conversation.events import LockChanged
from mcp_jail.core.conversation.questions import Question
from mcp_jail.core.conversation.rounds import ROUNDS_LIMIT, Round, Rounds, subject_of
from mcp_jail.core.policy import Verdict
from mcp_jail.core.protocol import mcp
from mcp_jail.core.rules.decide import Decision
from plays import (
    ACCEPTED,
    DECLINED,
    FORM,
    PROMPTED,
    REVIEW,
    SAMPLED,
    Play,
    approved,
    tool,
)

ASK: Final = {"method": "elicitation/create", "params": FORM}
SAMPLE: Final = {"method": "sampling/createMessage", "params": PROMPTED}
CALL: Final[dict[str, Any]] = {"name": "t", "arguments": {"a": 1, "b": [1, 2]}}


def begun(play: Play | None = None) -> tuple[Play, str]:
    """A call that was asked about, and the token of that round."""
    play = play or Play("modern")
    play.says("tools/call", "first", **CALL)
    wanted = {"a": ASK, "b": SAMPLE}
    play.answers({"resultType": "input_required", "inputRequests": wanted, "requestState": "s"})
    return play, str(play.reply["result"]["requestState"])


def retried(
    play: Play, token: Any, answers: Any, method: str = "tools/call", **params: Any
) -> bool:
    """Whether a retry reaches the server."""
    before = len(play.server_got)
    play.says(method, "again", **{**CALL, **params}, inputResponses=answers, requestState=token)
    return len(play.server_got) > before


def test_a_retry_carries_the_answers_to_what_was_asked() -> None:
    for answers in ({"a": ACCEPTED, "b": SAMPLED}, {"a": DECLINED}, {"b": SAMPLED}, {}):
        play, token = begun()
        assert retried(play, token, answers)
        sent = play.asked["params"]
        assert sent.get("inputResponses", {}) == answers
        assert sent["requestState"] == "s"


@pytest.mark.parametrize(
    "other",
    [
        {"name": "u"},
        {"name": "T"},
        {"arguments": {"a": 2, "b": [1, 2]}},
        {"arguments": {"a": 1.0, "b": [1, 2]}},
        {"arguments": {"a": True, "b": [1, 2]}},
        {"arguments": {"a": "1", "b": [1, 2]}},
        {"arguments": {"a": 1, "b": [2, 1]}},
        {"arguments": {"a": 1}},
        {"arguments": {"a": 1, "b": [1, 2], "c": None}},
        {"arguments": {}},
    ],
    ids=str,
)
def test_a_retry_with_another_subject_or_arguments_is_refused(other: dict[str, Any]) -> None:
    play, token = begun()
    assert not retried(play, token, {"a": ACCEPTED}, **other)
    assert play.reply["error"]["code"] == mcp.INVALID_PARAMS
    assert "not the request that was asked about" in play.reply["error"]["message"]
    assert retried(play, token, {"a": ACCEPTED}), "the round is still open for the right one"


def test_a_retry_by_another_method_is_refused() -> None:
    play = Play("modern")
    play.says("tools/call", 1, name="t")
    play.answers({"resultType": "input_required", "inputRequests": {"a": ASK}})
    token = play.reply["result"]["requestState"]
    before = len(play.server_got)
    play.says("prompts/get", 2, name="t", inputResponses={"a": ACCEPTED}, requestState=token)
    assert len(play.server_got) == before


def test_the_order_of_arguments_and_the_metadata_may_differ() -> None:
    play, token = begun()
    turned = {"b": [1, 2], "a": 1}
    assert retried(play, token, {"a": ACCEPTED}, arguments=turned, _meta={"progressToken": 9})


@pytest.mark.parametrize("token", ["s", "ours-99", "", None, 1, [], {}, True])
def test_a_retry_without_the_token_of_its_round_is_refused(token: Any) -> None:
    play, _ = begun()
    assert not retried(play, token, {"a": ACCEPTED})
    assert "was not passed on" in play.reply["error"]["message"]


def test_a_retry_that_names_no_round_is_refused() -> None:
    play, _ = begun()
    before = len(play.server_got)
    play.says("tools/call", 2, **CALL, inputResponses={"a": ACCEPTED})
    assert len(play.server_got) == before


def test_a_round_is_answered_once() -> None:
    play, token = begun()
    assert retried(play, token, {"a": ACCEPTED})
    play.answers({"content": []})
    assert not retried(play, token, {"a": ACCEPTED})
    assert not retried(play, token, {"a": DECLINED})


def test_two_rounds_of_two_calls_are_not_mixed_up() -> None:
    play = Play("modern")
    tokens = []
    for number in (1, 2):
        play.says("tools/call", number, name=f"t{number}")
        play.answers({"resultType": "input_required", "inputRequests": {"a": ASK}})
        tokens.append(play.reply["result"]["requestState"])
    assert not retried(play, tokens[1], {"a": ACCEPTED}, name="t1", arguments={})
    assert tokens[0] != tokens[1]


@pytest.mark.parametrize(
    "answers",
    [
        {"c": ACCEPTED},
        {"a": ACCEPTED, "c": ACCEPTED},
        {"A": ACCEPTED},
        {"a": SAMPLED},
        {"b": ACCEPTED},
        {"a": None},
        {"a": "yes"},
        {"a": []},
        {"a": {}},
        {"a": {"action": "yes"}},
        {"a": {"action": ["accept"]}},
        {"a": {"action": "accept", "content": {"x": 1}}},
        {"a": {"action": "accept", "content": {"y": "more"}}},
        {"a": {"action": "accept", "content": ["x"]}},
        {"a": {"action": "accept", "EVIL": 1}},
        {"b": {"role": "assistant"}},
        [],
        "a",
        1,
        None,
    ],
    ids=str,
)
def test_an_answer_of_another_shape_or_to_another_question_is_refused(answers: Any) -> None:
    play, token = begun()
    assert not retried(play, token, answers)
    assert play.reply["error"]["code"] == mcp.INVALID_PARAMS
    assert retried(play, token, {"a": ACCEPTED}), "a client may mend its answer"


def test_a_retry_of_an_older_era_answers_nothing() -> None:
    play, token = begun()
    play.era = "legacy"
    play.says("initialize", 1, protocolVersion="2025-11-25", capabilities={})
    play.answers({"protocolVersion": "2025-11-25", "capabilities": {}})
    assert not retried(play, token, {"a": ACCEPTED})


# What may have changed between the question and the answer


def locked() -> Play:
    play = Play("modern", approved=approved(tool()), lock=REVIEW)
    play.lists(tool())
    return play


def test_a_retry_is_held_until_a_changed_listing_was_seen() -> None:
    play, token = begun(locked())
    play.notifies("notifications/tools/list_changed")
    assert retried(play, token, {"a": ACCEPTED})
    assert play.asked["method"] == "tools/list"
    play.answers({"tools": [tool()]})
    assert play.asked["params"]["inputResponses"] == {"a": ACCEPTED}


def test_a_retry_of_a_tool_that_is_another_now_is_denied_and_may_be_made_later() -> None:
    play, token = begun(locked())
    play.notifies("notifications/tools/list_changed")
    retried(play, token, {"a": ACCEPTED})
    play.answers({"tools": [tool(description="EVIL")]})
    assert "approved catalogue" in play.text
    play.handle(LockChanged(approved(tool(description="EVIL"))))
    assert retried(play, token, {"a": ACCEPTED})


def test_a_retry_of_a_tool_that_no_lock_approves_any_more_is_denied() -> None:
    play, token = begun(locked())
    play.handle(LockChanged(None))
    assert not retried(play, token, {"a": ACCEPTED})
    assert "approved catalogue" in play.text


def test_a_denied_retry_is_written_down_without_its_answers_text() -> None:
    play, token = begun(locked())
    play.handle(LockChanged(None))
    effects = play.says("tools/call", 3, **CALL, inputResponses={"a": ACCEPTED}, requestState=token)
    (entry,) = entries(effects)
    assert (entry.verdict, entry.detail["answers"]) == ("deny", ["a"])
    assert kinds(effects) == ["Record", "ToClient", "Tell"]


# The store


def question() -> Question:
    return Question("elicitation/create", FORM, Decision(Verdict.ALLOW, "elicitation", None, ""))


def round_of(number: int, subject: bytes = b"") -> Round:
    return Round(subject, "s", {"a": question()}, {}, number)


def test_the_oldest_round_is_forgotten_first() -> None:
    numbers = itertools.count()
    rounds = Rounds(lambda: f"t{next(numbers)}")
    subject = subject_of("tools/call", {"name": "t"})
    for number in range(ROUNDS_LIMIT + 1):
        rounds.add(round_of(number, subject))
    assert isinstance(rounds.take("tools/call", {"name": "t", "requestState": "t0"}), str)
    taken = rounds.take("tools/call", {"name": "t", "requestState": "t1"})
    assert not isinstance(taken, str)
    assert taken.number == 1


def test_what_makes_two_requests_the_same_is_all_but_metadata_and_answers() -> None:
    one = subject_of("tools/call", {"name": "t", "arguments": {}})
    more = {"_meta": {"a": 1}, "inputResponses": {}, "requestState": "x"}
    assert subject_of("tools/call", {"arguments": {}, "name": "t"} | more) == one
    assert subject_of("tools/call", {"name": "t", "arguments": {}, "task": {}}) != one
    assert subject_of("prompts/get", {"name": "t", "arguments": {}}) != one
    assert subject_of("tools/call", {"name": "t", "arguments": {}, "_meta": MODERN}) != one
