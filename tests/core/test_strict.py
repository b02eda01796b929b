"""Checks of a whole line, at their edges."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_jail.core import strict
from mcp_jail.core.strict import DEPTH_LIMIT, is_too_deep, is_utf8, written_members


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


@pytest.mark.parametrize(
    ("line", "count"),
    [(b"{}", 0), (b'{"a":1,"b":{"c":2}}', 3), (b'{"a:b":":\\":"}', 1), (b'["a:b"]', 0)],
)
def test_members_are_counted_outside_strings(line: bytes, count: int) -> None:
    assert written_members(line) == count
