"""Results that ask before they answer (2026-07-28): what is judged, passed on and refused."""

from __future__ import annotations

from typing import Any, Final

import pytest

from core.conversation.test_session import entries, kinds
from mcp_jail.core.conversation.events import LockChanged
from mcp_jail.core.conversation.rounds import QUESTIONS_OF_ONE_ROUND, ROUNDS_OF_ONE_REQUEST
from mcp_jail.core.protocol import mcp
from mcp_jail.core.recorded.audit import Kind
from plays import (
    ACCEPTED,
    FORM,
    OFFERS,
    PAGE,
    PROMPTED,
    REVIEW,
    SAMPLED,
    Play,
    approved,
    tool,
)

ASK: Final = {"method": "elicitation/create", "params": FORM}
SAMPLE: Final = {"method": "sampling/createMessage", "params": PROMPTED}
ROOTS: Final = {"method": "roots/list"}
OUR_ROOTS: Final = {"roots": [{"uri": "file:///home/me/a%20b", "name": "/home/me/a b"}]}

# The only requests that a server may answer with questions (2026-07-28, "Multi Round-Trip").
SUBJECTS: Final[dict[str, dict[str, Any]]] = {
    "tools/call": {"name": "t", "arguments": {"a": 1}},
    "prompts/get": {"name": "p", "arguments": {"a": "1"}},
    "resources/read": {"uri": "x://a"},
}
each_subject = pytest.mark.parametrize("method", SUBJECTS)


def asked(play: Play, requests: Any = None, state: Any = None, **more: Any) -> list[Any]:
    """The server answers its last request with questions: the kinds of effects."""
    wanted: dict[str, Any] = {"resultType": "input_required", **more}
    if requests is not None:
        wanted["inputRequests"] = requests
    if state is not None:
        wanted["requestState"] = state
    return play.answers(wanted)


def begun(method: str = "tools/call", id: int | str = 0, **keys: Any) -> Play:
    play = Play("modern", **keys)
    play.says(method, id, **SUBJECTS[method])
    return play


@each_subject
@pytest.mark.parametrize("id", [0, "", 7, "a"])
def test_questions_reach_the_client_under_its_own_id_and_a_token_of_ours(
    method: str, id: int | str
) -> None:
    play = begun(method, id)
    effects = asked(play, {"a": ASK, "b": SAMPLE}, "server's own", EVIL="x", content=["EVIL"])
    assert play.client_got[-1] == {
        "jsonrpc": "2.0",
        "id": id,
        "result": {
            "resultType": "input_required",
            "requestState": "ours-3",
            "inputRequests": {"a": ASK, "b": SAMPLE},
        },
    }
    assert kinds(effects) == ["Record", "Record", "ToClient", "Record"]
    assert [entry.verdict for entry in entries(effects)[:2]] == ["allow", "allow"]
    assert entries(effects)[-1].detail == {"asks": ["a", "b"]}


@each_subject
def test_the_answers_go_back_with_the_servers_own_state_and_nothing_else(method: str) -> None:
    play = begun(method)
    asked(play, {"a": ASK, "b": SAMPLE}, "server's own")
    token = play.reply["result"]["requestState"]
    answers = {"a": ACCEPTED, "b": SAMPLED}
    effects = play.says(method, 1, **SUBJECTS[method], inputResponses=answers, requestState=token)
    assert kinds(effects) == ["Record", "ToServer"]
    sent = play.asked["params"]
    assert sent.pop("_meta")[PREFIX_VERSION] == "2026-07-28"
    assert sent == SUBJECTS[method] | {"inputResponses": answers, "requestState": "server's own"}
    assert entries(effects)[0].detail == {"answers": ["a", "b"]}
    play.answers({"content": []})
    assert play.reply["id"] == 1


PREFIX_VERSION: Final = mcp.VERSION_KEY


def test_a_server_that_gives_no_state_gets_none() -> None:
    play = begun()
    asked(play, {"a": ASK})
    token = play.reply["result"]["requestState"]
    play.calls("t", 1, arguments={"a": 1}, inputResponses={"a": ACCEPTED}, requestState=token)
    assert "requestState" not in play.asked["params"]


def test_a_state_alone_is_an_order_to_come_again() -> None:
    play = begun()
    asked(play, state="wait")
    result = play.reply["result"]
    assert result == {"resultType": "input_required", "requestState": result["requestState"]}
    play.calls("t", 1, arguments={"a": 1}, requestState=result["requestState"])
    assert play.asked["params"]["requestState"] == "wait"
    assert "inputResponses" not in play.asked["params"]


# Roots


@each_subject
@pytest.mark.parametrize("id", [0, "", "a"])
def test_the_policys_roots_are_told_without_troubling_anybody(method: str, id: int | str) -> None:
    play = begun(method, id)
    before, first = len(play.client_got), play.asked["id"]
    effects = asked(play, {"r": ROOTS}, "s")
    assert len(play.client_got) == before
    assert play.asked["id"] != first
    assert play.asked["params"] | {"_meta": 0} == SUBJECTS[method] | {
        "_meta": 0,
        "inputResponses": {"r": OUR_ROOTS},
        "requestState": "s",
    }
    (entry,) = entries(effects)
    assert kinds(effects) == ["Record", "ToServer"], "the repeated request is recorded first"
    assert (entry.id, entry.method, entry.verdict) == (play.asked["id"], method, "allow")
    assert entry.detail == {"answers": ["r"], "from": "mcp-jail"}
    play.answers({"content": [], "messages": [], "contents": []})
    assert play.reply["id"] == id
    assert play.entries[-1].id == play.asked["id"]


def test_a_server_that_never_has_roots_enough_is_given_up_on() -> None:
    play = begun()
    for _ in range(ROUNDS_OF_ONE_REQUEST):
        assert "ToServer" in kinds(asked(play, {"r": ROOTS}))
    assert kinds(asked(play, {"r": ROOTS})) == ["Record", "ToClient", "Record"]
    assert "asked too often" in play.reply["error"]["message"]


def test_roots_asked_for_with_something_else_are_ours_too() -> None:
    play = begun()
    asked(play, {"r": ROOTS, "a": ASK}, "s")
    result = play.reply["result"]
    assert result["inputRequests"] == {"a": ASK}
    mine = {"a": ACCEPTED, "r": {"roots": [{"uri": "file:///"}]}}
    token = result["requestState"]
    assert play.calls("t", 1, arguments={"a": 1}, inputResponses=mine, requestState=token) == []
    del mine["r"]
    play.calls("t", 2, arguments={"a": 1}, inputResponses=mine, requestState=token)
    assert play.asked["params"]["inputResponses"] == {"a": ACCEPTED, "r": OUR_ROOTS}


def test_a_call_that_waits_for_roots_can_be_cancelled_and_reports_progress() -> None:
    play = Play("modern")
    play.calls("t", 1, _meta={"progressToken": "p"})
    asked(play, {"r": ROOTS})
    assert kinds(play.notifies("notifications/progress", progressToken="p", progress=1)) == [
        "ToClient"
    ]
    play.says("notifications/cancelled", requestId=1)
    assert play.server_got[-1]["params"]["requestId"] == play.asked["id"]
    assert play.answers({"content": []}) == []


@pytest.mark.parametrize("how", ["lock", "listing"])
def test_a_call_is_not_repeated_by_us_once_the_lock_would_refuse_it(how: str) -> None:
    play = Play("modern", approved=approved(tool()), lock=REVIEW)
    play.lists(tool())
    play.calls("t", 0)
    call = play.asked["id"]
    if how == "lock":
        play.handle(LockChanged(None))
    else:
        play.lists(tool(description="EVIL"))
    before = len(play.server_got)
    play.answers({"resultType": "input_required", "inputRequests": {"r": ROOTS}}, call)
    assert len(play.server_got) == before
    assert (play.reply["id"], play.reply["error"]["code"]) == (0, mcp.DENIED)


def test_a_call_is_repeated_by_us_while_its_listing_is_not_known() -> None:
    play = Play("modern", approved=approved(tool()), lock=REVIEW)
    play.lists(tool())
    play.calls("t", 0)
    play.notifies("notifications/tools/list_changed")
    asked(play, {"r": ROOTS})
    assert play.asked["params"]["inputResponses"] == {"r": OUR_ROOTS}


# Refusals


def refused(play: Play) -> str:
    """The words a client or its model gets for a refused question."""
    reply = play.reply
    if "error" in reply:
        assert reply["error"]["code"] == mcp.DENIED
        return str(reply["error"]["message"])
    assert reply["result"]["isError"]
    assert reply["result"]["resultType"] == "complete"
    return play.text


FORMLESS: Final = {"method": "elicitation/create", "params": {"message": "m"}}
SECRET: Final = {
    "method": "elicitation/create",
    "params": {
        "message": "Your password?",
        "requestedSchema": {"type": "object", "properties": {"password": {"type": "string"}}},
    },
}
NEAR: Final = {"method": "elicitation/create", "params": PAGE | {"url": "https://localhost/"}}


@each_subject
@pytest.mark.parametrize(
    ("request_", "keys", "words"),
    [
        (ASK, {"elicitation": "deny"}, "input of a person: not allowed by the policy"),
        (SAMPLE, {"sampling": "deny"}, "the client's model: not allowed by the policy"),
        (ROOTS, {"roots": "deny"}, "roots: not allowed by the policy"),
        (ASK, {"offers": {}}, "the client did not offer it"),
        (SAMPLE, {"offers": {}}, "the client did not offer it"),
        (FORMLESS, {}, "requestedSchema"),
        (SECRET, {}, "secret"),
        (NEAR, {}, "this machine or its network"),
        ({"method": "tools/call", "params": {}}, {}, "a question nobody knows"),
        ({"method": "sampling/createmessage"}, {}, "a question nobody knows"),
        ({}, {}, "a question nobody knows"),
        ({"method": ["elicitation/create"]}, {}, "a question nobody knows"),
        ("EVIL", {}, "a question nobody knows"),
        (None, {}, "a question nobody knows"),
        ({"method": "elicitation/create", "params": []}, {}, "requestedSchema"),
        ({"method": "elicitation/create", "params": {"mode": []}}, {}, "mode"),
    ],
)
def test_one_question_that_may_not_be_put_ends_the_request(
    method: str, request_: Any, keys: dict[str, Any], words: str
) -> None:
    play = begun(method, **keys)
    ours = {} if "roots" in keys else {"r": ROOTS}
    effects = asked(play, ours | {"bad": request_, "z": ASK}, "s")
    assert words in refused(play)
    assert kinds(effects) == ["Record", "ToClient", "Tell", "Record"]
    assert [entry.verdict for entry in entries(effects)] == ["deny", ""]
    assert entries(effects)[-1].is_error
    assert play.talk.tally.denials == 1
    assert "ToClient" not in kinds(play.answers({"content": []}, play.asked["id"]))


def test_a_mode_that_the_client_did_not_offer_is_refused() -> None:
    forms_only: dict[str, Any] = {"elicitation": {"form": {}}}
    pages_only: dict[str, Any] = {"elicitation": {"url": {}}}
    page = {"method": "elicitation/create", "params": PAGE}
    for offers, wanted, is_refused in (
        (forms_only, ASK, False),
        (forms_only, page, True),
        (pages_only, ASK, True),
        (pages_only, page, False),
        ({"elicitation": {}}, ASK, False),
        ({"elicitation": {}}, page, True),
    ):
        play = begun(offers=offers)
        asked(play, {"a": wanted})
        assert (play.reply["result"]["resultType"] == "complete") is is_refused


@pytest.mark.parametrize(
    "result",
    [
        {},
        {"inputRequests": {}},
        {"inputRequests": []},
        {"inputRequests": None},
        {"inputRequests": None, "requestState": "s"},
        {"inputRequests": "EVIL", "requestState": "s"},
        {"requestState": 1},
        {"requestState": ["s"]},
        {"requestState": None},
        {"inputRequests": {"a": ASK}, "requestState": {}},
    ],
    ids=str,
)
def test_questions_of_another_shape_are_not_passed_on(result: dict[str, Any]) -> None:
    play = begun()
    assert kinds(asked(play, **result)) == ["Record", "ToClient", "Record"]
    assert play.reply["error"]["code"] == mcp.INTERNAL_ERROR


@each_subject
def test_a_legacy_server_cannot_ask_in_a_result(method: str) -> None:
    play = Play()
    play.says(method, 0, **SUBJECTS[method])
    asked(play, {"a": ASK}, "s")
    assert play.reply["error"]["code"] == mcp.INTERNAL_ERROR


@pytest.mark.parametrize("method", ["resources/subscribe", "completion/complete", "tools/list"])
def test_nothing_else_may_be_answered_with_questions(method: str) -> None:
    play = Play("modern")
    typed = {"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "a", "value": ""}}
    play.says(method, 0, **{"completion/complete": typed}.get(method, {"uri": "x://a"}))
    asked(play, {"a": ASK}, "s")
    assert "error" in play.reply


def test_more_questions_than_anybody_answers_are_not_passed_on() -> None:
    play = begun()
    asked(play, {str(number): ASK for number in range(QUESTIONS_OF_ONE_ROUND)})
    assert len(play.reply["result"]["inputRequests"]) == QUESTIONS_OF_ONE_ROUND
    play = begun()
    effects = asked(play, {str(number): ASK for number in range(QUESTIONS_OF_ONE_ROUND + 1)})
    assert kinds(effects) == ["Record", "ToClient", "Record"]
    assert "error" in play.reply


def test_a_request_is_asked_about_ten_times_at_most_however_it_is_repeated() -> None:
    play = Play("modern")
    play.calls("t", "first")
    for number in range(ROUNDS_OF_ONE_REQUEST):
        assert "ToClient" in kinds(asked(play, {"a": ASK}))
        token = play.reply["result"]["requestState"]
        play.calls("t", number, inputResponses={"a": ACCEPTED}, requestState=token)
    asked(play, {"a": ASK})
    assert "asked too often" in play.reply["error"]["message"]


def test_a_result_that_asks_and_is_written_twice_over_is_not_passed_on() -> None:
    play = begun()
    play.sends(
        id=play.asked["id"],
        result={"resultType": "input_required", "inputRequests": {}, "INPUTREQUESTS": {"a": ASK}},
    )
    assert "error" in play.reply


def test_what_a_client_offers_counts_for_the_request_it_stands_in() -> None:
    play = Play("modern", offers={})
    play.calls("t", 1)
    asked(play, {"a": ASK})
    assert "did not offer" in refused(play)
    play.offers = OFFERS
    play.calls("t", 2)
    asked(play, {"a": ASK})
    assert play.reply["result"]["inputRequests"] == {"a": ASK}


def test_every_question_is_written_down_before_it_is_put() -> None:
    play = begun()
    effects = asked(play, {"a": ASK, "b": SAMPLE})
    assert [entry.kind for entry in entries(effects)] == [Kind.CALL, Kind.CALL, Kind.RESULT]
    assert [entry.method for entry in entries(effects)][:2] == [
        "elicitation/create",
        "sampling/createMessage",
    ]
