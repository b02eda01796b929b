"""Tasks in both eras: each belongs to a call of this run, and ends like that call would have."""

from __future__ import annotations

from typing import Any, Final

import pytest

from core.conversation.test_session import entries, kinds
from mcp_jail.core.approved.lock import ItemKind
from mcp_jail.core.conversation.questions import Question
from mcp_jail.core.conversation.tasks import (
    QUESTIONS_LIMIT,
    TASK_ID_LIMIT,
    TASKS_LIMIT,
    Task,
    Tasks,
    note_question,
)
from mcp_jail.core.policy import Verdict
from mcp_jail.core.protocol import mcp
from mcp_jail.core.protocol.mcp import Era
from mcp_jail.core.recorded.audit import Kind
from mcp_jail.core.rules.decide import Decision
from plays import (
    ERAS,
    FORM,
    OFFERS,
    PREFIX,
    REVIEW,
    Play,
    approved,
    tool,
)

both_eras = pytest.mark.parametrize("era", ERAS)
TASKS: Final[dict[str, Any]] = {"tasks": {"requests": {"tools": {"call": {}}}}}
EXTENDED: Final[dict[str, Any]] = OFFERS | {"extensions": {mcp.TASKS_EXTENSION: {}}}
RLO: Final = "\u202e"
NO_FILES: Final[dict[str, Any]] = {"default": "allow", "rules": {"file://**": "deny"}}
LINK: Final = {"type": "resource_link", "uri": "file:///etc/passwd", "name": "n"}


def able(era: str, **keys: Any) -> Play:
    """A play in which client and server both know tasks."""
    return Play(era, server={"capabilities": TASKS}, offers=EXTENDED, **keys)


def began(play: Play, id: Any = "t1", name: str = "t") -> list[Any]:
    """A call that becomes a task of this id: the kinds of effects."""
    asks: dict[str, Any] = {"task": {}} if play.era == "legacy" else {}
    play.calls(name, f"call {id}", **asks)
    state = {"taskId": id, "status": "working"}
    if play.era == "legacy":
        return kinds(play.answers({"task": state}))
    return kinds(play.answers({"resultType": "task", **state}))


def working(era: str, **keys: Any) -> Play:
    play = able(era, **keys)
    if "approved" in keys:
        play.lists(tool())
    assert began(play) == ["ToClient", "Record"]
    return play


def told(play: Play, result: dict[str, Any], method: str = "tasks/get") -> Any:
    """What the client gets of the state of its task."""
    play.says(method, method, taskId="t1")
    play.answers(result)
    return play.reply


# Beginning


@both_eras
def test_a_call_may_become_a_task_where_both_sides_know_tasks(era: str) -> None:
    play = working(era)
    task = play.reply["result"]["task"] if era == "legacy" else play.reply["result"]
    assert task["taskId"] == "t1"
    assert [entry.kind for entry in play.entries] == [Kind.CALL, Kind.RESULT]


def test_a_call_as_a_task_is_not_sent_to_a_server_without_tasks() -> None:
    play = Play(server={"capabilities": {"tools": {}, "tasks": {"list": {}}}}, offers=EXTENDED)
    assert play.calls("t", task={}) == []
    assert "takes no call as a task" in play.reply["error"]["message"]


def test_a_task_nobody_asked_for_is_not_passed_on() -> None:
    legacy = able("legacy")
    legacy.calls("t")
    legacy.answers({"task": {"taskId": "t1", "status": "working"}})
    assert "did not offer" in legacy.reply["error"]["message"]
    for offers in (OFFERS, OFFERS | {"extensions": {"x": {}}}, OFFERS | {"extensions": []}):
        modern = Play("modern", offers=offers)
        modern.calls("t")
        modern.answers({"resultType": "task", "taskId": "t1", "status": "working"})
        assert "did not offer" in modern.reply["error"]["message"]


@pytest.mark.parametrize("method", ["prompts/get", "resources/read"])
@both_eras
def test_only_a_call_of_a_tool_may_become_a_task(method: str, era: str) -> None:
    play = able(era)
    play.says(method, 1, **({"name": "p"} if method == "prompts/get" else {"uri": "x://a"}))
    play.answers({"resultType": "task", "task": {"taskId": "t1"}, "taskId": "t1"})
    assert "error" in play.reply


@both_eras
@pytest.mark.parametrize("id", ["", 1, None, [], {}, True, "x" * (TASK_ID_LIMIT + 1)])
def test_a_task_without_an_id_is_not_passed_on(era: str, id: Any) -> None:
    play = able(era)
    assert began(play, id) == ["Record", "ToClient", "Record"]
    assert "error" in play.reply


@both_eras
def test_one_id_is_not_given_to_two_tasks(era: str) -> None:
    play = working(era)
    assert began(play, "t1", "other") == ["Record", "ToClient", "Record"]
    assert play.talk._state.tasks.get("t1").tool == "t"  # type: ignore[union-attr]


@pytest.mark.parametrize("task", [None, 1, [], "t1", {}])
def test_a_legacy_task_of_another_shape_is_not_passed_on(task: Any) -> None:
    play = able("legacy")
    play.calls("t", task={})
    play.answers({"task": task})
    assert "error" in play.reply


# Whose it is


METHODS: Final = [
    (era, method)
    for era in ("legacy", "modern")
    for method in ("tasks/get", "tasks/result", "tasks/cancel", "tasks/update")
    if mcp.ONLY_IN_ERA.get(method, mcp.Era(era)) is mcp.Era(era)
]


@pytest.mark.parametrize(("era", "method"), METHODS)
@pytest.mark.parametrize("id", ["t2", "T1", "t1 ", "", 1, None, ["t1"]])
def test_a_task_of_no_call_of_this_run_is_not_asked_about(era: str, method: str, id: Any) -> None:
    play = working(era)
    before = len(play.server_got)
    more: dict[str, Any] = {"inputResponses": {}} if method == "tasks/update" else {}
    play.says(method, 1, taskId=id, **more)
    assert len(play.server_got) == before
    assert play.reply["error"]["code"] == mcp.INVALID_PARAMS


def test_a_method_of_the_other_era_is_not_known() -> None:
    for era in ("legacy", "modern"):
        for method in ("tasks/get", "tasks/result", "tasks/cancel", "tasks/update"):
            if (era, method) not in METHODS:
                play = working(era)
                play.says(method, 1, taskId="t1")
                assert play.reply["error"]["code"] == mcp.METHOD_NOT_FOUND


def test_who_did_not_declare_tasks_is_told_so_in_the_modern_era() -> None:
    play = Play("modern", server={"capabilities": TASKS}, offers=OFFERS)
    play.says("tasks/get", 1, taskId="t1")
    assert play.reply["error"]["code"] == mcp.MISSING_CAPABILITY


@pytest.mark.parametrize(("era", "method"), [each for each in METHODS if each[1] != "tasks/update"])
def test_a_question_about_a_task_is_recorded_as_one_about_its_tool(era: str, method: str) -> None:
    play = working(era)
    effects = play.says(method, 1, taskId="t1")
    assert kinds(effects) == ["Record", "ToServer"]
    (entry,) = entries(effects)
    assert (entry.method, entry.name, entry.verdict) == (method, "t", "allow")
    play.answers({"taskId": "t1", "status": "cancelled"})
    assert play.entries[-1].name == "t"


@both_eras
@pytest.mark.parametrize("id", ["t2", 1, None])
def test_the_state_of_another_task_is_not_passed_on(era: str, id: Any) -> None:
    assert "error" in told(working(era), {"taskId": id, "status": "working"})


def test_a_listing_of_tasks_has_only_those_of_this_run() -> None:
    play = working("legacy")
    play.says("tasks/list", 1)
    known = {"taskId": "t1", "status": "working"}
    others: list[Any] = [{"taskId": "t2"}, {"taskId": 1}, {}, 1, None, "t1"]
    play.answers({"tasks": [*others, known], "nextCursor": "c"})
    assert play.reply["result"] == {"tasks": [known], "nextCursor": "c"}
    shapes: list[Any] = [None, {}, "t1"]
    for odd in shapes:
        play.says("tasks/list", 2)
        play.answers({"tasks": odd})
        assert "error" in play.reply


# Outcomes


@both_eras
def test_an_outcome_is_held_like_the_result_of_a_call(era: str) -> None:
    outcome = {"content": [{"type": "text", "text": f"a{RLO}"}, LINK], "isError": True}
    play = working(era, resources=NO_FILES)
    if era == "legacy":
        shown = told(play, outcome, "tasks/result")["result"]
    else:
        state = {"taskId": "t1", "status": "completed", "result": outcome}
        shown = told(play, state)["result"]["result"]
    assert shown["content"][0]["text"] == "a⟦U+202E⟧"
    assert shown["content"][1]["text"].startswith("[mcp-jail left out a link")
    assert play.entries[-1].is_error is True


@pytest.mark.parametrize(
    "outcome",
    [
        {"resultType": "input_required", "inputRequests": {"a": FORM}},
        {"content": [], "requestState": "s"},
        {"resultType": "task", "taskId": "t2"},
        {"resultType": "EVIL"},
    ],
    ids=str,
)
def test_an_outcome_that_is_none_is_not_passed_on(outcome: dict[str, Any]) -> None:
    play = working("modern")
    state = {"taskId": "t1", "status": "completed", "result": outcome}
    assert told(play, state)["result"]["result"] == {}
    assert "an outcome that asks for more" in [entry.reason for entry in play.entries]


@pytest.mark.parametrize("outcome", [None, 1, "EVIL", [], [{}]])
def test_an_outcome_of_another_shape_breaks_nothing(outcome: Any) -> None:
    state = {"taskId": "t1", "status": "completed", "result": outcome}
    assert told(working("modern"), state)["result"]["result"] == outcome


def test_an_outcome_names_the_server_as_it_was_approved() -> None:
    info = {"name": "s", "version": "1"}
    kinds = (ItemKind.TOOL, ItemKind.SERVER)
    lock = approved(tool(), kinds=kinds, server_info=info, server_capabilities=TASKS)
    play = working("modern", approved=lock, lock=REVIEW)
    named = {PREFIX + "serverInfo": {"name": "s", "title": "EVIL"}}
    state = {"taskId": "t1", "result": {"content": [], "_meta": named}, "_meta": named}
    shown = told(play, state)["result"]
    assert shown["_meta"] == shown["result"]["_meta"] == {PREFIX + "serverInfo": info}


def test_an_outcome_that_a_notification_brings_is_held_too() -> None:
    play = working("modern", resources=NO_FILES)
    play.says("subscriptions/listen", "listen", notifications={"taskIds": ["t1"]})
    meta = {PREFIX + "subscriptionId": play.asked["id"]}
    outcome = {"content": [LINK], "isError": False}
    play.notifies(
        "notifications/tasks", taskId="t1", status="completed", result=outcome, _meta=meta
    )
    params = play.client_got[-1]["params"]
    assert params["result"]["content"][0]["text"].startswith("[mcp-jail left out a link")
    assert params["_meta"] == {PREFIX + "subscriptionId": "listen"}


@pytest.mark.parametrize("wanted", [{}, {"taskIds": ["t2"]}, {"taskIds": "t1"}, {"taskIds": []}])
def test_news_of_a_task_needs_a_subscription_to_it(wanted: dict[str, Any]) -> None:
    play = working("modern")
    play.says("subscriptions/listen", "listen", notifications=wanted)
    meta = {PREFIX + "subscriptionId": play.asked["id"]}
    news = {"taskId": "t1", "status": "working"}
    assert kinds(play.notifies("notifications/tasks", **news, _meta=meta)) == ["Record"]
    assert kinds(play.notifies("notifications/tasks", **news)) == ["Record"]


def test_a_subscription_to_a_task_is_acknowledged() -> None:
    play = working("modern")
    play.says("subscriptions/listen", "listen", notifications={"taskIds": ["t1"]})
    meta = {PREFIX + "subscriptionId": play.asked["id"]}
    method = "notifications/subscriptions/acknowledged"
    for ids, is_passed in ((["t1"], True), ([], True), (["t2"], False), ("t1", False)):
        effects = play.notifies(method, notifications={"taskIds": ids}, _meta=meta)
        assert kinds(effects) == (["ToClient"] if is_passed else ["Record"])


RELATED: Final = PREFIX + "related-task"


def test_an_outcome_that_names_another_task_is_not_passed_on() -> None:
    for other in ("t2", "", None, ["t1"]):
        play = working("legacy")
        reply = told(play, {"content": [], "_meta": {RELATED: {"taskId": other}}}, "tasks/result")
        assert "another task" in reply["error"]["message"]
    play = working("legacy")
    meta = {RELATED: {"taskId": "t1", "EVIL": "x"}, "own": 1}
    reply = told(play, {"content": [], "_meta": meta}, "tasks/result")
    assert reply["result"]["_meta"] == {RELATED: {"taskId": "t1"}, "own": 1}


@both_eras
def test_the_state_of_a_task_is_cut_to_what_is_known(era: str) -> None:
    play = working(era)
    state = {"taskId": "t1", "status": "working", "createdAt": "x", "EVIL": {"taskId": "t2"}}
    assert "EVIL" not in str(told(play, state))
    assert play.reply["result"]["createdAt"] == "x"
    assert "error" in told(play, state | {"task": {"taskId": "t2"}})


def test_what_begins_a_task_is_cut_to_what_is_known() -> None:
    play = able("legacy")
    play.calls("t", task={})
    task = {"taskId": "t1", "status": "working", "EVIL": "x"}
    play.answers({"task": task, "taskId": "t2", "EVIL": "x"})
    assert play.reply["result"] == {
        "task": {"taskId": "t1", "status": "working"},
        "taskId": "t2",
    }


@both_eras
def test_an_answer_is_no_task_beside(era: str) -> None:
    """A client that asked for a task reads one wherever it stands."""
    play = able(era)
    asks: dict[str, Any] = {"task": {}} if era == "legacy" else {}
    play.calls("t", **asks)
    play.answers({"resultType": "complete", "content": [], "task": {"taskId": "t9"}})
    assert play.reply.get("result", {}).get("isError") is not False or "error" in play.reply
    assert "t9" not in str(play.reply)
    other = able(era)
    other.calls("t")
    other.answers({"content": [], "taskId": "t9"})
    assert "t9" not in str(other.reply)


def test_tasks_are_told_to_a_client_in_the_words_of_its_era() -> None:
    for era, method in (
        ("legacy", "notifications/tasks"),
        ("modern", "notifications/tasks/status"),
    ):
        play = working(era)
        before = len(play.client_got)
        assert kinds(play.notifies(method, taskId="t1", status="working")) == ["Record"]
        assert len(play.client_got) == before


@pytest.mark.parametrize("id", ["t2", "", "T1", "t1 "])
def test_nobody_subscribes_to_a_task_of_another_run(id: str) -> None:
    play = working("modern")
    before = len(play.server_got)
    play.says("subscriptions/listen", "listen", notifications={"taskIds": ["t1", id]})
    assert play.reply["error"]["code"] == mcp.INVALID_PARAMS
    assert len(play.server_got) == before


def test_a_listing_of_tasks_has_nothing_but_what_is_known_of_them() -> None:
    play = working("legacy")
    play.says("tasks/list", 1)
    tasks = [{"taskId": "t1", "status": "working", "EVIL": "x"}, {"taskId": "t2", "EVIL": "x"}]
    play.answers({"tasks": tasks, "EVIL": "x", "_meta": {"EVIL": "x"}, "nextCursor": "c"})
    task = {"taskId": "t1", "status": "working"}
    assert play.reply["result"] == {"tasks": [task], "nextCursor": "c"}
    play.says("tasks/list", 2)
    play.answers({"tasks": [], "nextCursor": {"say": "EVIL"}})
    assert "error" in play.reply


def test_the_status_of_a_legacy_task_is_cut_to_what_is_known() -> None:
    play = working("legacy")
    play.notifies(
        "notifications/tasks/status",
        taskId="t1",
        status="working",
        statusMessage=f"a{RLO}",
        EVIL="x",
        _meta={"EVIL": 1},
    )
    assert play.client_got[-1]["params"] == {
        "taskId": "t1",
        "status": "working",
        "statusMessage": "a⟦U+202E⟧",
    }
    others: list[Any] = ["t2", None, [], 1]
    for id in others:
        assert kinds(play.notifies("notifications/tasks/status", taskId=id)) == ["Record"]


@pytest.mark.parametrize(
    "wants",
    [{"resultType": "input_required"}, {"resultType": "task"}, {"requestState": "s"}],
    ids=str,
)
def test_the_state_of_a_task_asks_for_nothing_by_other_means(wants: dict[str, Any]) -> None:
    state = {"taskId": "t1", "status": "input_required", **wants}
    assert "error" in told(working("modern"), state)


# The store


def question(text: str = "m") -> Question:
    return Question(
        "elicitation/create", {"message": text}, Decision(Verdict.ALLOW, "elicitation", None, "")
    )


def test_the_oldest_task_is_forgotten_first() -> None:
    tasks = Tasks()
    for number in range(TASKS_LIMIT + 1):
        assert tasks.add(f"t{number}", "t", Era.LEGACY) is not None
    assert tasks.get("t0") is None
    assert tasks.get("t1") is not None
    for id in ("x", "x" * TASK_ID_LIMIT):
        assert tasks.add(id, "t", Era.LEGACY) is not None


def test_a_task_remembers_so_many_questions_and_no_more() -> None:
    task = Task("t1", "t", Era.MODERN, {})
    for number in range(QUESTIONS_LIMIT):
        assert note_question(task, str(number), question())
    assert not note_question(task, "more", question())
    assert "more" not in task.asked
    assert note_question(task, "0", question())
    assert not note_question(task, "0", question("another"))
