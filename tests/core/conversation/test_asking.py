"""Asks: what waits for a person, what an answer opens, and what it does not."""

from __future__ import annotations

from typing import Any, Final

import msgspec
import pytest
from msgspec import Raw

from mcp_jail.core.approved.lock import approve
from mcp_jail.core.conversation import asks as asks_module
from mcp_jail.core.conversation.asks import Answer, Lasts
from mcp_jail.core.conversation.events import Answered, NotAnswered, Revoked, ServerGone, Tick
from mcp_jail.core.policy import Verdict
from mcp_jail.core.protocol import mcp
from mcp_jail.core.recorded.audit import Kind
from plays import (
    DECLINED,
    ERAS,
    FORM,
    PAGE,
    PREFIX,
    PROMPTED,
    REVIEW,
    SAMPLED,
    Play,
    approved,
    tool,
)

both_eras = pytest.mark.parametrize("era", ERAS)
ASK: Final[dict[str, Any]] = {"tools": {"default": "ask"}}
PATH: Final[dict[str, Any]] = {"path": "/tmp/temp.log"}


def asking(era: str = "legacy", **keys: Any) -> Play:
    return Play(era, **{**ASK, **keys})


def says_yes(play: Play, ticket: str = "", lasts: Lasts = Lasts.ONCE, seconds: float = 0) -> None:
    answers(play, Verdict.ALLOW, ticket, lasts, seconds)


def says_no(play: Play, ticket: str = "", lasts: Lasts = Lasts.ONCE) -> None:
    answers(play, Verdict.DENY, ticket, lasts, 0)


def answers(play: Play, verdict: Verdict, ticket: str, lasts: Lasts, seconds: float) -> None:
    answer = Answer(verdict=verdict, lasts=lasts, by="test", seconds=seconds)
    play.handle(Answered(ticket or play.asks[-1].ticket, answer))


def forwarded(play: Play) -> list[dict[str, Any]]:
    return [each["params"] for each in play.server_got if each.get("method") == "tools/call"]


def verdicts(play: Play, kind: Kind) -> list[str]:
    return [entry.verdict for entry in play.entries if entry.kind is kind]


@both_eras
def test_a_call_is_held_until_a_person_allows_it_and_then_goes_as_it_came(era: str) -> None:
    play = asking(era)
    assert play.calls("delete", arguments=PATH) == []
    assert play.asks[0].arguments == PATH
    assert "mcp-jail allow TICK01" in play.told[-1]
    says_yes(play)
    assert [each["arguments"] for each in forwarded(play)] == [PATH]
    assert play.over == [("TICK01", "allow")]
    assert [entry.kind.value for entry in play.entries[-3:]] == ["ask", "answer", "call"]
    assert play.entries[-1].detail == {"ask": "TICK01"}
    play.answers({"content": []})
    assert play.reply["id"] == "call"


@both_eras
def test_what_a_person_denies_never_reaches_the_server(era: str) -> None:
    play = asking(era)
    play.calls("delete", arguments=PATH)
    says_no(play)
    assert forwarded(play) == []
    assert play.text == "denied by the user: do not call it again"
    assert play.talk.tally.denials == 1


@both_eras
def test_who_waits_too_long_gets_a_ticket_and_the_same_call_passes_after_the_answer(
    era: str,
) -> None:
    play = asking(era, ask={"wait": "50s"})
    play.calls("delete", arguments=PATH)
    play.handle(Tick(49.9))
    assert not [each for each in play.client_got if each.get("id") == "call"]
    play.handle(Tick(50.0))
    assert play.text.startswith("waiting for the user (TICK01)")
    assert play.reply["result"]["isError"] is True
    says_yes(play)
    assert forwarded(play) == []
    assert len(play.calls("delete", "again", arguments=PATH)) == 1


@both_eras
def test_a_waiting_model_is_never_told_how_to_allow_itself(era: str) -> None:
    play = asking(era)
    play.calls("delete", arguments=PATH)
    play.handle(Tick(60.0))
    assert "mcp-jail" not in play.text
    assert "allow" not in play.text


@both_eras
def test_the_same_call_said_again_while_it_waits_is_the_same_ask(era: str) -> None:
    play = asking(era)
    play.calls("delete", "one", arguments=PATH)
    play.handle(Tick(55.0))
    play.calls("delete", "two", arguments=PATH)
    assert len(play.asks) == 1
    says_yes(play)
    assert len(forwarded(play)) == 1


@both_eras
@pytest.mark.parametrize(
    "other",
    [
        {"path": "/etc/passwd"},
        {"path": "/tmp/temp.log", "force": True},
        {},
        {"path": ["/tmp/temp.log"]},
        {"path": "/tmp/temp.log\u200b"},
    ],
)
def test_an_answer_is_for_these_arguments_and_no_others(era: str, other: dict[str, Any]) -> None:
    play = asking(era)
    play.calls("delete", "one", arguments=PATH)
    says_yes(play, lasts=Lasts.SESSION)
    assert play.calls("delete", "two", arguments=other) == []
    assert len(play.asks) == 2


@pytest.mark.parametrize(("first", "second"), [(1, 1.0), (1, True), (0, False), ("1", 1)])
def test_values_that_python_takes_for_equal_are_other_arguments(first: Any, second: Any) -> None:
    play = asking()
    play.calls("t", "one", arguments={"n": first})
    says_yes(play, lasts=Lasts.SESSION)
    assert play.calls("t", "two", arguments={"n": second}) == []


def test_the_order_of_arguments_does_not_matter() -> None:
    play = asking()
    play.calls("t", "one", arguments={"a": 1, "b": {"c": 2, "d": 3}})
    says_yes(play, lasts=Lasts.SESSION)
    assert play.calls("t", "two", arguments={"b": {"d": 3, "c": 2}, "a": 1})


@both_eras
def test_once_is_one_call_even_where_several_wait(era: str) -> None:
    play = asking(era)
    play.calls("t", "one")
    play.calls("t", "two")
    says_yes(play)
    assert len(forwarded(play)) == 1
    assert [ask.ticket for ask in play.asks] == ["TICK01", "TICK02"]
    says_yes(play)
    assert len(forwarded(play)) == 2
    assert play.calls("t", "three") == []


@both_eras
def test_one_no_ends_all_that_wait_for_it(era: str) -> None:
    play = asking(era)
    play.calls("t", "one")
    play.calls("t", "two")
    says_no(play)
    said = [each for each in play.client_got if each.get("id") in {"one", "two"}]
    assert len(said) == 2
    assert len(play.asks) == 1


@both_eras
def test_a_no_that_came_too_late_is_told_to_who_calls_again(era: str) -> None:
    play = asking(era)
    play.calls("t", "one")
    play.handle(Tick(51.0))
    says_no(play)
    assert play.calls("t", "two") == []
    assert play.text == "denied by the user: do not call it again"
    assert len(play.asks) == 1


@both_eras
def test_a_time_ends(era: str) -> None:
    play = asking(era)
    play.handle(Tick(1000.0))
    play.calls("t", "one")
    says_yes(play, lasts=Lasts.TIME, seconds=60)
    play.handle(Tick(1059.0))
    assert len(play.calls("t", "two")) == 1
    play.handle(Tick(1060.0))
    assert play.calls("t", "three") == []


@both_eras
def test_a_session_lasts_and_can_be_taken_back(era: str) -> None:
    play = asking(era)
    play.calls("t", "one")
    says_yes(play, lasts=Lasts.SESSION)
    play.handle(Tick(1e9))
    assert len(play.calls("t", "two")) == 1
    play.handle(Revoked("TICK01"))
    assert play.calls("t", "three") == []
    assert verdicts(play, Kind.ANSWER) == ["allow", "revoked"]


@both_eras
def test_an_answer_after_the_ask_has_expired_opens_nothing(era: str) -> None:
    play = asking(era, ask={"wait": "50s", "remember": "15m"})
    play.calls("t", "one")
    play.handle(Tick(51.0))
    play.handle(Tick(50.0 + 15 * 60))
    assert play.over == [("TICK01", "expired")]
    says_yes(play, "TICK01")
    assert play.calls("t", "two") == []
    assert play.asks[-1].ticket == "TICK02"


@both_eras
def test_a_call_that_waits_is_judged_by_the_lock_again(era: str) -> None:
    """Approve A, change what A is while it waits, run B."""
    lock = approved(tool("a"))
    play = asking(era, approved=lock, lock=REVIEW)
    play.lists(tool("a"))
    play.calls("a", "one")
    play.says("tools/list", "again")
    play.answers({"tools": [tool("a") | {"description": "deletes all"}]})
    says_yes(play)
    assert forwarded(play) == []
    assert "not in the approved catalogue" in play.text


@both_eras
def test_an_answer_for_a_tool_does_not_survive_a_change_of_it(era: str) -> None:
    changed = tool("a") | {"description": "deletes all"}
    lock = approved(tool("a"))
    play = asking(era, approved=lock, lock=REVIEW)
    play.lists(tool("a"))
    play.calls("a", "one")
    says_yes(play, lasts=Lasts.SESSION)
    assert play.calls("a", "two")
    play.lists(changed)
    play.catalogue.replace(approve(lock, play.awaited[-1]))
    assert play.calls("a", "three") == []
    assert len(play.asks) == 2


@both_eras
@pytest.mark.parametrize("is_given", ["before", "meanwhile"])
def test_an_answer_for_a_tool_does_not_come_back_with_the_words_it_was_to(
    era: str, is_given: str
) -> None:
    changed = tool("a") | {"description": "deletes all"}
    lock = approve(approved(tool("a")), approved(tool("a")))
    play = asking(era, approved=lock, lock=REVIEW)
    play.lists(tool("a"))
    play.calls("a", "one")
    if is_given == "before":
        says_yes(play, lasts=Lasts.SESSION)
        assert len(forwarded(play)) == 1
    play.lists(changed)
    if is_given == "meanwhile":
        says_yes(play, lasts=Lasts.SESSION)
    went = len(forwarded(play))
    play.lists(tool("a"))
    play.calls("a", "two")
    assert len(forwarded(play)) == went
    assert len(play.asks) == 2


@both_eras
def test_a_tool_that_nobody_approved_is_no_ask(era: str) -> None:
    play = asking(era, approved=approved(tool("a")), lock=REVIEW)
    play.lists(tool("a"), tool("b"))
    assert play.calls("b") == []
    assert play.asks == []
    assert "not in the approved catalogue" in play.text


@both_eras
def test_what_a_client_cancels_is_not_called_by_a_later_answer(era: str) -> None:
    play = asking(era)
    play.calls("t", "one")
    play.says("notifications/cancelled", requestId="one")
    before = len(play.client_got)
    says_yes(play)
    assert forwarded(play) == []
    assert len(play.client_got) == before
    entry = play.entries[1]
    assert (entry.kind, entry.verdict, entry.detail) == (Kind.CALL, "ask", {"ask": "TICK01"})
    assert len(play.calls("t", "two")) == 1


@both_eras
def test_an_id_that_waits_cannot_be_used_again(era: str) -> None:
    play = asking(era)
    play.calls("t", "one")
    play.calls("u", "one")
    assert "still unanswered" in play.reply["error"]["message"]


def test_what_waits_is_answered_when_the_server_is_gone() -> None:
    play = asking()
    play.calls("t", "one")
    play.handle(ServerGone("exit status 1"))
    assert play.reply["id"] == "one"
    assert play.reply["error"]["code"] == mcp.SERVER_GONE


def test_a_subscription_is_one_ask_about_all_it_names() -> None:
    rules = {"ok://*": "allow", "no://*": "deny"}
    play = Play("modern", resources={"default": "ask", "rules": rules})
    named = {"resourceSubscriptions": ["ok://1", "x://1", "x://2"]}
    play.says("subscriptions/listen", "one", notifications=named)
    assert play.asks[0].arguments == {"uris": ["x://1", "x://2"]}
    says_yes(play)
    assert play.server_got[-1]["method"] == "subscriptions/listen"
    play.says("subscriptions/listen", "two", notifications=named)
    assert len(play.asks) == 2
    named = {"resourceSubscriptions": ["x://1", "no://1"]}
    play.says("subscriptions/listen", "three", notifications=named)
    assert play.reply["error"]["code"] == mcp.DENIED
    assert len(play.asks) == 2


SAMPLING: Final = ("sampling/createMessage", PROMPTED, SAMPLED)
ELICITING: Final = ("elicitation/create", FORM, DECLINED)


@pytest.mark.parametrize(("method", "asked", "answer"), [SAMPLING, ELICITING])
def test_what_a_server_asks_waits_for_a_person_first(
    method: str, asked: dict[str, Any], answer: dict[str, Any]
) -> None:
    play = Play(sampling="ask", elicitation="ask")
    before = len(play.client_got)
    play.sends(id="q", method=method, params=asked)
    assert len(play.client_got) == before
    assert play.asks[0].arguments["message" if method == ELICITING[0] else "messages"]
    says_yes(play)
    assert play.client_got[-1]["method"] == method
    play.replies(play.client_got[-1]["id"], result=answer)
    assert play.server_got[-1] == {"jsonrpc": "2.0", "id": "q", "result": answer}


@pytest.mark.parametrize(("method", "asked", "answer"), [SAMPLING, ELICITING])
def test_a_server_whose_question_nobody_allows_is_told_so(
    method: str, asked: dict[str, Any], answer: dict[str, Any]
) -> None:
    play = Play(sampling="ask", elicitation="ask")
    play.sends(id="q", method=method, params=asked)
    says_no(play)
    assert play.server_got[-1]["error"]["code"] == mcp.DENIED
    play.handle(Tick(61.0))
    play.sends(id="r", method=method, params=asked)
    play.handle(Tick(112.0))
    assert play.server_got[-1]["error"]["code"] == mcp.WAITING
    assert "mcp-jail" not in str(play.server_got[-1])


def test_a_server_that_gives_its_question_up_leaves_nothing_to_be_put() -> None:
    play = Play(elicitation="ask")
    play.sends(id="q", method="elicitation/create", params=FORM)
    play.notifies("notifications/cancelled", requestId="q")
    before = len(play.client_got)
    says_yes(play)
    assert len(play.client_got) == before


def test_two_questions_of_one_id_are_one_too_many() -> None:
    play = Play(elicitation="ask")
    play.sends(id="q", method="elicitation/create", params=FORM)
    play.sends(id="q", method="elicitation/create", params=FORM)
    assert play.server_got[-1]["error"]
    assert len(play.asks) == 1


def test_a_client_cannot_cancel_a_question_of_the_server_that_waits() -> None:
    play = Play(elicitation="ask")
    play.sends(id="q", method="elicitation/create", params=FORM)
    play.says("notifications/cancelled", requestId="q")
    says_yes(play)
    assert play.client_got[-1]["method"] == "elicitation/create"


def test_a_result_that_asks_ends_with_a_ticket_and_passes_when_the_call_is_made_again() -> None:
    play = Play("modern", elicitation="ask")
    asked = {
        "resultType": "input_required",
        "inputRequests": {"a": {"method": "elicitation/create", "params": FORM}},
        "requestState": "s",
    }
    play.calls("t", "one")
    play.answers(asked)
    assert play.text.startswith("waiting for the user (TICK01)")
    says_yes(play)
    play.calls("t", "two")
    play.answers(asked)
    assert play.reply["result"]["inputRequests"]["a"]["params"] == FORM
    play.calls("t", "three")
    play.answers(asked | {"inputRequests": {"a": _other_form()}})
    assert play.text.startswith("waiting for the user (TICK02)")


def _other_form() -> dict[str, Any]:
    return {"method": "elicitation/create", "params": FORM | {"message": "Which one?"}}


@pytest.mark.parametrize("is_first", [True, False])
def test_two_questions_of_one_result_are_asked_at_once_and_allowed_one_after_the_other(
    is_first: bool,
) -> None:
    play = Play("modern", elicitation="ask")
    questions = {"a": {"method": "elicitation/create", "params": FORM}, "b": _other_form()}
    asked = {"resultType": "input_required", "inputRequests": questions, "requestState": "s"}
    play.calls("t", "one")
    play.answers(asked)
    assert [ask.ticket for ask in play.asks] == ["TICK01", "TICK02"]
    assert play.text.startswith("waiting for the user (TICK01)")
    says_yes(play, "TICK01" if is_first else "TICK02")
    play.calls("t", "two")
    play.answers(asked)
    assert "waiting for the user" in play.text
    says_yes(play, "TICK02" if is_first else "TICK01")
    play.calls("t", "three")
    play.answers(asked)
    assert play.reply["result"]["inputRequests"].keys() == {"a", "b"}
    play.calls("t", "four")
    play.answers(asked)
    assert len(play.asks) == 4


def test_nobody_is_asked_about_a_question_beside_one_that_is_refused_anyway() -> None:
    play = Play("modern", elicitation="ask", sampling="deny")
    sampling = {"method": "sampling/createMessage", "params": PROMPTED}
    questions = {"a": {"method": "elicitation/create", "params": FORM}, "b": sampling}
    asked = {"resultType": "input_required", "inputRequests": questions, "requestState": "s"}
    play.calls("t", "one")
    play.answers(asked)
    assert play.asks == []
    assert "denied" in play.text


def test_roots_beside_a_question_are_given_once_it_is_allowed() -> None:
    play = Play("modern", elicitation="ask")
    questions = {
        "r": {"method": "roots/list"},
        "a": {"method": "elicitation/create", "params": FORM},
    }
    asked = {"resultType": "input_required", "inputRequests": questions, "requestState": "s"}
    play.calls("t", "one")
    play.answers(asked)
    assert play.text.startswith("waiting for the user (TICK01)")
    says_yes(play)
    play.calls("t", "two")
    play.answers(asked)
    assert play.reply["result"]["inputRequests"].keys() == {"a"}


def test_two_pages_of_one_error_are_asked_about_at_once() -> None:
    play = Play(elicitation="ask")
    other = PAGE | {"url": "https://example.com/b", "elicitationId": "page-2"}
    play.calls("t", "one")
    play.fails(mcp.URL_ELICITATION_REQUIRED, "sign in", data={"elicitations": [PAGE, other]})
    assert len(play.asks) == 2
    assert play.reply["error"]["code"] == mcp.WAITING


def test_an_error_that_sends_to_a_page_waits_for_a_person_too() -> None:
    play = Play(elicitation="ask")
    data = {"elicitations": [PAGE]}
    play.calls("t", "one")
    play.fails(mcp.URL_ELICITATION_REQUIRED, "sign in", data=data)
    assert play.reply["error"]["code"] == mcp.WAITING
    says_yes(play)
    play.calls("t", "two")
    play.fails(mcp.URL_ELICITATION_REQUIRED, "sign in", data=data)
    assert play.reply["error"]["data"]["elicitations"][0]["url"] == PAGE["url"]


def test_a_flood_of_asks_is_capped_and_told() -> None:
    """SAFE-T1403: two hundred asks a minute to tire a person out."""
    play = asking()
    for number in range(200):
        play.calls("t", f"id {number}", arguments={"n": number})
    assert len(play.asks) == asks_module.NEW_PER_MINUTE
    assert "asked about too much already" in play.text
    assert play.talk.tally.denials == 200 - asks_module.NEW_PER_MINUTE


def test_ten_thousand_different_calls_stay_bounded() -> None:
    play = asking()
    for minute in range(50):
        play.handle(Tick(minute * 60.0))
        for number in range(200):
            play.calls("t", f"{minute} {number}", arguments={"n": [minute, number]})
    assert len(play.talk.asks.open) <= asks_module.OPEN_LIMIT
    assert len(play.talk.asks) <= asks_module.HELD_LIMIT
    assert len(play.asks) < 1000
    said = [line for line in play.told if "too much is asked at once" in line]
    assert 0 < len(said) <= 50, "one line a minute; the audit has each"
    assert len(play.told) < 2000
    assert verdicts(play, Kind.CALL).count("deny") == 10_000 - len(play.asks)


def test_one_call_repeated_without_end_is_one_ask_and_bounded() -> None:
    play = asking()
    for number in range(asks_module.HELD_LIMIT + 10):
        play.calls("t", number)
    assert len(play.asks) == 1
    assert len(play.talk.asks) == asks_module.HELD_LIMIT
    assert "asked about too much already" in play.text


def test_grants_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asks_module, "GRANTS_LIMIT", 2)
    play = asking()
    for number in range(3):
        play.calls("t", number, arguments={"n": number})
        says_yes(play, lasts=Lasts.SESSION)
    assert len(play.talk.asks.grants(0)) == 2


@both_eras
@pytest.mark.parametrize(
    ("method", "params"),
    [("resources/read", {"uri": "file:///x"}), ("prompts/get", {"name": "p"})],
)
def test_resources_and_prompts_are_asked_about_too(
    era: str, method: str, params: dict[str, Any]
) -> None:
    play = Play(era, resources={"default": "ask"}, prompts={"default": "ask"})
    play.says(method, "one", **params)
    assert play.asks[-1].method == method
    play.handle(Tick(51.0))
    assert play.reply["error"]["code"] == mcp.WAITING
    says_yes(play)
    before = len(play.server_got)
    play.says(method, "two", **params)
    assert len(play.server_got) == before + 1


def test_a_retry_of_what_was_allowed_is_not_asked_about_again() -> None:
    play = asking("modern")
    play.calls("t", "one")
    says_yes(play)
    asked = {"a": {"method": "elicitation/create", "params": FORM}}
    play.answers({"resultType": "input_required", "inputRequests": asked, "requestState": "s"})
    state = play.reply["result"]["requestState"]
    answer = {"a": {"action": "decline"}}
    assert play.calls("t", "two", requestState=state, inputResponses=answer)
    assert len(play.asks) == 1


def test_a_retry_with_other_arguments_is_no_way_around_an_ask() -> None:
    play = asking("modern")
    play.calls("t", "one", arguments=PATH)
    says_yes(play)
    asked = {"a": {"method": "elicitation/create", "params": FORM}}
    play.answers({"resultType": "input_required", "inputRequests": asked, "requestState": "s"})
    state = play.reply["result"]["requestState"]
    other = {"path": "/etc/passwd"}
    play.calls("t", "two", arguments=other, requestState=state, inputResponses={})
    assert len(forwarded(play)) == 1
    play.calls("t", "three", arguments=PATH, requestState="made up", inputResponses={})
    assert len(forwarded(play)) == 1


def test_grants_die_with_the_run() -> None:
    play = asking()
    play.calls("t", "one")
    says_yes(play, lasts=Lasts.SESSION)
    assert asking().calls("t") == []


def test_who_may_not_answer_is_written_down_and_told() -> None:
    play = asking()
    play.calls("t", "one")
    play.handle(NotAnswered("TICK01", "command line", "a process without a terminal"))
    assert forwarded(play) == []
    assert play.entries[-1].verdict == "refused"
    assert play.told[-1] == (
        "an answer to TICK01 was refused: it came from a process without a terminal"
    )


def test_an_answer_to_no_ask_does_nothing() -> None:
    play = asking()
    play.calls("t", "one")
    before = len(play.entries)
    says_yes(play, "NOSUCH")
    play.handle(Revoked("NOSUCH"))
    assert forwarded(play) == []
    assert len(play.entries) == before


@both_eras
def test_a_rate_holds_over_any_minute_and_says_so(era: str) -> None:
    rules = {"t": {"decision": "allow", "limit": "3/min"}}
    play = Play(era, tools={"default": "allow", "rules": rules})
    for number in range(3):
        play.handle(Tick(number * 10.0))
        assert play.calls("t", number)
    assert play.calls("t", "four") == []
    assert play.text == (
        "denied by the user's policy: more than 3 a minute; wait before you call it again"
    )
    assert play.entries[-1].rule == "tools.rules.t.limit"
    play.handle(Tick(59.0))
    assert play.calls("t", "five") == []
    play.handle(Tick(60.0))
    assert play.calls("t", "six")
    assert play.calls("t", "seven") == []
    assert play.calls("other", "eight")


def test_a_glob_with_a_limit_counts_all_that_it_names() -> None:
    rules = {"read_*": {"decision": "allow", "limit": "2/s"}}
    play = Play(tools={"default": "allow", "rules": rules})
    assert play.calls("read_a", "one")
    assert play.calls("read_b", "two")
    assert play.calls("read_c", "three") == []


def test_what_is_denied_uses_up_no_rate() -> None:
    rules = {"t": {"decision": "allow", "limit": "1/h", "args": {"a": {"equals": 1}}}}
    play = Play(tools={"rules": rules})
    assert play.calls("t", "one", arguments={"a": 2}) == []
    assert play.calls("t", "two", arguments={"a": 1})
    assert play.calls("t", "three", arguments={"a": 1}) == []


# What is written down and told


def test_an_ask_is_written_down_with_its_arguments_and_what_came_of_it_without() -> None:
    play = asking()
    play.calls("delete", arguments=PATH)
    says_no(play)
    asked, answered, _ = play.entries
    assert msgspec.json.decode(asked.arguments or b"") == PATH
    assert (asked.rule, asked.reason) == ("tools.default", "needs the user's approval")
    assert (answered.arguments, answered.reason, answered.rule) == (None, "", "tools.default")
    assert asked.digest == answered.digest == "digest"


def test_a_no_that_is_remembered_says_whose_it_was() -> None:
    play = asking()
    play.calls("t", "one")
    says_no(play, lasts=Lasts.SESSION)
    play.calls("t", "two")
    assert (play.entries[-1].verdict, play.entries[-1].reason) == ("deny", "denied by the user")


def test_a_question_of_the_server_is_told_by_its_method() -> None:
    play = Play(elicitation="ask")
    play.sends(id="q", method="elicitation/create", params=FORM)
    assert play.told[-1].startswith("asks you about elicitation/create; ")


def test_one_too_many_is_written_down_and_told_by_its_name() -> None:
    play = asking(resources={"default": "ask"})
    for number in range(asks_module.NEW_PER_MINUTE):
        play.calls("t", number, arguments={"n": number})
    play.says("resources/read", "uri", uri="x://1")
    assert play.told[-1].startswith("denied x://1: too much is asked at once; ")
    assert play.reply["error"]["code"] == mcp.TOO_OFTEN
    assert (play.entries[-1].name, play.entries[-1].rule) == ("x://1", "resources.default")
    for number in range(1_100):
        play.calls("t", f"more {number}", arguments={"more": number})
    refused = [entry for entry in play.entries if entry.kind is Kind.CALL and entry.name == "t"]
    assert len(refused) == 1_100
    assert refused[-1].arguments == Raw(b'{"more":1099}')
    assert play.talk.tally.denials == 1_101


def test_questions_of_a_server_that_are_too_many_are_written_down_only_so_often() -> None:
    play = Play(elicitation="ask")
    for number in range(asks_module.NEW_PER_MINUTE + 1_100):
        form = FORM | {"message": f"Question {number}?"}
        play.sends(id=number, method="elicitation/create", params=form)
    refused = [entry for entry in play.entries if entry.kind is Kind.CALL]
    assert len(refused) == 1_000
    assert refused[-1].detail == {"from": "server"}


@both_eras
def test_each_call_that_waited_in_vain_is_in_the_audit(era: str) -> None:
    play = asking(era, ask={"wait": "50s"})
    play.calls("delete", "one", arguments=PATH)
    play.calls("delete", "two", arguments=PATH)
    play.handle(Tick(50.0))
    waited = [entry for entry in play.entries if entry.kind is Kind.CALL]
    assert [(each.name, each.verdict, each.detail) for each in waited] == [
        ("delete", "ask", {"ask": "TICK01"}),
    ] * 2
    assert waited[0].arguments == Raw(msgspec.json.encode(PATH))
    assert len({entry.id for entry in waited}) == 2
    assert play.talk.tally.denials == 0


def test_a_question_of_the_server_that_waited_in_vain_is_in_the_audit() -> None:
    play = Play(elicitation="ask")
    play.sends(id="q", method="elicitation/create", params=FORM)
    play.handle(Tick(50.0))
    entry = play.entries[-1]
    assert (entry.kind, entry.verdict) == (Kind.CALL, "ask")
    assert entry.detail == {"ask": "TICK01", "from": "server"}


def test_a_result_that_asks_where_too_much_is_asked_ends_without_a_ticket() -> None:
    play = asking("modern", tools={"default": "ask", "rules": {"ok": "allow"}}, elicitation="ask")
    for number in range(asks_module.SERVERS_PER_MINUTE):
        form = FORM | {"message": f"Question {number}?"}
        play.calls("ok", number)
        asked = {"a": {"method": "elicitation/create", "params": form}}
        play.answers({"resultType": "input_required", "inputRequests": asked, "requestState": "s"})
    play.calls("ok", "last")
    asked = {"a": {"method": "elicitation/create", "params": FORM}}
    play.answers({"resultType": "input_required", "inputRequests": asked, "requestState": "s"})
    assert "asked about too much already" in play.text


def test_answers_that_are_refused_are_written_down_only_so_often() -> None:
    play = asking()
    for _ in range(1_100):
        play.handle(NotAnswered("X", "command line", "nobody"))
    assert len(play.entries) == 1_000


def test_a_no_to_a_call_that_waits_is_a_denied_call_in_the_audit() -> None:
    play = asking()
    play.calls("t", "one", arguments=PATH)
    play.calls("t", "two", arguments=PATH)
    says_no(play)
    denied = [entry for entry in play.entries if entry.kind is Kind.CALL]
    assert [(e.verdict, e.reason, e.rule) for e in denied] == [
        ("deny", "denied by the user", "tools.default")
    ] * 2
    assert denied[0].detail == {"ask": "TICK01"}
    assert denied[0].arguments == Raw(msgspec.json.encode(PATH))
    assert len({entry.id for entry in denied}) == 2


def test_nobody_is_asked_about_what_a_limit_refuses_anyway() -> None:
    play = Play(tools={"rules": {"t": {"decision": "ask", "limit": "1/h"}}})
    play.calls("t", "one")
    says_yes(play)
    assert play.calls("t", "two") == []
    assert len(play.asks) == 1
    assert "more than 1 an hour" in play.text


@both_eras
def test_a_list_that_changed_while_a_call_waited_is_looked_at_again(era: str) -> None:
    play = asking(era, lock=REVIEW, approved=approved(tool("t")))
    params: dict[str, Any] = {}
    if era == "modern":
        play.says("subscriptions/listen", "listen", notifications={"toolsListChanged": True})
        params = {"_meta": {PREFIX + "subscriptionId": play.asked["id"]}}
    play.lists(tool("t"))
    play.calls("t", "one")
    play.sends(method="notifications/tools/list_changed", params=params)
    says_yes(play)
    assert forwarded(play) == []
    assert play.asked["method"] == "tools/list"
    play.answers({"tools": [tool("t")]})
    assert len(forwarded(play)) == 1
    play.answers({"content": []})
    assert play.reply["id"] == "one"
    assert play.talk.tally.calls == 1


@both_eras
def test_a_call_made_again_right_after_a_no_asks_nobody(era: str) -> None:
    play = asking(era)
    play.calls("t", "one", arguments=PATH)
    says_no(play)
    for number in range(50):
        play.calls("t", number, arguments=PATH)
    assert len(play.asks) == 1
    assert play.text == "denied by the user: do not call it again"
    play.calls("t", "other", arguments={"path": "/else"})
    assert len(play.asks) == 2
    play.handle(Tick(asks_module.NO_SECONDS))
    play.calls("t", "later", arguments=PATH)
    assert len(play.asks) == 3


@both_eras
def test_a_no_for_the_session_stands_as_long_as_that(era: str) -> None:
    play = asking(era)
    play.calls("t", "one", arguments=PATH)
    says_no(play, lasts=Lasts.SESSION)
    play.handle(Tick(10_000.0))
    play.calls("t", "two", arguments=PATH)
    assert play.text == "denied by the user: do not call it again"
    assert len(play.asks) == 1


@both_eras
def test_a_no_that_nobody_waited_for_is_kept_for_who_comes_again(era: str) -> None:
    play = asking(era)
    play.calls("t", "one", arguments=PATH)
    play.handle(Tick(51.0))
    says_no(play)
    play.handle(Tick(500.0))
    play.calls("t", "two", arguments=PATH)
    assert play.text == "denied by the user: do not call it again"
    play.calls("t", "three", arguments=PATH)
    assert len(play.asks) == 2
