"""Laws of hidden characters: what was treated hides nothing, and what hides nothing is let be."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_jail.core.policy import Text
from mcp_jail.core.text.hidden import cleaned, has_hidden, marked, may_hide, stripped

# What is honest or not by what stands around it, so that random texts are often near the border.
PIECES = (
    *(
        "a",
        "1",
        "#",
        " ",
        "\n",
        "é",
        "中",
        "❤",
        "👩",
        "🏽",
        "ی",
        "خ",
        "क",
        "\u094d",
        "⟦",
        "U+200B⟧",
    ),
    *("\ufe0f", "\ufe0e", "\u200c", "\u200d", "\u20e3", "\u200b", "\u202e", "\x1b", "\x7f", "\r"),
    *("\U000e0041", "\U000e0020", "\U000e0100", "\U000e0150", "\ufe00", "\ud800", "\u3164", "\xad"),
)
texts = st.lists(st.sampled_from(PIECES) | st.characters(), max_size=30).map("".join)
encodable = texts.filter(lambda text: not any(0xD800 <= ord(char) <= 0xDFFF for char in text))
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False)
    | encodable,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(encodable, inner, max_size=4),
    max_leaves=12,
)


@given(texts)
def test_what_was_treated_hides_nothing_and_is_let_be(text: str) -> None:
    for treat in (marked, stripped):
        treated = treat(text)
        assert not has_hidden(treated)
        assert treat(treated) is treated
        assert (treated is text) == (not has_hidden(text))


@given(texts)
def test_stripping_only_takes_away(text: str) -> None:
    rest = iter(text)
    assert all(char in rest for char in stripped(text))


@given(texts)
def test_between_the_marks_stands_what_stripping_leaves(text: str) -> None:
    at = 0
    shown = marked(text)
    for char in stripped(text):
        at = shown.index(char, at) + 1


@given(values, st.sampled_from(Text))
def test_a_treated_value_hides_nothing_and_keeps_every_member(value: Any, mode: Text) -> None:
    new, count = cleaned(value, mode)
    assert shape(new) == shape(value)
    assert (new is value) == (count == 0)
    if mode is not Text.OFF:
        assert count == sum(map(has_hidden, strings(value)))
        assert not any(map(has_hidden, strings(new)))
        assert cleaned(new, mode) == (new, 0)


@given(values, st.sampled_from(Text))
def test_what_the_quick_check_lets_by_needs_no_treatment(value: Any, mode: Text) -> None:
    raw = msgspec.json.encode(value)
    assert may_hide(raw) == may_hide(memoryview(raw))
    if not may_hide(raw):
        assert cleaned(msgspec.json.decode(raw), mode)[1] == 0


@pytest.mark.parametrize("ascii_only", [True, False])
@given(text=encodable)
def test_the_quick_check_holds_for_any_writing_of_a_text(text: str, ascii_only: bool) -> None:
    escaped = "".join(
        f"\\u{unit:04x}" if ascii_only or unit < 0x20 or unit in (0x22, 0x5C) else chr(unit)
        for unit in units(text, whole=not ascii_only)
    )
    raw = b'"' + escaped.encode() + b'"'
    assert msgspec.json.decode(raw) == text
    assert may_hide(raw) or not has_hidden(text)


def units(text: str, *, whole: bool) -> list[int]:
    """Code points, or the UTF-16 units that JSON escapes are made of."""
    if whole:
        return [ord(char) for char in text]
    encoded = text.encode("utf-16-be")
    return [int.from_bytes(encoded[at : at + 2]) for at in range(0, len(encoded), 2)]


def strings(value: Any) -> list[str]:
    """Every text of a value, keys too."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, list):
        return [text for item in value for text in strings(item)]
    if isinstance(value, dict):
        return [*value, *(text for item in value.values() for text in strings(item))]
    return []


def shape(value: Any) -> Any:
    """A value without its texts."""
    if isinstance(value, list):
        return [shape(item) for item in value]
    if isinstance(value, dict):
        return {at: shape(item) for at, item in enumerate(value.values())}
    return "" if isinstance(value, str) else value
