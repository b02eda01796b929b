"""What is told of a server that runs by another policy than the one that is written."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_jail.cli.running_rows import differences


@pytest.mark.parametrize(
    "status",
    [{}, {"restart": [], "policy_refused": ""}, {"restart": "network", "policy_refused": 5}],
)
def test_nothing_is_told_where_nothing_differs(status: dict[str, Any]) -> None:
    assert differences(status) == []


def test_what_needs_a_new_start_and_what_was_refused_are_told_with_nothing_that_acts() -> None:
    restart, refused = differences(
        {"restart": ["network", "limits\x1b[2J"], "policy_refused": "no\nsuch key"}
    )
    assert restart.startswith("started before a change of network, limits\\u{1b}[2J: ")
    assert refused.endswith("the change was refused: no\\u{a}such key")
