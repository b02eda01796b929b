"""What is kept of a server's words for a review, and how much of it."""

from __future__ import annotations

from mcp_jail.core.approved.lock import ItemKind, Pin
from mcp_jail.core.approved.seen import FORMS_LIMIT, SEEN_BYTES_LIMIT, SEEN_LIMIT, Seen


def form(number: int) -> Pin:
    return Pin(f"digest-{number}", "legacy", {"name": "t", "number": number})


def digests(seen: Seen, key: str = "tool/t") -> list[str]:
    return [each.digest for each in seen.lock.items.get(key, ())]


def test_the_last_word_about_an_item_is_kept() -> None:
    seen = Seen("fs")
    for number in (1, 2):
        assert seen.keep("tool/t", form(number), 10, is_twice=False)
    assert digests(seen) == ["digest-2"]


def test_of_an_item_that_is_listed_twice_each_form_is_kept_once() -> None:
    seen = Seen("fs")
    seen.keep("tool/t", form(1), 10, is_twice=False)
    for number in (2, 1, 2):
        assert seen.keep("tool/t", form(number), 10, is_twice=True)
    assert digests(seen) == ["digest-1", "digest-2"]


def test_forms_are_kept_to_a_limit() -> None:
    seen = Seen("fs")
    kept = [seen.keep("tool/t", form(number), 1, is_twice=number > 0) for number in range(20)]
    assert kept == [True] * FORMS_LIMIT + [False] * (20 - FORMS_LIMIT)
    assert len(digests(seen)) == FORMS_LIMIT


def test_bytes_are_counted_by_form_and_given_back() -> None:
    seen = Seen("fs")
    half = SEEN_BYTES_LIMIT // 2
    assert seen.keep("tool/t", form(1), half, is_twice=False)
    assert seen.keep("tool/t", form(2), half, is_twice=True)
    assert not seen.keep("tool/u", form(3), 1, is_twice=False)
    assert seen.keep("tool/t", form(4), half, is_twice=False), "in the place of both"
    assert seen.keep("tool/u", form(3), half, is_twice=False)
    assert not seen.keep("tool/t", form(1), half + 1, is_twice=False)
    assert digests(seen) == ["digest-4"]
    assert seen.end_listing(ItemKind.TOOL, {"u": ""})
    assert digests(seen) == []
    assert seen.keep("tool/v", form(5), half, is_twice=False)


def test_items_are_kept_to_a_limit() -> None:
    seen = Seen("fs")
    for number in range(SEEN_LIMIT):
        seen.keep(f"tool/{number}", form(number), 1, is_twice=False)
    assert not seen.keep("tool/more", form(0), 1, is_twice=False)
    assert seen.keep("tool/0", form(1), 1, is_twice=False)


def test_a_listing_is_whole_until_the_kind_is_forgotten() -> None:
    seen = Seen("fs")
    assert seen.end_listing(ItemKind.TOOL, {})
    assert not seen.end_listing(ItemKind.TOOL, {})
    assert seen.is_whole(ItemKind.TOOL)
    seen.forget(ItemKind.TOOL)
    assert not seen.is_whole(ItemKind.TOOL)
    assert seen.end_listing(ItemKind.TOOL, {})


def test_the_end_of_a_listing_takes_nothing_of_another_kind() -> None:
    seen = Seen("fs")
    seen.keep("tool/t", form(1), 1, is_twice=False)
    seen.keep("prompt/t", form(1), 1, is_twice=False)
    seen.end_listing(ItemKind.TOOL, {})
    assert set(seen.lock.items) == {"prompt/t"}
