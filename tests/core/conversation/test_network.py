"""Refusals on the network are told to each call that was under way, and to no other."""

from __future__ import annotations

from typing import Any, Final

import pytest

from mcp_jail.core.conversation.events import Effect, NetTried, Record, Tell
from mcp_jail.core.conversation.network import TOLD_LIMIT, error_with_words, with_words
from mcp_jail.core.recorded.audit import Entry, Kind
from plays import ERAS, Play

SAID: Final[dict[str, Any]] = {"content": [{"type": "text", "text": "fetch failed"}]}

both_eras = pytest.mark.parametrize("era", ERAS)


def refusal(words: str = "a connection to 'x:443' was not made", told: str = "") -> NetTried:
    return NetTried(Entry(kind=Kind.NET, method="connect"), refused=words, told=told)


def asked_by(play: Play, id: str) -> Any:
    """The id a call of the client has on the server's side."""
    play.calls("t", id)
    return play.asked["id"]


def texts(play: Play) -> list[str]:
    return [item["text"] for item in play.reply["result"]["content"]]


@both_eras
def test_a_refusal_is_written_down_and_told_at_the_end_of_the_call(era: str) -> None:
    play = Play(era)
    play.calls("t", "first")
    effects: list[Effect] = play.handle(refusal(told="denied network connect 'x:443'"))
    assert effects == [
        Record(Entry(kind=Kind.NET, method="connect")),
        Tell("denied network connect 'x:443'"),
    ]
    play.answers(SAID)
    told = "mcp-jail: refused by the user's policy: a connection to 'x:443' was not made"
    assert texts(play) == ["fetch failed", told]


@both_eras
def test_every_call_under_way_is_told_and_none_that_comes_after(era: str) -> None:
    play = Play(era)
    one, two = asked_by(play, "one"), asked_by(play, "two")
    play.handle(refusal())
    three = asked_by(play, "three")
    for id, told in ((two, 2), (three, 1), (one, 2)):
        play.answers(SAID, id=id)
        assert len(texts(play)) == told


@both_eras
def test_a_refusal_before_any_call_is_told_to_none(era: str) -> None:
    play = Play(era)
    assert play.handle(refusal()) == [Record(Entry(kind=Kind.NET, method="connect"))]
    play.calls("t", "later")
    play.answers(SAID)
    assert texts(play) == ["fetch failed"]


@both_eras
def test_a_refusal_that_comes_after_a_call_s_result_is_told_to_the_next(era: str) -> None:
    play = Play(era)
    play.calls("t", "first")
    play.answers(SAID)
    for number in range(100):
        for _ in range(2):
            play.handle(refusal(f"udp to 'n{number}:9' was not sent"))
    play.says("prompts/get", "p", name="p")
    play.answers({"messages": []})
    assert play.reply["result"]["messages"] == []
    play.calls("t", "second")
    play.handle(refusal())
    play.answers(SAID)
    (said,) = texts(play)[1:]
    ours, late = said.split(", and after the last call: ")
    assert ours == "mcp-jail: refused by the user's policy: a connection to 'x:443' was not made"
    assert late.split("; ") == [f"udp to 'n{n}:9' was not sent" for n in range(TOLD_LIMIT)]
    play.calls("t", "third")
    play.answers(SAID)
    assert texts(play) == ["fetch failed"]


@both_eras
def test_an_error_of_the_next_call_says_it_too(era: str) -> None:
    play = Play(era)
    play.calls("t", "first")
    play.answers(SAID)
    play.handle(refusal())
    play.calls("t", "second")
    play.fails(message="fetch failed")
    told = "refused by the user's policy after the last call: a connection to 'x:443' was not made"
    assert play.reply["error"]["message"] == f"fetch failed (mcp-jail: {told})"


@both_eras
def test_a_call_is_told_each_refusal_once_and_five_at_most(era: str) -> None:
    play = Play(era)
    play.calls("t", "first")
    for number in range(100):
        for _ in range(2):
            play.handle(refusal(f"the name 'n{number}.example' was not looked up"))
    play.answers(SAID)
    said = texts(play)[1]
    assert said.count("was not looked up") == TOLD_LIMIT
    assert all(f"'n{number}.example'" in said for number in range(TOLD_LIMIT))


@both_eras
def test_an_error_says_it_too(era: str) -> None:
    play = Play(era)
    play.calls("t", "first")
    play.handle(refusal())
    play.fails(message="fetch failed")
    told = "refused by the user's policy: a connection to 'x:443' was not made"
    assert play.reply["error"]["message"] == f"fetch failed (mcp-jail: {told})"
    assert play.reply["error"]["code"] == -32603


@both_eras
def test_requests_that_are_no_calls_are_told_nothing(era: str) -> None:
    play = Play(era)
    play.says("prompts/get", "p", name="p")
    play.handle(refusal())
    play.answers({"messages": []})
    assert play.reply["result"]["messages"] == []


def test_what_was_noted_for_a_call_that_ended_otherwise_is_forgotten() -> None:
    play = Play("legacy")
    for number in range(50):
        play.calls("t", f"call {number}")
        play.handle(refusal())
        play.says("notifications/cancelled", requestId=f"call {number}")
    play.calls("t", "last")
    play.handle(refusal())
    assert len(play.talk._state.refused._of) == 1


def test_words_go_behind_what_a_server_says_and_change_nothing_of_it() -> None:
    given: dict[str, Any] = {
        "content": [{"type": "text", "text": "a"}],
        "isError": True,
        "structuredContent": {},
    }
    changed = with_words(given, "no")
    assert changed == given | {"content": [*given["content"], _text("no")]}
    assert len(given["content"]) == 1
    assert error_with_words({"code": 1, "message": "m"}, "no")["message"] == "m (mcp-jail: no)"


@pytest.mark.parametrize("result", [{}, {"content": None}, {"content": {"0": "x"}}])
def test_a_result_of_another_shape_is_left_as_it_is(result: dict[str, Any]) -> None:
    assert with_words(result, "no") == result


def _text(words: str) -> dict[str, str]:
    return {"type": "text", "text": f"mcp-jail: {words}"}
