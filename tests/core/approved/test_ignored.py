"""Members that the lock ignores: nothing new in them reaches a client, anything else is a drift."""

from __future__ import annotations

from typing import Any, Final

import pytest

from mcp_jail.core.approved.ignored import in_words, restored, restored_lock
from mcp_jail.core.approved.lock import ItemKind, Lock, pin
from pins import lock_of
from plays import ERAS, REVIEW, TRUST, Play, approved, tool

DATED: Final = {"ignore": {"tool/t": ["description"]}}
MONDAY: Final = tool(description="It is Monday.")
TUESDAY: Final = tool(description="It is Tuesday.")


def put_back(seen: Any, held: Any, *members: str) -> Any:
    """What becomes of a tool `t` where another form of it was approved."""
    key = "tool/t"
    pins = (pin(ItemKind.TOOL, held, "legacy"),)
    return restored(key, seen, "legacy", approved=pins, ignored={key: members})


# In a session


@pytest.mark.parametrize("era", ERAS)
def test_a_changed_member_is_shown_as_it_was_approved_and_its_tool_called(era: str) -> None:
    play = Play(era, approved=approved(MONDAY), lock=REVIEW | DATED)
    play.says("tools/list", "list")
    play.answers({"tools": [TUESDAY]})
    assert play.reply["result"]["tools"] == [MONDAY]
    assert [each["method"] for each in play.calls("t")] == ["tools/call"]
    assert not any(drift.name == "tool/t" for drift in play.entries if drift.kind.value == "lock")
    assert play.catalogue.seen.items["tool/t"][0].value == MONDAY


@pytest.mark.parametrize(
    "other",
    [
        TUESDAY | {"title": "new"},
        TUESDAY | {"inputSchema": {"type": "object", "title": "new"}},
        {"name": "t", "inputSchema": {"type": "object"}, "description2": "It is Tuesday."},
    ],
    ids=["another member", "an inner one", "under another name"],
)
def test_where_anything_else_changed_the_item_is_a_drift_as_it_stands(other: Any) -> None:
    play = Play(approved=approved(MONDAY), lock=REVIEW | DATED)
    assert play.lists(other) == []
    assert play.calls("t") == []
    assert play.awaited[-1].items["tool/t"][0].value == other


def test_no_other_item_is_excused() -> None:
    lock = approved(MONDAY, tool("u", description="It is Monday."))
    play = Play(approved=lock, lock=REVIEW | DATED)
    assert play.lists(TUESDAY, tool("u", description="It is Tuesday.")) == ["t"]


def test_a_first_contact_is_approved_in_the_words_it_came_in() -> None:
    play = Play(lock=REVIEW | DATED)
    assert play.lists(MONDAY) == []
    assert play.awaited[-1].items["tool/t"][0].value == MONDAY


def test_a_trusted_first_form_is_what_clients_go_on_to_get() -> None:
    play = Play(lock=TRUST | DATED)
    assert play.lists(MONDAY) == ["t"]
    assert play.lists(TUESDAY) == ["t"]
    assert play.reply["result"]["tools"] == [MONDAY]


def test_what_a_lock_file_proposes_is_trusted_in_its_own_words() -> None:
    play = Play(proposal=approved(MONDAY), lock=TRUST | DATED)
    assert play.lists(TUESDAY) == ["t"]
    assert play.reply["result"]["tools"] == [MONDAY]
    assert play.trusted[-1].items["tool/t"][0].value == MONDAY
    under_review = Play(proposal=approved(MONDAY), lock=REVIEW | DATED)
    under_review.lists(TUESDAY)
    assert under_review.awaited[-1].items["tool/t"][0].value == TUESDAY


def test_one_tool_twice_in_two_forms_is_left_out_all_the_same() -> None:
    play = Play(approved=approved(MONDAY), lock=REVIEW | DATED)
    assert play.lists(MONDAY, MONDAY | {"title": "Evil"}) == []
    assert play.lists(MONDAY, TUESDAY) == ["t"]  # two that differ in what is not heard are one
    assert play.reply["result"]["tools"] == [MONDAY]


# The members


@pytest.mark.parametrize(
    ("seen", "held"),
    [
        ({"name": "t", "description": "new"}, {"name": "t", "description": "old"}),
        ({"name": "t", "description": ["any", 1]}, {"name": "t", "description": "old"}),
        ({"name": "t"}, {"name": "t", "description": "old"}),
        ({"name": "t", "description": "new"}, {"name": "t"}),
    ],
    ids=["another text", "another type", "gone", "come"],
)
def test_a_member_is_put_back_whatever_stands_there(seen: Any, held: Any) -> None:
    assert put_back(seen, held, "description") == held


def test_an_inner_member_is_put_back_and_its_neighbours_are_not() -> None:
    def nested(day: str, more: str = "") -> dict[str, Any]:
        return {"name": "t", "inputSchema": {"a": {"default": day, "x": more}}}

    member = "inputSchema.a.default"
    assert put_back(nested("Tue"), nested("Mon"), member) == nested("Mon")
    assert put_back(nested("Tue", "new"), nested("Mon"), member) == nested("Tue", "new")


@pytest.mark.parametrize(
    "seen", [{"name": "t", "a": "text"}, {"name": "t"}, {"name": "t", "a": ["b"]}], ids=str
)
def test_where_there_is_nothing_to_put_it_into_the_item_stays_a_drift(seen: Any) -> None:
    assert put_back(seen, {"name": "t", "a": {"b": "old"}}, "a.b") == seen


def test_what_comes_around_an_ignored_member_is_not_let_in() -> None:
    held = {"name": "t", "inputSchema": {}}
    seen = {"name": "t", "inputSchema": {"a": {"default": "new"}}}
    assert put_back(seen, held, "inputSchema.a.default") == seen


def test_several_members_are_put_back_together() -> None:
    held = {"name": "t", "description": "old", "title": "Old"}
    seen = {"name": "t", "description": "new", "title": "New"}
    assert put_back(seen, held, "description", "title") == held
    assert put_back(seen, held, "description") == seen


def test_any_approved_form_may_be_the_one() -> None:
    forms = ({"name": "t", "title": "A", "day": 1}, {"name": "t", "title": "B", "day": 2})
    pins = [pin(ItemKind.TOOL, each, era) for each, era in zip(forms, ERAS, strict=True)]
    for form in forms:
        seen, ignored = form | {"day": 3}, {"tool/t": ("day",)}
        assert restored("tool/t", seen, "legacy", approved=pins, ignored=ignored) == form


def test_no_value_is_changed_in_place() -> None:
    seen = {"name": "t", "a": {"b": 1}}
    put_back(seen, {"name": "t", "a": {"b": 2}}, "a.b")
    assert seen == {"name": "t", "a": {"b": 1}}


def test_what_is_no_object_has_no_members_to_put_back() -> None:
    assert put_back("text", {"name": "t"}, "name") == "text"
    assert put_back({"name": "t"}, "text", "name") == {"name": "t"}


# Whole locks


def test_what_was_seen_is_put_back_item_by_item() -> None:
    held, ignored = lock_of(MONDAY), {"tool/t": ("description",)}
    assert restored_lock(lock_of(TUESDAY), held, ignored) == held
    assert restored_lock(lock_of(TUESDAY), None, ignored) == lock_of(TUESDAY)
    assert restored_lock(lock_of(TUESDAY), held, {}) == lock_of(TUESDAY)
    assert restored_lock(lock_of(TUESDAY), Lock(name="fs"), ignored) == lock_of(TUESDAY)


def test_what_is_ignored_is_told_an_item_each() -> None:
    assert in_words({"tool/t": ("a", "b.c"), "prompt/p": ("d",)}) == (
        "tool/t: a, b.c",
        "prompt/p: d",
    )
