"""What a legacy server asks through the client: judged, mapped, bounded, and so its answers."""

from __future__ import annotations

from typing import Any, Final

import pytest

from core.conversation.test_session import entries, kinds
from mcp_jail.core.conversation.events import AuditFailed, FromClient, ToClient
from mcp_jail.core.conversation.inflight import ASKED_LIMIT
from mcp_jail.core.conversation.questions import (
    ROOTS,
    Refusal,
    judge,
    roots_are_ours,
    roots_refused,
)
from mcp_jail.core.conversation.tally import VIOLATIONS_RECORDED
from mcp_jail.core.protocol import mcp, wire
from mcp_jail.core.text.hidden import hides
from plays import ACCEPTED, DECLINED, FORM, OFFERS, PAGE, PREFIX, PROMPTED, SAMPLED, Play

ELICITED: Final = "elicitation/create"
SAMPLING: Final = "sampling/createMessage"
ASKING: Final[dict[str, dict[str, Any]]] = {ELICITED: FORM, SAMPLING: PROMPTED}
ANSWERS: Final[dict[str, dict[str, Any]]] = {ELICITED: ACCEPTED, SAMPLING: SAMPLED}
each_method = pytest.mark.parametrize("method", ASKING)
KEYS: Final = {ELICITED: "elicitation", SAMPLING: "sampling"}


def asked(play: Play, method: str = ELICITED, id: Any = 1, **more: Any) -> dict[str, Any]:
    """The question that the client is asked."""
    play.sends(id=id, method=method, params=ASKING[method] | more)
    question = play.client_got[-1]
    assert question["method"] == method
    return question


def refused(play: Play, method: str = ELICITED, id: Any = 1, params: Any = None) -> dict[str, Any]:
    """The error that a server gets for its question, which the client never sees."""
    before = len(play.client_got)
    play.sends(id=id, method=method, params=ASKING.get(method, {}) if params is None else params)
    assert len(play.client_got) == before
    reply = play.server_got[-1]
    assert (reply["id"], type(reply["id"])) == (id, type(id))
    error: dict[str, Any] = reply["error"]
    return error


def judging(method: str, verdict: str) -> Play:
    keys: dict[str, Any] = {KEYS[method]: verdict}
    return Play(**keys)


# Passed on


@each_method
@pytest.mark.parametrize("id", [0, 1, "", "1", "a"], ids=repr)
def test_a_question_goes_to_the_client_and_its_answer_back_each_under_the_other_id(
    method: str, id: Any
) -> None:
    play = Play()
    question = asked(play, method, id)
    assert question == {
        "jsonrpc": "2.0",
        "id": "ours-2",
        "method": method,
        "params": ASKING[method],
    }
    effects = play.replies("ours-2", result=ANSWERS[method])
    assert kinds(effects) == ["Record", "ToServer"]
    assert play.server_got[-1] == {"jsonrpc": "2.0", "id": id, "result": ANSWERS[method]}


def test_a_question_is_written_down_before_it_is_put_and_so_is_its_answer() -> None:
    play = Play()
    effects = play.sends(id=5, method=ELICITED, params=FORM)
    assert kinds(effects) == ["Record", "ToClient"]
    (entry,) = entries(effects)
    assert (entry.method, entry.verdict, entry.id) == (ELICITED, "allow", "ours-2")
    assert entry.detail == {"from": "server"}
    (put,) = [effect for effect in effects if isinstance(effect, ToClient)]
    assert put.is_question
    (entry,) = entries(play.replies("ours-2", result=DECLINED))
    assert entry.detail == {"from": "client", "action": "decline"}
    assert (entry.id, entry.verdict, entry.is_error) == ("ours-2", "allow", False)


def test_a_clients_error_goes_back_as_one_of_json_rpc() -> None:
    play = Play()
    asked(play, id="s")
    error = {"code": -1, "message": "User said no", "data": 1, "more": 2}
    (entry,) = entries(play.replies("ours-2", error=error))
    assert play.server_got[-1] == {
        "jsonrpc": "2.0",
        "id": "s",
        "error": {"code": -1, "message": "User said no", "data": 1},
    }
    assert entry.is_error
    for odd in ({}, {"code": "1", "message": "m"}, {"code": 1}):
        asked(play, id="s")
        play.replies(play.client_got[-1]["id"], error=odd)
        error = {"code": mcp.INTERNAL_ERROR, "message": "the client failed"}
        assert play.server_got[-1]["error"] == error


@each_method
@pytest.mark.parametrize(
    "answer", [None, 1, "yes", [], {}, {"action": []}, {"EVIL": 1}, {"content": {}}], ids=str
)
def test_an_answer_of_another_shape_ends_the_question_with_an_error(
    method: str, answer: Any
) -> None:
    play = Play()
    asked(play, method, "s")
    play.replies("ours-2", result=answer)
    reply = play.server_got[-1]
    assert (reply["id"], reply["error"]["code"]) == ("s", mcp.INTERNAL_ERROR)
    assert "EVIL" not in str(reply)
    assert kinds(play.replies("ours-2", result=ANSWERS[method])) == ["Record"]


def test_an_answer_that_parsers_could_read_differently_ends_the_question() -> None:
    play = Play()
    asked(play, id="s")
    line = b'{"jsonrpc":"2.0","id":"ours-2","result":{"action":"decline","action":"accept"}}'
    play.handle(FromClient(line))
    assert play.server_got[-1]["error"]["code"] == mcp.INTERNAL_ERROR


@pytest.mark.parametrize(
    "id", [1, "1", 2, "ours-1", "ours-3", "OURS-2", "ours-2 ", 0, "", 2.0], ids=repr
)
def test_an_answer_to_anything_else_reaches_nobody(id: Any) -> None:
    play = Play()
    asked(play)
    before = len(play.server_got)
    play.replies(id, result=ACCEPTED)
    play.replies(id, error={"code": 1, "message": "m"})
    assert len(play.server_got) == before
    play.replies("ours-2", result=ACCEPTED)
    assert len(play.server_got) == before + 1


def test_a_question_is_answered_once() -> None:
    play = Play()
    asked(play)
    play.replies("ours-2", result=DECLINED)
    before = len(play.server_got)
    play.replies("ours-2", result=ACCEPTED)
    assert len(play.server_got) == before


def test_look_alike_ids_of_a_server_are_different_questions() -> None:
    play = Play()
    ids = {asked(play, id=id)["id"]: id for id in (1, "1", 0, "0", "")}
    assert len(ids) == 5
    for ours, id in reversed(ids.items()):
        play.replies(ours, result=DECLINED)
        assert (play.server_got[-1]["id"], type(play.server_got[-1]["id"])) == (id, type(id))


def test_one_id_cannot_name_two_open_questions() -> None:
    play = Play()
    asked(play, id=7)
    assert refused(play, id=7)["code"] == wire.INVALID_REQUEST
    play.replies("ours-2", result=DECLINED)
    asked(play, id=7)


def test_the_clients_progress_on_a_question_reaches_the_server_under_exactly_its_token() -> None:
    play = Play()
    asked(play, _meta={"progressToken": 3})
    tokens: list[Any] = ["3", 3.0, True, None, [3], 4]
    for token in tokens:
        assert play.says("notifications/progress", progressToken=token, progress=1) == []
    assert kinds(play.says("notifications/progress", progressToken=3, progress=1)) == ["ToServer"]
    play.replies("ours-2", result=DECLINED)
    assert play.says("notifications/progress", progressToken=3, progress=1) == []


RELATED: Final = PREFIX + "related-task"


def with_task() -> Play:
    """A play with a task of this run, `t1`."""
    capabilities: dict[str, Any] = {"tasks": {"requests": {"tools": {"call": {}}}}}
    play = Play(server={"capabilities": capabilities}, offers=OFFERS)
    play.calls("t", task={})
    play.answers({"task": {"taskId": "t1", "status": "working"}})
    return play


@each_method
def test_of_a_questions_metadata_its_token_and_its_task_are_passed_on(method: str) -> None:
    meta = {"progressToken": "p", RELATED: {"taskId": "t1", "EVIL": "x"}, PREFIX + "x": 1}
    assert asked(with_task(), method, _meta=meta)["params"]["_meta"] == {
        "progressToken": "p",
        RELATED: {"taskId": "t1"},
    }
    odd: list[Any] = [{"progressToken": ["EVIL"]}, {}]
    for meta in odd:
        assert asked(Play(), method, _meta=meta)["params"].get("_meta", {}) == {}


@each_method
@pytest.mark.parametrize("task", ["EVIL", {"taskId": "t2"}, {"taskId": {}}, {"taskId": ""}, None])
def test_a_question_of_a_task_that_this_run_has_not_is_refused(method: str, task: Any) -> None:
    params = ASKING[method] | {"_meta": {RELATED: task}}
    assert "none of this run" in refused(with_task(), method, params=params)["message"]


@each_method
def test_an_answer_names_the_task_of_its_question_and_nothing_else(method: str) -> None:
    play = with_task()
    question = asked(play, method, _meta={RELATED: {"taskId": "t1"}})
    ids = {RELATED: {"taskId": "t2"}, PREFIX + "subscriptionId": 1, "progressToken": 1, "own": 1}
    play.replies(question["id"], result=ANSWERS[method] | {"_meta": ids})
    assert play.server_got[-1]["result"]["_meta"] == {RELATED: {"taskId": "t1"}, "own": 1}


HIDDEN: Final = "\u202eEVIL\u200b\x1b[2J\U000e0041"


@pytest.mark.parametrize("mode", ["mark", "strip", "off"])
@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_hidden_characters_reach_no_model_by_sampling(era: str, mode: str) -> None:
    """Every text of it: what is said, the system's words, tools, what they gave, metadata."""
    said: dict[str, Any] = {
        "messages": [
            {"role": "user", "content": {"type": "text", "text": HIDDEN}},
            {"role": "assistant", "content": [USED]},
            {"role": "user", "content": [{"type": "tool_result", "toolUseId": "u", **GAVE}]},
        ],
        "systemPrompt": HIDDEN,
        "stopSequences": [HIDDEN],
        "maxTokens": 5,
        "metadata": {"a": [HIDDEN], HIDDEN: 1},
        "modelPreferences": {"hints": [{"name": HIDDEN}]},
        "tools": [{"name": "n", "description": HIDDEN, "inputSchema": {"title": HIDDEN}}],
    }
    play = Play(era, text=mode)
    if era == "legacy":
        params = asked(play, SAMPLING, **said)["params"]
    else:
        play.calls("t")
        request = {"method": SAMPLING, "params": said}
        play.answers({"resultType": "input_required", "inputRequests": {"q": request}})
        params = play.reply["result"]["inputRequests"]["q"]["params"]
    assert "EVIL" in str(params)
    assert hides(params) is (mode == "off")


USED: Final = {"type": "tool_use", "id": "u", "name": "n", "input": {"a": HIDDEN}}
GAVE: Final = {"content": [{"type": "text", "text": HIDDEN}], "structuredContent": {"b": HIDDEN}}


@pytest.mark.parametrize(
    "more",
    [
        {"tools": [{"name": "n\u200b", "inputSchema": {}}]},
        {"messages": [{"role": "assistant", "content": [USED | {"name": "n\u200b"}]}]},
        {"messages": [{"role": "assistant", "content": [USED | {"id": "u\u200b"}]}]},
    ],
    ids=["a tool", "a use", "an id"],
)
def test_no_name_or_id_in_sampling_looks_like_another(more: Any) -> None:
    assert refused(Play(), SAMPLING, params=PROMPTED | more)["code"] == mcp.DENIED


@pytest.mark.parametrize(
    "params",
    [
        FORM | {"message": HIDDEN},
        FORM | {"requestedSchema": FORM["requestedSchema"] | {"$schema": HIDDEN}},
        PAGE | {"elicitationId": "a\u200b"},
        PAGE | {"url": "https://example.com/\u200b"},
        *(
            FORM | {"requestedSchema": {"type": "object", "properties": {"x": field}}}
            for field in (
                {"type": "string", "pattern": "a\u200b"},
                {"type": "string", "format": "a\u200b"},
                {"type": "string", "enum": ["a", "a\u200b"]},
                {"type": "string", "default": "a\u200b"},
            )
        ),
    ],
)
def test_no_form_or_page_has_hidden_characters(params: Any) -> None:
    assert refused(Play(), ELICITED, params=params)["code"] == mcp.DENIED


def test_no_question_stands_under_a_name_with_hidden_characters() -> None:
    play = Play("modern")
    play.calls("t")
    request = {"method": ELICITED, "params": FORM}
    play.answers({"resultType": "input_required", "inputRequests": {"q\u200b": request}})
    assert "inputRequests" not in str(play.reply)


def test_members_of_a_question_that_nobody_knows_are_not_put() -> None:
    assert asked(Play(), SAMPLING, EVIL="x", includeContext="allServers")["params"] == PROMPTED
    assert refused(Play(), ELICITED, params=FORM | {"EVIL": "x"})["code"] == mcp.DENIED
    assert refused(Play(), ELICITED, params=PAGE | {"requestedSchema": {}})["code"] == mcp.DENIED


# Refused


@each_method
@pytest.mark.parametrize("verdict", ["deny"])
def test_a_question_goes_by_the_policy(method: str, verdict: str) -> None:
    play = judging(method, verdict)
    assert refused(play, method) == {
        "code": mcp.DENIED,
        "message": "not allowed by the user's policy",
    }
    (entry,) = play.entries
    assert (entry.verdict, entry.rule, entry.method) == (verdict, KEYS[method], method)
    assert len(play.told) == 1
    assert play.talk.tally.denials == 1


@pytest.mark.parametrize(
    ("method", "params", "offers"),
    [
        (SAMPLING, PROMPTED, {}),
        (SAMPLING, PROMPTED, {"sampling": True}),
        (SAMPLING, PROMPTED, {"elicitation": {}}),
        (SAMPLING, PROMPTED | {"tools": []}, {"sampling": {}}),
        (ELICITED, FORM, {}),
        (ELICITED, FORM, {"elicitation": None}),
        (ELICITED, FORM, {"elicitation": {"url": {}}}),
        (ELICITED, FORM | {"mode": "form"}, {"elicitation": {"url": {}}}),
        (ELICITED, PAGE, {"elicitation": {}}),
        (ELICITED, PAGE, {"elicitation": {"form": {}}}),
    ],
)
def test_a_client_is_asked_only_what_it_offered(method: str, params: Any, offers: Any) -> None:
    assert refused(Play(offers=offers), method, params=params)["code"] == mcp.DENIED


@pytest.mark.parametrize(
    ("method", "params", "offers"),
    [
        (SAMPLING, PROMPTED, {"sampling": {}}),
        (SAMPLING, PROMPTED | {"tools": []}, {"sampling": {"tools": {}}}),
        (ELICITED, FORM, {"elicitation": {}}),
        (ELICITED, FORM, {"elicitation": {"form": {}}}),
        (ELICITED, PAGE, {"elicitation": {"url": {}}}),
    ],
)
def test_a_client_is_asked_what_it_offered(method: str, params: Any, offers: Any) -> None:
    play = Play(offers=offers)
    play.sends(id=1, method=method, params=params)
    assert play.client_got[-1]["params"] == params


@pytest.mark.parametrize("mode", [None, "EVIL", "Form", 1, [], {}, ["form"]])
def test_a_mode_nobody_knows_is_refused(mode: Any) -> None:
    assert refused(Play(), params=FORM | {"mode": mode})["code"] == mcp.DENIED


@each_method
def test_a_question_as_a_task_is_refused(method: str) -> None:
    assert refused(Play(), method, params=ASKING[method] | {"task": {}})["code"] == mcp.DENIED


@pytest.mark.parametrize(
    "method",
    ["sampling/createmessage", "Elicitation/Create", "tools/call", "tasks/get", "roots/List", ""],
)
def test_any_other_request_of_a_server_is_refused(method: str) -> None:
    assert refused(Play(), method)["code"] == mcp.METHOD_NOT_FOUND


@each_method
def test_a_modern_server_may_send_no_request(method: str) -> None:
    play = Play("modern")
    assert refused(play, method)["code"] == mcp.METHOD_NOT_FOUND
    assert refused(Play(opened=False), method)["code"] == mcp.METHOD_NOT_FOUND


def test_a_flood_of_questions_stops_at_a_limit() -> None:
    play = Play()
    for number in range(ASKED_LIMIT):
        asked(play, id=number)
    for number in range(ASKED_LIMIT, ASKED_LIMIT + 1_200):
        assert refused(play, id=number)["code"] == wire.INVALID_REQUEST
    assert len(play.entries) == ASKED_LIMIT + VIOLATIONS_RECORDED
    play.replies("ours-2", result=DECLINED)
    asked(play, id="more")


@each_method
def test_refused_questions_are_written_down_and_told_to_a_limit(method: str) -> None:
    play = judging(method, "deny")
    for number in range(VIOLATIONS_RECORDED + 100):
        refused(play, method, number)
    assert len(play.entries) == len(play.told) == VIOLATIONS_RECORDED
    assert play.talk.tally.denials == VIOLATIONS_RECORDED + 100


@each_method
def test_no_question_is_put_once_the_audit_cannot_be_written(method: str) -> None:
    play = Play()
    play.handle(AuditFailed())
    assert refused(play, method)["code"] == mcp.INTERNAL_ERROR
    assert play.entries == []


# As a value


def test_a_question_nobody_knows_is_never_allowed() -> None:
    play = Play()
    for method in (ROOTS, "", "tools/call"):
        judged = judge(method, {}, play.talk._state.book, OFFERS, lambda *_: None)
        assert isinstance(judged, Refusal)
        assert judged.decision.rule == "tools"


def test_roots_go_by_the_policy() -> None:
    told, untold = (Play(roots=roots).talk._state.book for roots in ("policy", "deny"))
    assert roots_are_ours(told)
    assert not roots_are_ours(untold)
    assert "roots" in roots_refused(untold).text
