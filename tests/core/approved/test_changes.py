"""Which members of an item changed, by their paths."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_jail.core.approved.changes import MEMBERS_NAMED, PATH_LENGTH, changed_members
from mcp_jail.core.approved.lock import Change, Drift, Pin


def changed(old: Any, new: Any) -> tuple[str, ...]:
    pins = (Pin("", "legacy", value) for value in (old, new))
    return changed_members(Drift("tool/t", Change.CHANGED, *pins))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ({"a": 1, "b": 2}, {"a": 1, "b": 3}, ("b",)),
        ({"a": {"b": {"c": 1, "d": 1}}}, {"a": {"b": {"c": 2, "d": 1}}}, ("a.b.c",)),
        ({"a": {"b": 1}}, {"a": {}}, ("a.b",)),
        ({}, {"a": {"b": 1}}, ("a",)),
        ({"a": {"b": 1}}, {"a": 1}, ("a",)),
        ({"a": [{"b": 1}]}, {"a": [{"b": 2}]}, ("a",)),
        ({"a": 1}, {"a": 1.0}, ("a",)),
        ({"z": 1, "b": 1}, {"z": 2, "b": 2}, ("b", "z")),
        ("old", "new", ("",)),
        ({"a": {"b": 1}}, {"a": {"b": 1}}, ()),
    ],
)
def test_what_is_other_come_or_gone_is_named_by_its_path(
    old: Any, new: Any, expected: tuple[str, ...]
) -> None:
    assert changed(old, new) == expected


def test_what_is_new_or_gone_as_a_whole_names_no_member() -> None:
    pin = Pin("", "legacy", {"a": 1})
    assert changed_members(Drift("tool/t", Change.ADDED, None, pin)) == ()
    assert changed_members(Drift("tool/t", Change.REMOVED, pin, None)) == ()


def test_not_more_is_named_than_somebody_reads() -> None:
    many = {str(number): number for number in range(100)}
    assert len(changed({}, many)) == MEMBERS_NAMED
    assert len(changed({}, {"x" * 10_000: 1})[0]) == PATH_LENGTH
