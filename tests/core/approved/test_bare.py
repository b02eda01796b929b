"""What passes of a resource that nobody approved."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_jail.core.approved.bare import bare_resource


def test_place_name_type_and_size_pass_and_no_word_about_it() -> None:
    told = {"uri": "file:///a", "name": "a", "mimeType": "text/plain", "size": 3}
    said = {"title": "EVIL", "description": "EVIL", "_meta": {"x": "EVIL"}, "icons": ["EVIL"]}
    assert bare_resource(told | said | {"annotations": {"audience": ["EVIL"]}}) == told


@pytest.mark.parametrize("odd", ["EVIL words", "text/plain; EVIL", "", 1, ["text/plain"]])
def test_a_type_that_is_none_does_not_pass(odd: Any) -> None:
    assert bare_resource({"uri": "a", "mimeType": odd}) == {"uri": "a"}


@pytest.mark.parametrize("odd", ["EVIL", 1.5, True, {"x": "EVIL"}])
def test_a_size_that_is_no_number_does_not_pass(odd: Any) -> None:
    assert bare_resource({"uri": "a", "size": odd}) == {"uri": "a"}
