"""JSON by spans: it reads what the standard library reads, and refuses what a client would."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_jail.clients.document import DocumentError, Items, Members, Node, plain
from mcp_jail.clients.json_spans import Extras, read_json

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=20,
)
layouts = st.sampled_from([None, 0, 2, 4, "\t"])


def nodes(node: Node) -> list[Node]:
    """A value and all values in it."""
    match node:
        case Items(items=items):
            return [node, *(deeper for item in items for deeper in nodes(item))]
        case Members(members=members):
            return [node, *(deeper for member in members for deeper in nodes(member.value))]
        case _:
            return [node]


@given(value=values, indent=layouts, ascii_only=st.booleans())
def test_it_reads_what_the_standard_library_reads(
    value: Any, indent: Any, ascii_only: bool
) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    assert plain(read_json(text, "f").root) == json.loads(text)


@given(value=values, indent=layouts)
def test_each_span_holds_its_value_and_nothing_else(value: Any, indent: Any) -> None:
    text = json.dumps(value, indent=indent)
    document = read_json(text, "f")
    for node in nodes(document.root):
        assert json.loads(document.raw(node)) == plain(node)


@given(text=st.text(st.sampled_from('{}[]",: \n\\/*0-1.eEtruefalsn\ufeffé\ud800'), max_size=30))
def test_what_it_takes_the_standard_library_takes_as_well(text: str) -> None:
    try:
        found = plain(read_json(text, "f").root)
    except DocumentError:
        return
    assert json.loads(text.removeprefix("\ufeff")) == found


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "the file is empty"),
        (" \n", "the file is empty"),
        ("{", "found the end of the file"),
        ('{"a": 1,}', "a comma after the last value"),
        ('{"a": 1} x', "'x' stands after the end"),
        ("{'a': 1}", "expected a string in double quotes"),
        ("{a: 1}", "expected a string in double quotes"),
        ('{"a" 1}', "expected ':'"),
        ('{"a": 1 "b": 2}', "expected ',' or '}'"),
        ("[1 2]", "expected ',' or ']'"),
        ('{"a": NaN}', "expected a value"),
        ('["a\nb"]', "expected a string"),
        ('// c\n{"a": 1}', "a comment, which this client does not read"),
        ("[" * 200, "nested deeper than 100"),
        ("[" + "1" * 5000 + "]", "too many digits"),
    ],
)
def test_what_is_no_json_is_refused_with_its_place(text: str, words: str) -> None:
    with pytest.raises(DocumentError, match=words) as refused:
        read_json(text, "f")
    assert refused.value.where is not None


def test_a_mistake_is_told_by_line_and_column() -> None:
    with pytest.raises(DocumentError) as refused:
        read_json('{\n  "a": 1\n  "b": 2\n}', "f")
    assert str(refused.value.where) == "f:3:3"


@pytest.mark.parametrize(
    ("text", "extras", "is_taken"),
    [
        ("{/* a */}", Extras.COMMENTS, True),
        ("[1, // a\n2]", Extras.COMMENTS, True),
        ("[1,]", Extras.COMMENTS, False),
        ("[1,]", Extras.ALL, True),
        ('{"a": [1,/**/],// x\n}', Extras.ALL, True),
        ("[,]", Extras.ALL, False),
        ("[1,,]", Extras.ALL, False),
        ("/* a", Extras.ALL, False),
        ("[1]/", Extras.ALL, False),
    ],
)
def test_a_client_says_which_extras_it_reads(text: str, extras: Extras, is_taken: bool) -> None:
    try:
        read_json(text, "f", extras)
    except DocumentError:
        assert not is_taken
    else:
        assert is_taken
