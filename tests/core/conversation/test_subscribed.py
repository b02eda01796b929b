"""What a subscription asks for goes to the server as it was judged, or not at all."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_jail.core.conversation.subscribed import filter_of
from mcp_jail.core.protocol import mcp
from plays import Play

DENYING = {"default": "allow", "rules": {"file:///etc/**": "deny"}}


@pytest.mark.parametrize(
    "wanted",
    [
        {"resourcesubscriptions": ["file:///etc/passwd"]},
        {"ResourceSubscriptions": ["file:///etc/passwd"]},
        {"resourceSubscriptions": "file:///etc/passwd"},
        {"resourceSubscriptions": [["file:///etc/passwd"]]},
        {"resourceSubscriptions": {"x": "file:///etc/passwd"}},
        {"resourceSubscriptions": ["x://a", "file:///etc/passwd"]},
        {"resourceSubscriptions": ["x://a"] * 1_001},
        {"resourceSubscriptions": ["x://a"], "x": {"uri": "file:///etc/passwd"}},
        {"taskIds": ["OTHER"]},
        {"taskIds": "OTHER"},
        {"toolsListChanged": "file:///etc/passwd"},
        {"toolsListChanged": 1},
        ["resourceSubscriptions"],
        "x",
        None,
    ],
)
def test_a_filter_that_is_not_known_through_and_through_reaches_no_server(wanted: Any) -> None:
    play = Play("modern", resources=DENYING)
    before = len(play.server_got)
    play.says("subscriptions/listen", "listen", notifications=wanted)
    assert play.reply["error"]["code"] in {mcp.INVALID_PARAMS, mcp.DENIED}
    assert len(play.server_got) == before
    play.says("subscriptions/listen", "none")
    assert play.reply["error"]["code"] == mcp.INVALID_PARAMS


def test_a_filter_of_known_members_is_passed_on_as_it_is() -> None:
    wanted = {
        "toolsListChanged": True,
        "promptsListChanged": False,
        "resourceSubscriptions": ["x://a"],
    }
    play = Play("modern", resources=DENYING)
    play.says("subscriptions/listen", "listen", notifications=wanted, more="EVIL")
    assert play.asked["params"]["notifications"] == wanted
    assert "EVIL" not in str(play.asked)


def test_tasks_are_those_of_this_run() -> None:
    assert filter_of({"notifications": {"taskIds": ["a"]}}, lambda id: id == "a") == {
        "taskIds": ["a"]
    }
    assert "none of this run" in filter_of({"notifications": {"taskIds": ["b"]}}, lambda _: False)
