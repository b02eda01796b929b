"""An A-label is given where both standards make the same one, and nowhere else."""

from __future__ import annotations

import idna
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_jail.core.rules.hosts import canonical_host
from mcp_jail.core.rules.international import a_labels


@pytest.mark.parametrize(
    ("name", "ascii_name"),
    [
        ("münchen.example", "xn--mnchen-3ya.example"),
        ("MÜNCHEN.Example.", "xn--mnchen-3ya.example"),
        ("bücher.de", "xn--bcher-kva.de"),
        ("例え.テスト", "xn--r8jz45g.xn--zckzah"),
        ("пример.рф", "xn--e1afmkfd.xn--p1ai"),
        ("παράδειγμα.gr", "xn--hxajbheg2az3al.gr"),
        ("한국.kr", "xn--3e0b707e.kr"),
        ("plain.example", "plain.example"),
    ],
)
def test_a_name_that_both_standards_take_as_it_is_has_one(name: str, ascii_name: str) -> None:
    assert a_labels(name) == ascii_name


@pytest.mark.parametrize(
    "name",
    [
        "straße.de",  # ss in 2003
        "νίκος.gr",  # another sigma in 2003
        "क्\u200dष.example",  # a joiner, gone in 2003
        "☃.example",  # a letter in 2003 only
        "münchen。example",  # another dot
        "\uff47\uff4f\uff4f\uff44.com",  # becomes good.com
        "ﬁ.example",
        "mu\u0308nchen.example",  # composed by 2003, refused by 2008
        "\u0308a.example",
        "ab--ü.example",
        "-ü.example",
        "ü..example",
        ".ü",
        "אבג.example",  # from right to left
        "l·l.example",  # by its context in 2008
        "٣ü.example",
        "ꙮ.example",  # younger than 2003
        "ü" * 70,
        "ü\u00ad.example",
        "ü b.example",
        "ü/.example",
        "",
    ],
    ids=ascii,
)
def test_one_on_which_they_differ_has_none(name: str) -> None:
    assert a_labels(name) is None


@given(st.text(st.characters(codec="utf-8"), min_size=1, max_size=12))
def test_what_is_given_is_what_the_younger_standard_gives(label: str) -> None:
    found = a_labels(label + ".example")
    if found is not None:
        assert found == idna.encode(label.lower() + ".example").decode()
        assert found == (label.lower() + ".example").encode("idna").decode()
        assert canonical_host(found) == found
