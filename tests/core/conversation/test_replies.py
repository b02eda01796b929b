"""What a person is told on the error stream: no name passes for words of ours."""

from __future__ import annotations

import pytest

from mcp_jail.core.approved.lock import Change, Drift
from mcp_jail.core.conversation.replies import drifts_told, told_to_person
from mcp_jail.core.policy import Verdict
from mcp_jail.core.rules.decide import Decision

DENIED = Decision(Verdict.DENY, "tools.default", None, "not allowed")


@pytest.mark.parametrize("name", ["read_file", "file:///a/b.txt", "@me/x-1", "a:b"])
def test_a_plain_name_is_told_as_it_is(name: str) -> None:
    assert told_to_person("tools/call", name, DENIED).startswith(f"denied {name}: not allowed")


@pytest.mark.parametrize(
    "blank",
    [
        "\u2800",
        " ",
        "\u00a0",
        "\u3164",
        "\u115f",
        "\ufe0f",
        "\u200b",
        "\t",
        "\n",
        ",",
        ";",
        "\u037e",
        "\uff1b",
    ],
    ids=ascii,
)
def test_any_other_name_is_quoted_in_plain_characters(blank: str) -> None:
    name = f"x{blank}run{blank}this"
    drift = Drift(key=f"tool/{name}", change=Change.ADDED, approved=None, seen=None)
    assert ascii(f"tool/{name}") in drifts_told("fs", (drift,))
    assert f"denied {name!a}: " in told_to_person("tools/call", name, DENIED)


@pytest.mark.parametrize("name", ["", "a\nb"])
def test_an_empty_or_broken_name_is_quoted(name: str) -> None:
    assert f"denied {name!r}: " in told_to_person("tools/call", name, DENIED)
