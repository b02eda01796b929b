"""Laws of elicitation: nothing raises, what passes is flat and readable, answers carry no more."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from hypothesis import example, given
from hypothesis import strategies as st

from mcp_jail.core.conversation.elicitation import (
    fault_of_answer,
    fault_of_form,
    fault_of_url,
    shown_host,
)
from mcp_jail.core.text.hidden import has_hidden

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
names = st.text("abcxyz_", min_size=1, max_size=6)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | words
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=8,
)


def fields_of(text: st.SearchStrategy[str]) -> st.SearchStrategy[dict[str, Any]]:
    """Fields of every kind with such texts in them."""
    choices = st.lists(text, min_size=1, max_size=3)
    titled = st.lists(st.fixed_dictionaries({"const": text, "title": text}), min_size=1, max_size=3)
    kinds = st.one_of(
        st.just({"type": "string"}),
        st.fixed_dictionaries({"type": st.sampled_from(["integer", "number", "boolean"])}),
        st.fixed_dictionaries({"type": st.just("string"), "enum": choices}),
        st.fixed_dictionaries({"type": st.just("string"), "oneOf": titled}),
        st.builds(
            lambda enum: {"type": "array", "items": {"type": "string", "enum": enum}}, choices
        ),
        st.builds(lambda any_of: {"type": "array", "items": {"anyOf": any_of}}, titled),
    )
    labels = st.fixed_dictionaries({}, optional={"title": text, "description": text})
    return st.builds(lambda kind, label: kind | label, kinds, labels)


members = {
    "mode": st.sampled_from(["form", "url"]) | values,
    "message": words | values,
    "requestedSchema": st.fixed_dictionaries(
        {
            "type": st.just("object"),
            "properties": st.dictionaries(words, fields_of(words) | values),
        },
        optional={"required": st.lists(words) | values, "title": words | values},
    )
    | values,
    "url": words.map(lambda text: f"https://{text}") | values,
    "elicitationId": words | values,
    "_meta": values,
}
params = st.fixed_dictionaries({}, optional=members)
honest = st.builds(
    lambda message, properties: {
        "message": f"Choose {message}",
        "requestedSchema": {"type": "object", "properties": properties},
    },
    names | words,
    st.dictionaries(names, fields_of(names) | fields_of(words), max_size=4),
).filter(lambda asked: fault_of_form(asked) is None)
authorities = st.lists(
    st.sampled_from(
        "a A1 b-c com local xn--a 127 0x7f 1 . . . - : :80 :443 @ [ ] [::1] / \\\\ ? # %".split()
    )
    | st.sampled_from("\t é 。 _ ;".split(" ")),
    max_size=8,
).map("".join)


@given(params)
def test_nothing_makes_the_checks_raise(asked: dict[str, Any]) -> None:
    for fault in (fault_of_form(asked), fault_of_url(asked)):
        assert fault is None or fault


@given(params)
def test_a_form_is_no_url_and_a_url_no_form(asked: dict[str, Any]) -> None:
    assert fault_of_form(asked) or fault_of_url(asked)


@given(honest)
def test_what_passes_is_flat_and_hides_nothing(asked: dict[str, Any]) -> None:
    for name, field in asked["requestedSchema"]["properties"].items():
        assert field["type"] in {"string", "integer", "number", "boolean", "array"}
        assert "properties" not in field
        assert not has_hidden(name + str(field.get("title")) + str(field.get("description")))


@given(honest, st.dictionaries(words, values, max_size=4), st.data())
def test_an_answer_holds_only_what_was_asked_for(
    asked: dict[str, Any], more: dict[str, Any], data: st.DataObject
) -> None:
    properties = asked["requestedSchema"]["properties"]
    own = st.dictionaries(st.sampled_from([*properties, "x"]), values | st.lists(words))
    content = more | data.draw(own)
    if fault_of_answer(asked, {"action": "accept", "content": content}) is None:
        assert content.keys() <= properties.keys()
        assert not any(isinstance(value, dict) for value in content.values())
    if content:
        assert fault_of_answer(asked, {"action": "decline", "content": content})


@given(authorities)
@example("a.com")
@example("a.b.com:444/@x")
def test_the_host_that_is_shown_is_where_other_parsers_go(authority: str) -> None:
    url = f"https://{authority}"
    asked = {"mode": "url", "message": "Sign in", "url": url}
    if fault_of_url(asked) is None:
        split = urlsplit(url)
        assert split.username is None
        host = (split.hostname or "").removesuffix(".")
        assert shown_host(url) == host + (f":{split.port}" if split.port not in {None, 443} else "")
        assert "." in host
        assert not host.rpartition(".")[2].isdigit()
