"""Checks of a whole line, at their edges."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_jail.core.protocol import strict
from mcp_jail.core.protocol.strict import (
    DEPTH_LIMIT,
    has_huge_number,
    is_too_deep,
    is_utf8,
    written_members,
)


@given(st.binary(max_size=40), st.integers(1, 8))
def test_a_line_looked_at_in_pieces_is_judged_as_a_whole(line: bytes, piece: int) -> None:
    try:
        line.decode()
        valid = True
    except UnicodeDecodeError:
        valid = False
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(strict, "_PIECE", piece + 3)  # a piece holds any one character
        assert is_utf8(line) == valid


@given(st.text(max_size=40))
def test_text_is_never_cut_inside_a_character(text: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(strict, "_PIECE", 4)
        assert is_utf8(text.encode("utf-8", "replace"))


@pytest.mark.parametrize(
    ("line", "deep"),
    [
        (b"[" * DEPTH_LIMIT + b"]" * DEPTH_LIMIT, False),
        (b"[" * (DEPTH_LIMIT + 1) + b"]" * (DEPTH_LIMIT + 1), True),
        (b'{"a":' * DEPTH_LIMIT + b"1" + b"}" * DEPTH_LIMIT, False),
        (b'[{"a":' * 51 + b"1" + b"}]" * 51, True),
        (b"[" + b",".join([b"[]"] * 5000) + b"]", False),
        (b'["' + b"[" * 500 + b'"]', False),
        (b'["\\"' + b"{" * 500 + b'\\\\"]', False),
    ],
)
def test_depth_is_counted_outside_strings(line: bytes, *, deep: bool) -> None:
    assert is_too_deep(line) == deep


pieces = st.sampled_from(['"', "\\", "[", "]", "{", "}", "a", "\u00e9", "\n"])
nests = st.recursive(
    st.lists(pieces, max_size=12).map("".join),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.lists(pieces, max_size=4).map("".join), inner, max_size=3)
    ),
)


@given(st.lists(nests, max_size=3), st.integers(0, 8), st.sampled_from([None, 1]))
def test_depth_is_what_a_walk_through_the_value_finds(
    value: list[Any], limit: int, indent: int | None
) -> None:
    line = json.dumps(value, indent=indent).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(strict, "DEPTH_LIMIT", limit)
        assert is_too_deep(line) == (depth_of(value) > limit)


@given(st.lists(nests, max_size=3), st.sampled_from([None, 1]))
def test_members_are_as_many_as_a_walk_through_the_value_finds(
    value: list[Any], indent: int | None
) -> None:
    line = json.dumps(value, indent=indent).encode()
    assert written_members(line) == members_of(value)


@given(st.lists(nests | st.integers(0, 10**4), max_size=4))
def test_a_long_number_is_seen_outside_strings_only(value: list[Any]) -> None:
    digits = "7" * 309
    line = json.dumps([*value, digits, value]).encode()
    assert not has_huge_number(line)
    assert has_huge_number(line.replace(b'"%b"' % digits.encode(), digits.encode()))


def members_of(value: Any) -> int:
    if not isinstance(value, dict | list):
        return 0
    inner = value.values() if isinstance(value, dict) else value
    return (len(value) if isinstance(value, dict) else 0) + sum(map(members_of, inner))


def depth_of(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value
    if not isinstance(value, dict | list):
        return 0
    return 1 + max(map(depth_of, inner), default=0)


@pytest.mark.parametrize(
    ("line", "count"),
    [(b"{}", 0), (b'{"a":1,"b":{"c":2}}', 3), (b'{"a:b":":\\":"}', 1), (b'["a:b"]', 0)],
)
def test_members_are_counted_outside_strings(line: bytes, count: int) -> None:
    assert written_members(line) == count
