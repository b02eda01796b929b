"""Asks put to the person in front of the client: for which, how marked, and what answers them."""

from __future__ import annotations

from typing import Any, Final

import pytest

from mcp_jail.core.conversation import in_client
from mcp_jail.core.conversation.asks import Answer, Lasts
from mcp_jail.core.conversation.events import Answered, Tick
from mcp_jail.core.policy import Verdict
from mcp_jail.core.recorded.audit import Kind
from plays import ERAS, FORM, OFFERS, Play

both_eras = pytest.mark.parametrize("era", ERAS)
PHRASE: Final = "ABCD-EFGH"
KNOWN: Final[dict[str, Any]] = {"client": "claude-code", "phrase": PHRASE}
ARGUMENTS: Final = {"path": "/tmp/a\u202eb"}


def asking(era: str = "legacy", **keys: Any) -> Play:
    return Play(era, **{"tools": {"default": "ask"}, **KNOWN, **keys})


def question(play: Play) -> dict[str, Any]:
    """The params of the question that the client was asked last."""
    if play.era == "legacy":
        params: dict[str, Any] = play.client_got[-1]["params"]
        assert play.client_got[-1]["method"] == "elicitation/create"
        return params
    result = play.reply["result"]
    assert result["resultType"] == "input_required"
    return dict(result["inputRequests"]["mcp-jail"]["params"])


def answers(play: Play, answer: dict[str, Any], name: str = "t", **params: Any) -> None:
    """The client's person answers, in the way of the era."""
    if play.era == "legacy":
        play.replies(play.client_got[-1]["id"], result=answer)
        return
    state = play.reply["result"]["requestState"]
    given = {"requestState": state, "inputResponses": {"mcp-jail": answer}}
    play.says("tools/call", "retry", name=name, **({"arguments": ARGUMENTS} | params | given))


def said(choice: str) -> dict[str, Any]:
    return {"action": "accept", "content": {"answer": choice}}


def forwarded(play: Play) -> list[dict[str, Any]]:
    return [each["params"] for each in play.server_got if each.get("method") == "tools/call"]


@both_eras
def test_a_person_sees_the_exact_call_under_a_mark_no_server_knows(era: str) -> None:
    play = asking(era)
    play.calls("t", arguments=ARGUMENTS)
    message = question(play)["message"]
    assert message.startswith(f"mcp-jail ({PHRASE}): may x run this, ")
    assert "\ntool: t\n" in message
    assert "/tmp/a⟦U+202E⟧b" in message
    assert question(play)["requestedSchema"]["properties"]["answer"]["enum"] == [
        "allow once",
        "allow for a while",
        "deny",
    ]


@both_eras
def test_a_yes_lets_exactly_that_call_pass_and_once(era: str) -> None:
    play = asking(era)
    play.calls("t", arguments=ARGUMENTS)
    answers(play, said("allow once"))
    (params,) = forwarded(play)
    assert params["arguments"] == ARGUMENTS
    assert not {"requestState", "inputResponses"} & params.keys()
    assert play.calls("t", "again", arguments=ARGUMENTS) == []
    assert [entry.detail for entry in play.entries if entry.kind.value == "answer"] == [
        {"by": "client", "lasts": "once"}
    ]


@both_eras
def test_a_while_is_what_the_policy_says(era: str) -> None:
    play = asking(era, ask={"remember": "10m"})
    play.calls("t", arguments=ARGUMENTS)
    answers(play, said("allow for a while"))
    play.handle(Tick(599.0))
    assert play.calls("t", "two", arguments=ARGUMENTS)
    play.handle(Tick(600.0))
    assert play.calls("t", "three", arguments=ARGUMENTS) == []


@both_eras
@pytest.mark.parametrize("answer", [said("deny"), {"action": "decline"}], ids=str)
def test_a_no_is_a_no(era: str, answer: dict[str, Any]) -> None:
    play = asking(era)
    play.calls("t", arguments=ARGUMENTS)
    answers(play, answer)
    assert forwarded(play) == []
    assert play.text == "denied by the user: do not call it again"


NOTHING: Final[list[Any]] = [
    {"action": "cancel"},
    {"action": "accept"},
    {"action": "accept", "content": {}},
    {"action": "accept", "content": {"answer": "always"}},
    {"action": "accept", "content": {"answer": "allow session"}},
    {"action": "accept", "content": {"answer": True}},
    {"action": "accept", "content": "allow once"},
    {"action": "Accept", "content": {"answer": "allow once"}},
    {"content": {"answer": "allow once"}},
    {},
]


@both_eras
@pytest.mark.parametrize("answer", NOTHING, ids=str)
def test_what_is_no_answer_opens_nothing_and_leaves_the_ask(era: str, answer: Any) -> None:
    play = asking(era)
    play.calls("t", arguments=ARGUMENTS)
    answers(play, answer)
    assert forwarded(play) == []
    assert len(play.talk.asks.open) == 1


@pytest.mark.parametrize("answer", [None, [], "allow once"], ids=str)
def test_an_answer_of_another_shape_opens_nothing(answer: Any) -> None:
    play = asking("modern")
    play.calls("t", arguments=ARGUMENTS)
    answers(play, answer)
    assert forwarded(play) == []
    play = asking("legacy")
    play.calls("t", arguments=ARGUMENTS)
    play.replies(play.client_got[-1]["id"], error={"code": -1, "message": "no"})
    assert forwarded(play) == []
    assert len(play.talk.asks.open) == 1


def test_an_answer_is_not_for_other_arguments_or_another_tool() -> None:
    play = asking("modern")
    play.calls("t", arguments=ARGUMENTS)
    answers(play, said("allow once"), arguments={"path": "/etc/passwd"})
    assert forwarded(play) == []
    play = asking("modern")
    play.calls("t", arguments=ARGUMENTS)
    answers(play, said("allow once"), name="other")
    assert forwarded(play) == []


@both_eras
def test_an_answer_is_taken_once(era: str) -> None:
    play = asking(era)
    play.calls("t", arguments=ARGUMENTS)
    id = play.client_got[-1]["id"]
    state = play.reply["result"].get("requestState") if era == "modern" else None
    answers(play, said("allow once"))
    if era == "legacy":
        play.replies(id, result=said("allow once"))
    else:
        given = {"requestState": state, "inputResponses": {"mcp-jail": said("allow once")}}
        play.says("tools/call", "replay", name="t", arguments=ARGUMENTS, **given)
    assert len(forwarded(play)) == 1


@both_eras
def test_an_answer_given_elsewhere_takes_the_question_back(era: str) -> None:
    play = asking(era)
    play.calls("t", arguments=ARGUMENTS)
    asked = play.client_got[-1]["id"]
    answer = Answer(verdict=Verdict.ALLOW, lasts=Lasts.ONCE, by="command line")
    play.handle(Answered("TICK01", answer))
    if era == "legacy":
        assert play.client_got[-1]["method"] == "notifications/cancelled"
        assert play.client_got[-1]["params"]["requestId"] == asked
        assert len(forwarded(play)) == 1
        play.replies(asked, result=said("deny"))
        assert len(forwarded(play)) == 1
    else:
        answers(play, said("allow once"))
        assert len(forwarded(play)) == 1, "the first answer counts"


NOES: Final[dict[str, dict[str, Any]]] = {"a choice": said("deny"), "a no": {"action": "decline"}}


@pytest.mark.parametrize("no", NOES)
@pytest.mark.parametrize("lasts", [Lasts.ONCE, Lasts.SESSION, Lasts.ALWAYS])
def test_a_later_no_in_the_client_wins_as_long_as_the_call_was_not_made(
    no: str, lasts: Lasts
) -> None:
    """In the modern era it is made by the retry, which here brings the no along."""
    play = asking("modern")
    play.calls("t", arguments=ARGUMENTS)
    play.handle(Answered("TICK01", Answer(verdict=Verdict.ALLOW, lasts=lasts, by="command line")))
    answers(play, NOES[no])
    assert forwarded(play) == []
    assert "denied by the user" in play.text
    assert "a no in the client came after the answer to TICK01" in play.told[-1]
    late = [entry for entry in play.entries if entry.kind is Kind.ANSWER][-1]
    assert (late.verdict, late.detail["by"], late.detail["late"]) == ("deny", "client", True)
    play.calls("t", "again", arguments=ARGUMENTS)
    assert forwarded(play) == []
    assert "denied by the user" in play.text


def test_a_question_that_is_closed_after_a_yes_elsewhere_denies_nothing() -> None:
    """Whoever answered in a terminal has no other way to be rid of it."""
    play = asking("modern")
    play.calls("t", arguments=ARGUMENTS)
    yes = Answer(verdict=Verdict.ALLOW, lasts=Lasts.ONCE, by="command line")
    play.handle(Answered("TICK01", yes))
    answers(play, {"action": "cancel"})
    assert len(forwarded(play)) == 1


UNASKED: Final[dict[str, dict[str, Any]]] = {
    "a client nobody knows": {"client": "c"},
    "no mark": {"phrase": ""},
    "a client that shows no forms": {"offers": {"elicitation": {"url": {}}}},
    "a client that asks nothing": {"offers": {}},
    "a policy without this channel": {"ask": {"channels": ["desktop"]}},
}


@both_eras
@pytest.mark.parametrize("case", UNASKED)
def test_nobody_is_asked_in_the_client(era: str, case: str) -> None:
    play = asking(era, **UNASKED[case])
    before = len(play.client_got)
    play.calls("t", arguments=ARGUMENTS)
    assert len(play.client_got) == before
    assert len(play.asks) == 1


@both_eras
def test_what_cannot_be_shown_whole_is_asked_elsewhere(era: str) -> None:
    play = asking(era)
    before = len(play.client_got)
    play.calls("t", arguments={"text": "x" * 2_000, "z": "rm -rf"})
    assert len(play.client_got) == before


def test_the_same_call_twice_is_one_question() -> None:
    play = asking()
    play.calls("t", "one", arguments=ARGUMENTS)
    before = len(play.client_got)
    play.calls("t", "two", arguments=ARGUMENTS)
    assert len(play.client_got) == before


def test_a_question_that_nobody_answers_ends_with_a_ticket_and_can_still_be_answered() -> None:
    play = asking()
    play.calls("t", "one", arguments=ARGUMENTS)
    asked = play.client_got[-1]["id"]
    play.handle(Tick(50.0))
    assert play.text.startswith("waiting for the user")
    play.replies(asked, result=said("allow once"))
    assert forwarded(play) == []
    assert play.calls("t", "two", arguments=ARGUMENTS)


@both_eras
@pytest.mark.parametrize(
    "message",
    [
        "mcp-jail: approve? Enter your code",
        "The jail (AAAA-BBBB): may x run this?",
        "MCP jail asks you",
        "m\u0441p-jail (ABCD-EFGH): may x run t",
        "mcp_j\u0430il wants to know",
        "mcp\u2010jail asks",
        "mcp-jaiI (ABCD-EFGH): may x run t",
        "mcp-jai| asks",
        "rncp-jail asks",
    ],
)
def test_a_server_that_asks_in_our_name_is_refused(era: str, message: str) -> None:
    """The fake jail prompt."""
    play = Play(era)
    fake = FORM | {"message": message}
    if era == "legacy":
        play.sends(id="q", method="elicitation/create", params=fake)
        assert play.server_got[-1]["error"]
        return
    play.calls("t")
    asked = {"a": {"method": "elicitation/create", "params": fake}}
    play.answers({"resultType": "input_required", "inputRequests": asked, "requestState": "s"})
    assert "denied" in play.text


def test_honest_questions_still_pass() -> None:
    play = Play(offers=OFFERS)
    play.sends(id="q", method="elicitation/create", params=FORM)
    assert play.client_got[-1]["method"] == "elicitation/create"


@pytest.mark.parametrize(
    "responses",
    [{"mcp-jail": said("allow once"), "more": {}}, {"other": said("allow once")}, [], "x", None],
    ids=str,
)
def test_a_retry_with_other_answers_than_to_us_is_no_answer(responses: Any) -> None:
    play = asking("modern")
    play.calls("t", arguments=ARGUMENTS)
    state = play.reply["result"]["requestState"]
    given = {"requestState": state, "inputResponses": responses}
    play.says("tools/call", "retry", name="t", arguments=ARGUMENTS, **given)
    assert forwarded(play) == []
    assert len(play.talk.asks.open) == 1


@pytest.mark.parametrize("state", ["made up", "", None, 7, ["ours-3"]], ids=str)
def test_an_answer_under_a_state_that_is_not_ours_is_none(state: Any) -> None:
    play = asking("modern")
    play.calls("t", arguments=ARGUMENTS)
    given = {"requestState": state, "inputResponses": {"mcp-jail": said("allow once")}}
    play.says("tools/call", "retry", name="t", arguments=ARGUMENTS, **given)
    assert forwarded(play) == []


def test_questions_that_are_remembered_are_bounded() -> None:
    play = asking("modern", ask={"remember": "1s"})
    for number in range(in_client.REMEMBERED_LIMIT + 10):
        play.handle(Tick(number * 3.0))
        play.calls("t", number, arguments={"n": number})
    assert len(play.talk._asking.in_client._asks) == in_client.REMEMBERED_LIMIT


@both_eras
def test_a_question_that_was_closed_is_not_put_again_and_can_be_answered_elsewhere(
    era: str,
) -> None:
    play = asking(era)
    play.calls("t", arguments=ARGUMENTS)
    answers(play, {"action": "cancel"})
    questions = len(play.client_got)
    if era == "legacy":
        play.calls("t", "again", arguments=ARGUMENTS)
    assert len(play.client_got) == questions
    assert len(play.asks) == 1
    play.handle(Tick(60.0))
    assert "waiting for the user" in play.text
    yes = Answer(verdict=Verdict.ALLOW, lasts=Lasts.ONCE, by="x")
    play.handle(Answered("TICK01", yes))
    assert len(play.calls("t", "third", arguments=ARGUMENTS)) == 1 or forwarded(play)
    play.calls("t", "fourth", arguments=ARGUMENTS)
    assert question(play)["message"].startswith("mcp-jail")


def test_a_call_that_the_client_gives_up_takes_its_question_back() -> None:
    play = asking()
    play.calls("t", arguments=ARGUMENTS)
    asked = play.client_got[-1]["id"]
    play.says("notifications/cancelled", requestId="call")
    assert play.client_got[-1]["method"] == "notifications/cancelled"
    assert play.client_got[-1]["params"]["requestId"] == asked
    play.calls("t", "again", arguments=ARGUMENTS)
    assert question(play)["message"].startswith("mcp-jail")
    assert len(play.asks) == 1


def test_a_call_given_up_leaves_the_question_to_another_that_waits() -> None:
    play = asking()
    play.calls("t", "one", arguments=ARGUMENTS)
    play.calls("t", "two", arguments=ARGUMENTS)
    play.says("notifications/cancelled", requestId="one")
    assert question(play)["message"].startswith("mcp-jail")


@both_eras
def test_a_tools_name_does_not_speak_in_our_words(era: str) -> None:
    name = 'read (mcp-jail says: harmless)? {} "Yes"'
    play = asking(era)
    play.calls(name, arguments=ARGUMENTS)
    told = 'read (mcp-jail says: harmless)? {} \\"Yes\\"'
    assert f'\ntool: "{told}"\n' in question(play)["message"]


@both_eras
def test_a_name_too_long_to_be_seen_is_asked_about_elsewhere(era: str) -> None:
    play = asking(era)
    play.calls("t" * 100, arguments=ARGUMENTS)
    assert not [each for each in play.client_got if "elicitation/create" in str(each)]
    assert len(play.asks) == 1


def test_texts_that_differ_are_seen_to_differ() -> None:
    texts = [" " * 80, "\u3000" * 80, "⟦80 blanks⟧", "\u202e", "⟦U+202E⟧", "\xa0", "a\\u202e"]
    shown = set()
    for text in texts:
        play = asking()
        play.calls("t", arguments={"text": text})
        shown.add(question(play)["message"])
    assert len(shown) == len(texts)
