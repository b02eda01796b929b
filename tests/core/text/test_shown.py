"""Words as a person sees them who is asked about them: two texts that differ look different."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_jail.core.text.shown import exact, name_shown, unmistakable

ODD = st.text(st.sampled_from('a \n\t\xa0\u3000\u200b\u202e⟦⟧U+0123456789ABCDEF\u2800"\\'))


@given(ODD, ODD)
def test_two_texts_that_differ_are_shown_differently(one: str, other: str) -> None:
    assert (unmistakable(one) == unmistakable(other)) is (one == other)
    assert (exact(one) == exact(other)) is (one == other)


@given(ODD, ODD)
def test_two_names_that_differ_are_shown_differently(one: str, other: str) -> None:
    assert (name_shown(one) == name_shown(other)) is (one == other)


@pytest.mark.parametrize("name", ["read_file", "a.b/c:d@e-f", "x" * 64])
def test_a_plain_name_is_shown_as_it_is(name: str) -> None:
    assert name_shown(name) == name


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("read file", '"read file"'),
        ("", '""'),
        ("x" * 65, '"{}"'.format("x" * 65)),
        ('a"b\\c', '"a\\"b\\\\c"'),
        ("a\nb", '"a⟦U+000A⟧b"'),
    ],
)
def test_any_other_name_is_quoted_on_one_line(name: str, shown: str) -> None:
    assert name_shown(name) == shown


def test_lines_of_a_text_stay_lines_and_plain_text_is_left_alone() -> None:
    assert unmistakable("a b\n  c") == "a b\n  c"
    assert unmistakable("a\xa0b") == "a⟦U+00A0⟧b"
