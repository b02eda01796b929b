"""Laws of the lock: canonical JSON has one form for one value, and approvals end all drift."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_jail.core.approved.lock import (
    Change,
    ItemKind,
    Lock,
    Pin,
    approve,
    canonical,
    catalogue_digest,
    drift,
    key_of,
    pin,
    read_lock,
    write_lock,
)

# What the wire lets through: integers of 64 bits, finite floats, text without lone surrogates.
integers = st.integers(-(2**63), 2**64 - 1)
floats = st.floats(allow_nan=False, allow_infinity=False)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
values = st.recursive(
    st.none() | st.booleans() | integers | floats | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
kinds = st.sampled_from(list(ItemKind))


def form(value: Any) -> Any:
    """The value as types and values that Python tells apart, however it compares them."""
    if isinstance(value, dict):
        return ("object", frozenset((key, form(inner)) for key, inner in value.items()))
    if isinstance(value, list):
        return ("array", tuple(form(inner) for inner in value))
    return (type(value).__name__, repr(value))


@given(values, values)
def test_two_values_have_one_form_only_if_they_are_the_same(one: Any, other: Any) -> None:
    assert (canonical(one) == canonical(other)) is (form(one) == form(other))


@given(values)
def test_the_form_is_json_of_the_same_value(value: Any) -> None:
    assert form(msgspec.json.decode(canonical(value))) == form(value)
    assert b"\n" not in canonical(value)


@given(st.dictionaries(texts, integers, max_size=6), st.randoms())
def test_keys_are_sorted_by_code_point_whatever_their_order(value: Any, random: Any) -> None:
    keys = list(value)
    random.shuffle(keys)
    text = canonical({key: value[key] for key in keys})
    assert text == canonical(value)
    assert list(msgspec.json.decode(text)) == sorted(value)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        (b'{"b":1,"a":{"d":[2,1],"c":null}}', b'{"a":{"c":null,"d":[2,1]},"b":1}'),
        (b'{"\\ud83d\\ude00":1,"\\uffff":2}', '{"\uffff":2,"\U0001f600":1}'.encode()),
        (b'{"A":1,"a":2,"":3}', b'{"":3,"A":1,"a":2}'),
        (b'"\\u0041\\/\\u00e9e\\u0301"', '"A/\u00e9e\u0301"'.encode()),
        (b"18446744073709551615", b"18446744073709551615"),
        (b"-9223372036854775808", b"-9223372036854775808"),
        (b"9007199254740993", b"9007199254740993"),
        (b'[1, 1.0, 1e0, true, "1"]', b'[1,1.0,1.0,true,"1"]'),
        (b"[0, -0.0, 0.0]", b"[0,-0.0,0.0]"),
        (b"[0.1, 1e21, 1E-7]", b"[0.1,1e21,1e-7]"),
        (b'"\\t\\u0000\\u2028"', '"\\t\\u0000\u2028"'.encode()),
    ],
)
def test_the_canonical_form_is(text: bytes, form: bytes) -> None:
    assert canonical(msgspec.json.decode(text)) == form


items = st.dictionaries(
    st.tuples(kinds, texts), st.dictionaries(texts, values, max_size=3), max_size=5
)


def lock_of(items: dict[tuple[ItemKind, str], Any], whole: tuple[ItemKind, ...]) -> Lock:
    pins: dict[str, tuple[Pin, ...]] = {
        key_of(kind, name): (pin(kind, value, "e"),) for (kind, name), value in items.items()
    }
    return Lock(name="x", kinds=whole, items=pins)


wholes = st.lists(kinds, unique=True).map(tuple)
locks = st.builds(lock_of, items, wholes)


@given(locks, locks)
def test_after_an_approval_of_all_nothing_that_was_seen_differs(old: Lock, seen: Lock) -> None:
    assert {each.change for each in drift(approve(old, seen), seen)} <= {Change.REMOVED}


@given(locks, locks, st.data())
def test_an_approval_changes_only_what_was_named(
    old: Lock, seen: Lock, data: st.DataObject
) -> None:
    found = [each.key for each in drift(old, seen)]
    named = frozenset(data.draw(st.sets(st.sampled_from(found)))) if found else frozenset()
    lock = approve(old, seen, named)
    for key in {*old.items, *seen.items} - named:
        assert lock.items.get(key) == old.items.get(key)
    assert {each.key for each in drift(lock, seen)} <= set(found) - named


@given(locks)
def test_a_lock_file_is_read_as_it_was_written(lock: Lock) -> None:
    again = read_lock(write_lock(lock))
    assert write_lock(again) == write_lock(lock)
    assert catalogue_digest(again) == catalogue_digest(lock)
