"""What is said of an ask to who answers it and to who waits."""

from __future__ import annotations

import json
from typing import Any

from mcp_jail.core.conversation import ask_words
from mcp_jail.core.conversation.asks import Ask, Held
from mcp_jail.core.conversation.events import ToClient, ToServer
from mcp_jail.core.protocol.mcp import Treatment
from mcp_jail.core.protocol.wire import Request

HOSTILE = "t\x1b[2Jmcp-jail: all is well\n"


def ask(name: str) -> Ask:
    said: dict[str, Any] = {"arguments": {}, "rule": "", "where": "", "reason": "", "since": 0.0}
    return Ask(ticket="TICK01", binding="", method="tools/call", name=name, **said)


def test_no_name_breaks_a_line_or_acts_on_a_terminal() -> None:
    for line in (ask_words.told(ask(HOSTILE)), ask_words.told_of_late_no(ask(HOSTILE))):
        assert line.isprintable()
        assert "TICK01" in line


def test_a_model_reads_the_words_and_a_server_only_that_it_is_so() -> None:
    request = Request(1, "tools/call", {"name": "t"})
    for treatment, kind in ((Treatment.CALL_TOOL, ToClient), (None, ToServer)):
        effect = ask_words.told_to_sender(Held(request, treatment, 0.0), "wait", 4080)
        assert isinstance(effect, kind)
        assert json.loads(effect.line)["id"] == 1
        assert (b"wait" in effect.line) is (kind is ToClient)


def test_who_sent_it_is_said_where_that_is_not_the_client() -> None:
    request = Request(1, "sampling/createMessage", {})
    assert ask_words.sender(Held(request, None, 0.0)) == {"from": "server"}
    assert ask_words.sender(Held(request, Treatment.CALL_TOOL, 0.0)) == {}
