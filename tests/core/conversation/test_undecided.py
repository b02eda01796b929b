"""Held requests that end without a verdict: given up, left alone by their server, or too late."""

from __future__ import annotations

from typing import Any

import pytest

from core.conversation.test_session import kinds
from core.conversation.test_walks import PROMPT, locked, sent_calls
from mcp_jail.core.conversation.events import ServerGone, Tick
from mcp_jail.core.conversation.walks import WALK_SECONDS
from mcp_jail.core.recorded.audit import Kind
from plays import ERAS, Play, tool

both_eras = pytest.mark.parametrize("era", ERAS)


def ends(play: Play) -> list[tuple[str, str, str, str]]:
    """The entries of requests that were held to their end."""
    return [
        (each.method, each.name, each.verdict, each.reason)
        for each in play.entries
        if each.kind is Kind.CALL and each.rule == "held"
    ]


def at(play: Play, seconds: float) -> list[Any]:
    return play.handle(Tick(seconds))


def due(play: Play) -> float | None:
    return play.talk.due


@both_eras
def test_a_held_call_that_is_cancelled_is_in_the_audit_with_its_arguments(era: str) -> None:
    play = locked(era)
    play.says("tools/call", 1, name="t", arguments={"a": 1})
    play.says("notifications/cancelled", requestId=1)
    assert ends(play) == [("tools/call", "t", "deny", "the client gave it up while it was held")]
    assert bytes(play.entries[-1].arguments or b"") == b'{"a":1}'
    assert (play.talk.tally.calls, play.talk.tally.denials) == (1, 1)
    assert play.says("notifications/cancelled", requestId=1) == []


@both_eras
def test_held_calls_whose_server_ends_are_in_the_audit(era: str) -> None:
    play = locked(era)
    play.calls("t", 1)
    play.says("prompts/get", 2, name="p")
    play.handle(ServerGone("exit status 1"))
    assert due(play) is None
    reason = "the server is gone (exit status 1)"
    assert ends(play) == [
        ("tools/call", "t", "deny", reason),
        ("prompts/get", "p", "deny", reason),
    ]


def test_a_subscription_that_was_held_is_written_down_with_its_resources() -> None:
    play = locked("modern")
    wanted = {"resourceSubscriptions": ["x://a", "x://b"]}
    play.says("subscriptions/listen", 1, notifications=wanted)
    assert play.asked["method"] == "resources/list"
    play.handle(ServerGone("killed"))
    assert [each[:2] for each in ends(play)] == [("subscriptions/listen", "x://a")]
    assert b"x://b" in bytes(play.entries[-1].arguments or b"")


@both_eras
def test_a_server_that_never_lists_holds_a_call_for_so_long_and_no_longer(era: str) -> None:
    play = locked(era)
    at(play, 100.0)
    assert due(play) is None
    play.calls("t", 1)
    walk = play.asked["id"]
    assert due(play) == 100.0 + WALK_SECONDS
    at(play, 110.0)
    play.calls("t", 2)
    assert at(play, 100.0 + WALK_SECONDS - 0.1) == []
    effects = at(play, 100.0 + WALK_SECONDS)
    assert kinds(effects) == ["ToServer", *["Record", "ToClient", "Tell"] * 2]
    assert "the server did not list in time what it has" in play.text
    assert [each["id"] for each in play.client_got[-2:]] == [1, 2]
    assert play.server_got[-1]["params"] == {"requestId": walk}
    assert len(ends(play)) == 2
    assert due(play) is None
    assert at(play, 1_000.0) == []
    assert sent_calls(play) == []


def test_a_late_list_is_dropped_without_a_word_and_the_next_call_begins_another() -> None:
    play = locked()
    play.calls("t", 1)
    walk = play.asked["id"]
    at(play, WALK_SECONDS)
    assert play.answers({"tools": [tool()]}, walk) == []
    play.calls("t", 2)
    assert play.asked["method"] == "tools/list"
    play.answers({"tools": [tool()]})
    assert sent_calls(play) == ["t"]


def test_pages_do_not_put_the_end_off() -> None:
    play = locked()
    play.calls("t", 1)
    for page in range(1, 4):
        at(play, page * 9.0)
        play.answers({"tools": [], "nextCursor": str(page)})
    at(play, WALK_SECONDS)
    assert "did not list in time" in play.text


def test_each_kind_is_waited_for_by_itself() -> None:
    play = locked()
    play.calls("t", 1)
    at(play, 10.0)
    play.says("prompts/get", 2, name="p")
    at(play, WALK_SECONDS)
    assert due(play) == 10.0 + WALK_SECONDS
    play.answers({"prompts": [PROMPT]})
    assert play.asked["method"] == "prompts/get"
    assert due(play) is None
