"""First contacts, and approvals that a person gives while the server runs."""

from __future__ import annotations

from typing import Any

import pytest

from core.conversation.test_calls import KINDS, PROMPT, A, B, denied, locked
from core.conversation.test_session import kinds
from mcp_jail.core.approved.lock import ItemKind
from mcp_jail.core.conversation.events import LockChanged
from plays import ERAS, PREFIX, REVIEW, TRUST, Play, approved, tool

both_eras = pytest.mark.parametrize("era", ERAS)


@both_eras
def test_a_first_contact_in_review_shows_nothing_and_refuses_all(era: str) -> None:
    play = Play(era, lock=REVIEW, server={"instructions": "EVIL"})
    assert "instructions" not in play.reply["result"]
    assert play.lists(A, B) == []
    for name in ("a", "b", "c"):
        assert denied(play, name)
    play.says("prompts/list", 1)
    play.answers({"prompts": [PROMPT]})
    assert play.reply["result"]["prompts"] == []
    assert set(play.awaited[-1].items) >= {"tool/a", "tool/b", "prompt/p"}
    assert play.trusted == []
    assert any("mcp-jail diff x" in told for told in play.told)


@both_eras
def test_a_trusted_first_contact_is_accepted_once(era: str) -> None:
    play = Play(era, lock=TRUST)
    assert play.lists(A, B) == ["a", "b"]
    assert not denied(play, "a")
    assert play.lists(A | {"description": "EVIL"}, B, tool("c")) == ["b"]
    assert denied(play, "a")
    assert denied(play, "c")
    kept = next(lock for lock in play.trusted if "tool/a" in lock.items)
    again = Play(era, approved=kept, lock=TRUST)
    assert again.lists(A | {"description": "EVIL"}, B) == ["b"]


@both_eras
def test_an_endless_first_contact_is_never_called(era: str) -> None:
    play = Play(era, lock=TRUST)
    assert play.lists(A, nextCursor="2") == ["a"]
    play.calls("a")
    assert play.asked["method"] == "tools/list"
    play.answers({"tools": [A], "nextCursor": "2"})
    play.answers({"tools": [], "nextCursor": "2"})
    assert "did not say what it has" in play.text
    assert all(ItemKind.TOOL not in lock.kinds for lock in play.trusted)


# Approvals meanwhile


def test_an_approval_is_taken_up_and_a_legacy_client_told() -> None:
    play = locked()
    evil = A | {"description": "new"}
    play.lists(evil, B)
    effects = play.handle(LockChanged(approved(evil, B)))
    assert kinds(effects) == ["ToClient"]
    assert play.client_got[-1] == {
        "jsonrpc": "2.0",
        "method": "notifications/tools/list_changed",
    }
    assert not denied(play, "a")
    assert play.handle(LockChanged(approved(evil, B))) == []


def test_a_modern_client_is_told_on_the_subscriptions_that_asked_for_it() -> None:
    play = locked("modern")
    for id, wanted in (
        ("tools", {"toolsListChanged": True}),
        ("prompts", {"promptsListChanged": True}),
        ("both", {"toolsListChanged": True, "promptsListChanged": True}),
        ("off", {"toolsListChanged": False}),
    ):
        play.says("subscriptions/listen", id, notifications=wanted)
    play.lists(A | {"description": "new"}, B)
    before = len(play.client_got)
    play.handle(LockChanged(approved(A | {"description": "new"}, B)))
    told = play.client_got[before:]
    assert [each["params"]["_meta"][PREFIX + "subscriptionId"] for each in told] == [
        "tools",
        "both",
    ]
    assert {each["method"] for each in told} == {"notifications/tools/list_changed"}


@pytest.mark.parametrize("kind", ["prompts", "resources", "resources/templates"])
def test_an_approval_of_another_kind_tells_of_that_listing(kind: str) -> None:
    member = {"resources/templates": "resourceTemplates"}.get(kind, kind)
    item = {"name": "n", "uri": "x://n", "uriTemplate": "x://n"}
    key = {"prompts": "prompt_n", "resources": "resource_x://n"}.get(kind, "template_x://n")
    named: dict[str, Any] = {key: item}
    play = Play(lock=REVIEW)
    play.says(f"{kind}/list", 1)
    play.answers({member: [item]})
    assert play.reply["result"][member] == []
    play.handle(LockChanged(approved(kinds=KINDS, **named)))
    shown = kind.partition("/")[0]
    assert [each.get("method") for each in play.client_got[-1:]] == [
        f"notifications/{shown}/list_changed"
    ]


@both_eras
@pytest.mark.parametrize("first", [REVIEW, TRUST])
def test_a_damaged_lock_hides_all_and_refuses_all(era: str, first: dict[str, Any]) -> None:
    play = locked(era, lock=first)
    play.lists(A, B)
    play.handle(LockChanged(None))
    assert denied(play, "a")
    assert play.lists(A, B, tool("c")) == []
    for name in ("a", "b", "c"):
        assert denied(play, name)
    assert play.trusted == []
