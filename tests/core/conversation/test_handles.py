"""Ids in metadata: each is put there by us, or means something of this run, or goes no further."""

from __future__ import annotations

from typing import Any, Final

import pytest

from mcp_jail.core.conversation.handles import (
    of_answer,
    of_question,
    of_request,
    related_task,
    without_handles,
)
from mcp_jail.core.text.hidden import hides
from plays import ERAS, PREFIX, TRUST, UNLOCKED, Play, approved, tool

SUBSCRIPTION: Final = PREFIX + "subscriptionId"
RELATED: Final = PREFIX + "related-task"
INFO: Final = PREFIX + "serverInfo"
IDS: Final[dict[str, Any]] = {
    SUBSCRIPTION: "listen",
    RELATED: {"taskId": "t9"},
    "progressToken": 7,
}
ODD_IDS: Final[dict[str, Any]] = {name.swapcase(): value for name, value in IDS.items()}
CALLS: Final[dict[str, dict[str, Any]]] = {
    "tools/call": {"name": "t"},
    "resources/read": {"uri": "x://a"},
    "prompts/get": {"name": "p"},
    "completion/complete": {"ref": {"type": "ref/prompt", "name": "p"}},
    "tools/list": {},
    "ping": {},
}
ANSWERS: Final[dict[str, Any]] = {
    "content": [], "contents": [], "messages": [], "tools": [], "completion": {"values": []},
}  # fmt: skip
locks = pytest.mark.parametrize("lock", [TRUST, UNLOCKED], ids=["locked", "unlocked"])
eras = pytest.mark.parametrize("era", ERAS)


@eras
@locks
@pytest.mark.parametrize("text", ["plain", "hidden\u200b"])
@pytest.mark.parametrize("ids", [IDS, ODD_IDS], ids=["as they are", "in another case"])
@pytest.mark.parametrize("method", CALLS)
def test_no_result_carries_an_id_that_its_server_chose(
    method: str, ids: Any, text: str, lock: Any, era: str
) -> None:
    play = Play(era, lock=lock)
    play.lists(tool())
    for listing in ("resources", "prompts"):
        play.says(f"{listing}/list", listing)
        play.answers({listing: []})
    play.says(method, "call", **CALLS[method])
    content = [{"type": "text", "text": text}]
    play.answers({**ANSWERS, "content": content, "_meta": ids | {"own": 1}})
    assert play.reply["id"] == "call"
    assert "listen" not in str(play.reply)
    assert "t9" not in str(play.reply)
    assert "oken" not in str(play.reply)
    if method == "tools/call":
        assert play.reply["result"]["_meta"] == {"own": 1}


@pytest.mark.parametrize("said", [{}, {SUBSCRIPTION: "other"}, {INFO: {"name": "EVIL"}, "e": 1}])
def test_what_ends_a_subscription_names_it_as_the_client_does_and_says_nothing(said: Any) -> None:
    play = Play("modern")
    play.says("subscriptions/listen", "mine", notifications={"toolsListChanged": True})
    play.answers({"_meta": said | IDS | {"EVIL": 1}, "EVIL": 1, "message": "EVIL"})
    assert play.reply == {
        "jsonrpc": "2.0",
        "id": "mine",
        "result": {"resultType": "complete", "_meta": {SUBSCRIPTION: "mine"}},
    }


def test_a_client_names_no_task_of_another_run() -> None:
    play = Play("modern")
    play.calls("t", _meta={**IDS, "own": 1})
    meta = play.asked["params"]["_meta"]
    assert meta["progressToken"] == 7
    assert meta["own"] == 1
    assert not {SUBSCRIPTION, RELATED} & meta.keys()
    play.calls("t", "again", _meta=ODD_IDS)
    assert not ODD_IDS.keys() & play.asked["params"]["_meta"].keys()


@locks
def test_info_that_was_approved_with_hidden_characters_is_marked_with_every_result(
    lock: Any,
) -> None:
    info = {"name": "a\u200bb", "version": "1"}
    held = approved(tool(), era="modern", server_info=info)
    play = Play("modern", approved=held, lock=lock)
    play.lists(tool())
    play.calls("t")
    play.answers({"content": [], "_meta": {INFO: info}})
    assert INFO in play.reply["result"]["_meta"]
    assert not hides(play.reply)


def test_metadata_without_any_id_stays_the_same_object() -> None:
    meta = {"own": 1, PREFIX + "serverInfo": {}}
    assert without_handles(meta) is meta
    assert of_request({"_meta": meta}, lambda _: True)["_meta"] is meta
    assert without_handles(IDS) == without_handles(ODD_IDS) == {}


def test_a_task_is_named_by_a_string() -> None:
    assert related_task({}) is None
    assert related_task({"_meta": []}) is None
    assert related_task({"_meta": {RELATED: {"taskId": "t"}}}) == "t"
    odds: list[Any] = ["t", {"taskId": 1}, {}, None, []]
    for odd in odds:
        assert related_task({"_meta": {RELATED: odd}}) == ""


def test_what_a_question_or_an_answer_carries() -> None:
    assert of_question({"_meta": {"progressToken": []}}) == {}
    assert of_question({"_meta": {"progressToken": 0}}) == {"_meta": {"progressToken": 0}}
    question = {"_meta": {RELATED: {"taskId": "t"}}}
    assert of_answer({}, question) == {}
    assert of_answer({"_meta": IDS}, question) == question
    assert of_answer({"_meta": ODD_IDS}, {}) == {"_meta": {}}
    assert of_answer({"_meta": "EVIL"}, {}) == {"_meta": {}}
    assert of_request({"_meta": {RELATED: {"taskId": "t"}}}, lambda id: id == "t") == question
