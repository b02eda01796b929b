"""A policy that is changed while its server runs: what holds at once, and what waits."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from mcp_jail.core.conversation.events import PolicyChanged, PolicyRefused
from mcp_jail.core.policy import Policy
from mcp_jail.core.protocol import mcp
from mcp_jail.core.reloading import TAKEN_UP, needing_restart, taken_up
from mcp_jail.core.rules.decide import compile_rules
from plays import ERAS, OPEN, PROMPTED, REVIEW, UNLOCKED, Play, approved, tool

both_eras = pytest.mark.parametrize("era", ERAS)


def policy(**keys: Any) -> Policy:
    return msgspec.convert({"name": "x", **OPEN, "lock": UNLOCKED, **keys}, Policy)


def change(play: Play, **keys: Any) -> None:
    book = compile_rules(policy(**keys), {}, home="/home/me", cwd=None)
    play.handle(PolicyChanged(book, (), "digest"))


def test_every_key_is_either_taken_up_or_needs_a_restart() -> None:
    before, others = policy(), policy(network={"mode": "host"}, tools={"default": "deny"})
    assert needing_restart(before, others) == ("network",)
    now = taken_up(before, others)
    assert now.tools == others.tools
    assert now.network == before.network
    assert set(TAKEN_UP) < set(Policy.__struct_fields__)


@both_eras
def test_a_rule_holds_from_the_next_call_on(era: str) -> None:
    play = Play(era)
    assert play.calls("t", "one")
    change(play, tools={"default": "deny"})
    assert play.calls("t", "two") == []
    change(play)
    assert play.calls("t", "three")
    assert [entry.verdict for entry in play.entries if entry.kind.value == "policy"] == [
        "changed",
        "changed",
    ]


@both_eras
def test_a_tool_that_is_denied_by_now_is_hidden_and_the_client_told(era: str) -> None:
    play = Play(era)
    if era == "modern":
        play.says("subscriptions/listen", "listen", notifications={"toolsListChanged": True})
    assert play.lists(tool("a"), tool("b")) == ["a", "b"]
    change(play, tools={"default": "allow", "rules": {"b": "deny"}})
    assert play.client_got[-1]["method"].startswith("notifications/")
    assert play.lists(tool("a"), tool("b")) == ["a"]


@both_eras
def test_what_a_server_may_ask_and_how_text_is_treated_hold_at_once(era: str) -> None:
    play = Play(era)
    change(play, text="strip", sampling="deny")
    play.calls("t")
    play.answers({"content": [{"type": "text", "text": "a\u200bb"}]})
    assert play.text == "ab"
    if era == "legacy":
        play.sends(id="q", method="sampling/createMessage", params={})
        assert play.server_got[-1]["error"]


def test_a_rate_that_was_used_up_is_not_given_back_by_a_change() -> None:
    limited = {"rules": {"t": {"decision": "allow", "limit": "1/h"}}}
    play = Play(tools=limited)
    assert play.calls("t", "one")
    change(play, tools=limited | {"default": "allow"})
    assert play.calls("t", "two") == []


def test_a_change_that_is_refused_is_told_and_changes_nothing() -> None:
    play = Play(tools={"default": "deny"})
    play.handle(PolicyRefused("x.yaml:1:1: unknown key"))
    assert play.calls("t") == []
    assert play.told[0] == (
        "the policy was changed, but the one before holds still: x.yaml:1:1: unknown key"
    )
    assert play.entries[0].verdict == "refused"


# What waits for a person while the policy changes


@both_eras
def test_a_call_that_waits_goes_on_once_the_policy_allows_it(era: str) -> None:
    play = Play(era, tools={"default": "ask"})
    play.calls("t", arguments={"n": 1})
    play.calls("other", "second")
    change(play, tools={"default": "ask", "rules": {"t": "allow"}})
    assert play.server_got[-1]["params"]["name"] == "t"
    assert play.over == [("TICK01", "allow")]
    assert [each.name for each in play.talk.asks.open] == ["other"]
    assert play.talk.asks.grants(0) == ()
    play.answers({"content": []})
    assert play.reply["id"] == "call"


@both_eras
def test_a_call_that_waits_is_refused_once_the_policy_denies_it(era: str) -> None:
    play = Play(era, tools={"default": "ask"})
    play.calls("t")
    change(play, tools={"default": "deny"})
    assert play.over == [("TICK01", "deny")]
    assert "denied by the user's policy" in play.text
    assert [entry.verdict for entry in play.entries][-3:] == ["changed", "deny", "deny"]


@both_eras
def test_a_constraint_that_does_not_hold_goes_on_waiting(era: str) -> None:
    play = Play(era, tools={"default": "ask"})
    play.calls("t", arguments={"n": 5})
    rule = {"decision": "allow", "args": {"n": {"max": 4}}, "otherwise": "ask"}
    change(play, tools={"default": "deny", "rules": {"t": rule}})
    assert play.over == []
    assert len(play.talk.asks) == 1


def test_a_question_of_the_server_that_waits_is_judged_anew() -> None:
    play = Play(sampling="ask")
    play.sends(id="q", method="sampling/createMessage", params=PROMPTED)
    change(play, sampling="ask", elicitation="deny")
    assert play.over == []
    change(play, sampling="deny")
    assert play.over == [("TICK01", "deny")]
    assert play.server_got[-1]["error"]["code"] == mcp.DENIED


def test_a_subscription_waits_until_no_resource_of_it_is_asked_about() -> None:
    play = Play("modern", resources={"default": "ask"})
    uris = ["file:///a", "file:///b"]
    play.says("subscriptions/listen", "l", notifications={"resourceSubscriptions": uris})
    change(play, resources={"default": "ask", "rules": {"file:///a": "allow"}})
    assert play.over == []
    change(play, resources={"default": "allow"})
    assert play.over == [("TICK01", "allow")]
    assert play.server_got[-1]["method"] == "subscriptions/listen"


def test_a_tool_that_is_not_approved_any_more_is_refused_though_the_policy_allows_it() -> None:
    play = Play(tools={"default": "ask"}, lock=REVIEW, approved=approved(tool("t")))
    play.lists(tool("t"))
    play.calls("t")
    play.lists(tool("t", description="another"))
    change(play, tools={"default": "allow"}, lock=REVIEW)
    assert play.over == [("TICK01", "allow")]
    assert "not in the approved catalogue" in play.text


def test_a_question_in_the_client_is_taken_back_once_the_policy_has_decided() -> None:
    play = Play(tools={"default": "ask"}, client="claude-code", phrase="ABCD-EFGH")
    play.calls("t")
    asked = play.client_got[-1]
    assert asked["method"] == "elicitation/create"
    change(play, tools={"default": "deny"})
    cancelled = [each for each in play.client_got if each.get("method", "").endswith("/cancelled")]
    assert [each["params"]["requestId"] for each in cancelled] == [asked["id"]]


def test_what_of_the_policy_does_not_hold_is_known_until_it_does() -> None:
    play = Play()
    assert play.talk.unlike_policy == {"restart": [], "policy_refused": ""}
    play.handle(PolicyRefused("no such key"))
    assert play.talk.unlike_policy == {"restart": [], "policy_refused": "no such key"}
    book = compile_rules(policy(), {}, home="/home/me", cwd=None)
    play.handle(PolicyChanged(book, ("network",), "digest"))
    assert play.talk.unlike_policy == {"restart": ["network"], "policy_refused": ""}
    play.handle(PolicyChanged(book, (), "digest"))
    assert play.talk.unlike_policy == {"restart": [], "policy_refused": ""}
