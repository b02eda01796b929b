"""What a person is shown, and what their answer makes of the lock."""

from __future__ import annotations

import msgspec
import pytest

from mcp_jail.core.approved.lock import Change, ItemKind, Lock, Pin, drift, pin, reject
from mcp_jail.core.approved.review import (
    SHORT_DIGEST,
    UnknownItemError,
    approved_after,
    both,
    is_part,
    listed_twice,
    rejected_after,
    rejected_of,
    review,
    review_to_reject,
    waits,
    with_launch,
    without_launch,
)
from pins import lock_of, resources_of, tool

OLD = lock_of(tool("echo"), tool("gone"))
NEW = lock_of(tool("echo", "Does more."), tool("new"))


def form(key: str, lock: Lock = NEW) -> tuple[str, str]:
    """A key with the digest of what was seen of it."""
    return key, lock.items[key][0].digest


def test_all_that_differs_is_shown() -> None:
    shown = review(OLD, NEW)
    assert [(each.key, each.change) for each in shown.drifts] == [
        ("tool/echo", Change.CHANGED),
        ("tool/gone", Change.REMOVED),
        ("tool/new", Change.ADDED),
    ]


@pytest.mark.parametrize("name", ["tool/new", "new"])
def test_an_item_is_picked_by_its_key_or_its_name(name: str) -> None:
    shown = review(OLD, NEW, [name])
    assert [each.key for each in shown.drifts] == ["tool/new"]


@pytest.mark.parametrize("name", ["tool/other", "", "tool", "tool/", "*", "ne"])
def test_a_name_that_means_nothing_is_not_passed_over(name: str) -> None:
    with pytest.raises(UnknownItemError):
        review(OLD, NEW, ["new", name])


def test_what_was_shown_is_approved_and_what_is_gone_stays_until_it_is_named() -> None:
    lock = approved_after(review(OLD, NEW))
    assert set(lock.items) == {"tool/echo", "tool/gone", "tool/new"}
    lock = approved_after(review(lock, NEW, ["gone"]))
    assert set(lock.items) == {"tool/echo", "tool/new"}
    assert drift(lock, NEW) == ()


def test_what_was_not_picked_is_not_approved() -> None:
    lock = approved_after(review(OLD, NEW, ["new"]))
    assert [each.key for each in drift(lock, NEW)] == ["tool/echo", "tool/gone"]


def test_a_digest_is_that_of_what_is_shown_and_of_nothing_else() -> None:
    digests = {
        review(OLD, NEW).digest,
        review(OLD, NEW, ["new"]).digest,
        review(OLD, NEW, ["echo"]).digest,
        review(OLD, NEW, ["echo", "gone", "new"]).digest,  # takes the one that is gone out
        review(None, NEW).digest,
        review(NEW, OLD).digest,
        review(OLD, lock_of(tool("echo", "Does more!"), tool("new"))).digest,
        review(lock_of(tool("echo", "Did."), tool("gone")), NEW).digest,
        review(OLD, msgspec.structs.replace(NEW, kinds=(ItemKind.TOOL, ItemKind.PROMPT))).digest,
    }
    assert len(digests) == 9
    assert review(OLD, NEW).digest == review(OLD, NEW).digest
    assert SHORT_DIGEST * 4 >= 128  # a birthday halves it


def test_what_was_rejected_waits_no_more_and_is_not_approved() -> None:
    lock = rejected_after(review(OLD, NEW, ["new"]))
    assert [each.key for each in review(lock, NEW).drifts] == ["tool/echo", "tool/gone"]
    assert waits(lock, NEW) == 1
    assert rejected_of(lock, NEW) == ("tool/new",)
    assert not approved_after(review(lock, NEW)).approves(*form("tool/new"))
    lock = rejected_after(review(OLD, NEW))
    assert waits(lock, NEW) == 0
    assert lock.items == OLD.items, "what was approved of them stays"


def test_what_was_rejected_is_approved_when_it_is_named_and_asked_about_when_it_changes() -> None:
    lock = rejected_after(review(None, NEW))
    assert review(lock, NEW).drifts == ()
    changed = lock_of(tool("echo", "Does much more."), tool("new"))
    assert [each.key for each in review(lock, changed).drifts] == ["tool/echo"]
    lock = approved_after(review(lock, NEW, ["echo"]))
    assert lock.approves(*form("tool/echo"))
    assert not lock.approves(*form("tool/new"))
    assert set(lock.rejected) == {"tool/new"}


def test_what_was_approved_is_taken_back_when_it_is_named_to_be_rejected() -> None:
    for seen in (NEW, Lock(name="fs")):
        shown = review_to_reject(NEW, seen, ["tool/echo"])
        assert [(each.key, each.change) for each in shown.drifts] == [
            ("tool/echo", Change.UNCHANGED)
        ]
        lock = rejected_after(shown)
        assert set(lock.items) == {"tool/new"}
        assert waits(lock, NEW) == 0
        assert review(lock, NEW).drifts == ()
    assert review_to_reject(NEW, NEW).drifts == (), "nothing is taken back by saying no to all"


def test_to_reject_a_change_is_not_to_take_back_what_was_approved() -> None:
    lock = rejected_after(review_to_reject(OLD, NEW, ["echo"]))
    assert lock.items["tool/echo"] == OLD.items["tool/echo"]
    again = review_to_reject(lock, NEW, ["echo"])
    assert [each.change for each in again.drifts] == [Change.UNCHANGED]
    assert "tool/echo" not in rejected_after(again).items


def test_each_form_of_an_item_is_taken_back() -> None:
    lock = both(lock_of(tool("echo")), lock_of(tool("echo", "Modern."), era="modern"))
    taken = rejected_after(review_to_reject(lock, lock, ["echo"]))
    assert taken.items == {}
    assert len(taken.rejected["tool/echo"]) == 2
    gone = rejected_after(review_to_reject(lock, Lock(name="fs", kinds=lock.kinds), ["echo"]))
    assert gone.items == {}
    assert len(gone.rejected["tool/echo"]) == 2


def test_what_is_only_gone_is_rejected_when_it_is_named() -> None:
    seen = lock_of(tool("echo"))
    assert review_to_reject(OLD, seen).turned_down == ()
    assert rejected_after(review_to_reject(OLD, seen)).items == OLD.items
    assert set(rejected_after(review_to_reject(OLD, seen, ["gone"])).items) == {"tool/echo"}


@pytest.mark.parametrize("name", ["tool/other", "", "ech"])
def test_a_name_of_nothing_is_not_passed_over_by_a_no_either(name: str) -> None:
    with pytest.raises(UnknownItemError):
        review_to_reject(OLD, NEW, ["echo", name])


def test_a_rejected_resource_does_not_become_free_when_the_others_are_approved() -> None:
    seen = resources_of("file:///a", "file:///evil")
    lock = rejected_after(review(None, seen, ["file:///evil"]))
    lock = approved_after(review(lock, seen))
    assert lock.kinds == (ItemKind.RESOURCE,), "each was answered for"
    assert [each.key for each in drift(lock, seen)] == ["resource/file:///evil"]
    assert review(lock, resources_of("file:///b")).drifts == ()


def test_what_is_only_gone_waits_for_nobody() -> None:
    assert waits(OLD, lock_of(tool("echo"))) == 0
    assert waits(OLD, NEW) == 2
    assert waits(None, None) == 0


def test_what_two_eras_show_is_one_review_and_both_are_approved() -> None:
    legacy, modern = lock_of(tool("echo")), lock_of(tool("echo", "Modern."), era="modern")
    seen = both(legacy, modern)
    shown = review(None, seen)
    assert [each.key for each in shown.drifts] == ["tool/echo", "tool/echo"]
    lock = approved_after(shown)
    assert drift(lock, legacy) == drift(lock, modern) == ()
    changed = both(legacy, lock_of(tool("echo", "Evil."), era="modern"))
    (found,) = review(lock, changed).drifts
    assert found.seen is not None
    assert found.seen.era == "modern"


def test_a_change_in_one_era_alone_keeps_the_kind_unsettled() -> None:
    seen = both(lock_of(tool("echo")), lock_of(tool("other"), era="modern"))
    assert approved_after(review(None, seen, ["echo"])).kinds == ()


def test_a_lock_for_others_says_nothing_of_this_machine() -> None:
    launch = pin(ItemKind.LAUNCH, {"argv": ["/home/me/server"]}, "")
    lock = with_launch(OLD, "launch/command", launch)
    assert ItemKind.LAUNCH in lock.kinds
    assert without_launch(lock) == OLD
    changed = [each for each in drift(OLD, NEW) if each.seen is not None]
    assert without_launch(reject(lock, "fs", changed)) == OLD


def test_what_is_started_now_goes_before_what_was() -> None:
    first, second = (pin(ItemKind.LAUNCH, {"argv": [word]}, "") for word in "ab")
    lock = with_launch(with_launch(OLD, "launch/command", first), "launch/command", second)
    assert lock.items["launch/command"] == (second,)
    assert lock.kinds.count(ItemKind.LAUNCH) == 1


def offering(*capabilities: str, kinds: tuple[ItemKind, ...]) -> Lock:
    """What was seen of a server that offers something, and the kinds it listed whole."""
    said = pin(ItemKind.SERVER, {each: {} for each in capabilities}, "legacy")
    items: dict[str, tuple[Pin, ...]] = {"server/capabilities": (said,)} if capabilities else {}
    return Lock(name="fs", kinds=kinds, items=items)


LISTS = (ItemKind.TOOL, ItemKind.PROMPT, ItemKind.TEMPLATE, ItemKind.RESOURCE)


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        (offering("tools", kinds=(ItemKind.TOOL,)), False),
        (offering("tools", "logging", kinds=()), True),
        (offering("tools", "prompts", kinds=(ItemKind.TOOL,)), True),
        (offering("resources", kinds=(ItemKind.RESOURCE,)), True),
        (offering("resources", kinds=(ItemKind.RESOURCE, ItemKind.TEMPLATE)), False),
        (offering(kinds=(ItemKind.TOOL,)), True),
        (offering(kinds=LISTS), False),
        (offering("logging", kinds=()), False),
    ],
)
def test_a_run_saw_a_part_where_something_offered_was_not_listed(
    seen: Lock, expected: bool
) -> None:
    assert is_part(seen, None) is expected
    assert not is_part(seen, Lock(name="fs", kinds=LISTS))


def test_a_run_saw_a_part_where_it_was_offered_in_one_of_two_eras() -> None:
    one, other = (offering(*each, kinds=()) for each in (("tools",), ("logging",)))
    seen = both(one, msgspec.structs.replace(other, items=_as_modern(other)))
    assert len(seen.items["server/capabilities"]) == 2
    assert is_part(seen, None)


def _as_modern(lock: Lock) -> dict[str, tuple[Pin, ...]]:
    return {
        key: tuple(pin(ItemKind.SERVER, each.value, "modern") for each in pins)
        for key, pins in lock.items.items()
    }


def test_only_what_one_client_was_listed_in_several_forms_stands_twice() -> None:
    once = both(lock_of(tool("echo")), lock_of(tool("echo", "Modern."), era="modern"))
    assert listed_twice(once) == ()
    assert listed_twice(both(once, lock_of(tool("echo", "Evil."), era="modern"))) == ("tool/echo",)


def test_a_run_that_was_refused_saw_enough() -> None:
    one, other = (pin(ItemKind.LAUNCH, {"argv": [word]}, "") for word in "ab")
    approved = Lock(name="fs", items={"launch/command": (one,)})
    assert not is_part(Lock(name="fs", items={"launch/command": (other,)}), approved)
    assert is_part(Lock(name="fs", items={"launch/command": (one,)}), approved)
