"""Questions that a task asks while it runs (2026-07-28): judged like those of the call itself."""

from __future__ import annotations

from typing import Any, Final

import pytest

from core.conversation.test_tasks import began, told, working
from mcp_jail.core.conversation.tally import VIOLATIONS_RECORDED
from mcp_jail.core.conversation.tasks import QUESTIONS_LIMIT
from mcp_jail.core.protocol import mcp
from plays import ACCEPTED, FORM, PREFIX, PROMPTED, SAMPLED, Play

OUR_ROOTS: Final = {"roots": [{"uri": "file:///home/me/a%20b", "name": "/home/me/a b"}]}

ASK: Final = {"method": "elicitation/create", "params": FORM}
SAMPLE: Final = {"method": "sampling/createMessage", "params": PROMPTED}


def asking(play: Play, requests: Any) -> Any:
    """The questions a client gets with the state of its task."""
    state = {"taskId": "t1", "status": "input_required", "inputRequests": requests}
    return told(play, state)["result"]["inputRequests"]


def updated(play: Play, answers: Any) -> bool:
    before = len(play.server_got)
    play.says("tasks/update", "update", taskId="t1", inputResponses=answers)
    return len(play.server_got) > before


def test_a_task_may_ask_what_its_call_may_ask() -> None:
    play = working("modern")
    assert asking(play, {"a": ASK, "b": SAMPLE}) == {"a": ASK, "b": SAMPLE}
    assert [entry.method for entry in play.entries if entry.detail == {"from": "server"}] == [
        "elicitation/create",
        "sampling/createMessage",
    ]
    assert updated(play, {"a": ACCEPTED, "b": SAMPLED})
    assert play.asked["params"]["inputResponses"] == {"a": ACCEPTED, "b": SAMPLED}
    assert play.entries[-1].detail == {"answers": ["a", "b"]}


def test_a_question_that_may_not_be_put_is_left_out_and_cannot_be_answered() -> None:
    play = working("modern", sampling="deny")
    assert asking(play, {"a": ASK, "b": SAMPLE, "c": {"method": "tools/call"}}) == {"a": ASK}
    assert len(play.told) == 2
    assert not updated(play, {"b": SAMPLED})
    assert updated(play, {"a": ACCEPTED})


@pytest.mark.parametrize(
    "answers", [{"z": ACCEPTED}, {"a": SAMPLED}, {"a": None}, {"a": "yes"}, [], None, "a"]
)
def test_an_answer_to_another_question_of_a_task_is_refused(answers: Any) -> None:
    play = working("modern")
    asking(play, {"a": ASK})
    assert not updated(play, answers)
    assert play.reply["error"]["code"] == mcp.INVALID_PARAMS


def test_a_key_of_a_task_means_one_question_for_ever() -> None:
    play = working("modern", sampling="deny")
    assert asking(play, {"a": ASK}) == {"a": ASK}
    other = {"method": "elicitation/create", "params": FORM | {"message": "And your address?"}}
    for exchanged in (other, SAMPLE, {}, None):
        assert asking(play, {"a": exchanged}) == {"a": ASK}


def test_the_answers_of_a_task_belong_to_it_alone() -> None:
    play = working("modern")
    began(play, "t2")
    asking(play, {"a": ASK})
    before = len(play.server_got)
    play.says("tasks/update", 1, taskId="t2", inputResponses={"a": ACCEPTED})
    assert len(play.server_got) == before


def test_answers_go_only_with_an_update() -> None:
    play = working("modern")
    asking(play, {"a": ASK})
    before = len(play.server_got)
    play.says("tasks/get", 1, taskId="t1", inputResponses={"a": ACCEPTED})
    play.says("tasks/update", 2, taskId="t1")
    assert len(play.server_got) == before


@pytest.mark.parametrize("odd", [1, "a", [], [ASK], True])
def test_questions_of_a_task_of_another_shape_are_none(odd: Any) -> None:
    assert asking(working("modern"), odd) == {}


def test_a_legacy_task_asks_nothing_in_its_state() -> None:
    assert asking(working("legacy"), {"a": ASK}) == {}


def test_the_policys_roots_are_told_to_a_task_once() -> None:
    play = working("modern")
    before = len(play.client_got)
    assert asking(play, {"r": {"method": "roots/list"}, "a": ASK}) == {"a": ASK}
    sent = [each for each in play.server_got if each.get("method") == "tasks/update"]
    assert [each["params"]["inputResponses"] for each in sent] == [{"r": OUR_ROOTS}]
    assert sent[0]["params"]["taskId"] == "t1"
    assert sent[0]["params"]["_meta"][mcp.VERSION_KEY] == "2026-07-28"
    assert play.answers({}, sent[0]["id"]) == [], "nobody waits for it"
    assert len(play.talk._state.in_flight) == 0
    asking(play, {"r": {"method": "roots/list"}})
    assert len([each for each in play.server_got if each.get("method") == "tasks/update"]) == 1
    assert len(play.client_got) == before + 2
    assert not updated(play, {"r": {"roots": [{"uri": "file:///"}]}})


def test_roots_are_told_to_no_task_where_the_policy_tells_none() -> None:
    play = working("modern", roots="deny")
    assert asking(play, {"r": {"method": "roots/list"}}) == {}
    assert [each for each in play.server_got if each.get("method") == "tasks/update"] == []


@pytest.mark.parametrize("request_", [SAMPLE, {"method": "roots/list"}], ids=str)
def test_a_flood_of_questions_in_news_of_a_task_stays_bounded(request_: dict[str, Any]) -> None:
    play = working("modern", sampling="deny")
    play.says("subscriptions/listen", "listen", notifications={"taskIds": ["t1"]})
    meta = {PREFIX + "subscriptionId": play.asked["id"]}
    open_before = len(play.talk._state.in_flight)
    for number in range(VIOLATIONS_RECORDED + 100):
        play.notifies(
            "notifications/tasks", taskId="t1", _meta=meta, inputRequests={str(number): request_}
        )
    assert len(play.talk._state.in_flight) <= open_before + QUESTIONS_LIMIT
    assert len(play.entries) <= VIOLATIONS_RECORDED + QUESTIONS_LIMIT
    assert len(play.told) <= VIOLATIONS_RECORDED
