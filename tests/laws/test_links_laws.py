"""Laws of links: nothing denied is left, nothing else is touched, and texts stay few."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mcp_jail.core.conversation.links import (
    LEFT_OUT_LIMIT,
    without_denied_contents,
    without_denied_links,
    without_denied_messages,
)
from mcp_jail.core.text.hidden import has_hidden

uris = st.sampled_from(
    ["file:///x", "https://a.example", "javascript:x", "da\tta:x", "note:1", ""]
) | st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
scalars = st.none() | st.integers() | uris
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(uris, inner, max_size=3),
    max_leaves=6,
)
resources = st.fixed_dictionaries({"uri": uris | values}, optional={"text": uris, "URI": uris})
blocks = st.one_of(
    st.fixed_dictionaries({"type": st.just("text"), "text": uris}),
    st.builds(lambda resource: {"type": "resource_link"} | resource, resources),
    st.fixed_dictionaries({"type": st.just("resource"), "resource": resources | values}),
    values,
)
messages = st.fixed_dictionaries({"role": uris | st.just("user"), "content": blocks | values})
LISTS = {
    without_denied_links: blocks,
    without_denied_contents: resources | values,
    without_denied_messages: messages | values,
}
lists = st.sampled_from([*LISTS]).flatmap(
    lambda cut: st.tuples(st.just(cut), st.lists(LISTS[cut], max_size=40))
)


@given(lists, st.frozensets(st.sampled_from(["file:///x", "note:1", ""])))
def test_what_is_kept_is_untouched_in_its_order_and_allowed(
    case: tuple[Any, list[Any]], denied: frozenset[str]
) -> None:
    cut, items = case
    new, notes = cut(items, denied.__contains__)
    assert (new is items) == (not notes)
    given_ids = [id(item) for item in items]
    kept = [id(item) for item in new if id(item) in set(given_ids)]
    rest = iter(given_ids)
    assert all(item in rest for item in kept), "in the order they had"
    added = len(new) - len(kept)
    assert added == len(notes) <= LEFT_OUT_LIMIT + 1
    assert cut(new, denied.__contains__) == (new, ()), "nothing is left to cut"
    assert not any(map(has_hidden, notes))


@given(lists)
def test_nothing_with_a_uri_is_left_where_all_are_denied(case: tuple[Any, list[Any]]) -> None:
    cut, items = case
    new, _ = cut(items, lambda uri: uri != "mcp-jail:left-out")
    for item in new:
        block = item.get("content", item)
        assert block.get("type", "text") in {"text", "image", "audio"}
        assert block.get("uri", "mcp-jail:left-out") == "mcp-jail:left-out" or block.get("type")
