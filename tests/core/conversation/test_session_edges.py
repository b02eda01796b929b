"""The session at its edges: every branch that a mutant could take unseen."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from core.conversation.test_session import (
    ALLOWING,
    META,
    answers,
    entries,
    kinds,
    line,
    says,
    session,
)
from mcp_jail.core.conversation.events import (
    AuditFailed,
    FromClient,
    FromServer,
    Oversize,
    ServerGone,
    ToClient,
    ToServer,
)
from mcp_jail.core.conversation.inflight import IN_FLIGHT_LIMIT
from mcp_jail.core.protocol import mcp
from mcp_jail.core.protocol.wire import INVALID_REQUEST, PARSE_ERROR
from mcp_jail.core.recorded.audit import Kind


def server_says(**message: Any) -> FromServer:
    return FromServer(msgspec.json.encode({"jsonrpc": "2.0", **message}))


@pytest.mark.parametrize("method", ["resources/read", "resources/subscribe"])
def test_a_resource_is_judged_by_its_uri_and_its_denial_is_an_error(method: str) -> None:
    talk = session(resources={"default": "deny", "rules": {"ok://*": "allow"}})
    allowed = talk.handle(says(method, 1, uri="ok://x"))
    assert kinds(allowed) == ["Record", "ToServer"]
    assert entries(allowed)[0].name == "ok://x"
    denied = talk.handle(says(method, 2, uri="no://x"))
    assert line(denied, ToClient)["error"]["code"] == mcp.DENIED
    assert (talk.tally.calls, talk.tally.denials) == (2, 1)


def test_a_prompt_is_judged_by_its_name() -> None:
    talk = session(prompts={"default": "deny", "rules": {"ok": "allow"}})
    assert kinds(talk.handle(says("prompts/get", 1, name="ok"))) == ["Record", "ToServer"]
    assert line(talk.handle(says("prompts/get", 2, name="no")), ToClient)["error"]["code"] == 4030


def test_a_call_of_another_shape_counts_as_denied() -> None:
    talk = session(**ALLOWING)
    talk.handle(says("tools/call", 1))
    assert (talk.tally.calls, talk.tally.denials, talk.tally.violations) == (1, 1, 1)


def test_denied_resources_and_prompts_are_left_out_of_their_lists() -> None:
    talk = session(
        resources={"default": "allow", "rules": {"no://*": "deny"}},
        prompts={"default": "allow", "rules": {"no": "deny"}},
    )
    talk.handle(says("resources/list", 1))
    listed = {"resources": [{"uri": "no://x", "name": "a"}, {"uri": "ok://x", "name": "b"}]}
    shown = line(talk.handle(answers("ours-1", listed)), ToClient)["result"]["resources"]
    assert [each["uri"] for each in shown] == ["ok://x"]
    talk.handle(says("prompts/list", 2))
    prompts = {"prompts": [{"name": "no"}, {"name": "yes"}]}
    shown = line(talk.handle(answers("ours-2", prompts)), ToClient)["result"]["prompts"]
    assert shown == [{"name": "yes"}]


@pytest.mark.parametrize("result", [{}, {"tools": {}}, {"tools": [1]}, {"tools": [{"name": 1}]}])
def test_a_list_of_another_shape_is_not_passed_on(result: Any) -> None:
    talk = session(**ALLOWING)
    talk.handle(says("tools/list", 1))
    effects = talk.handle(answers("ours-1", result))
    assert line(effects, ToClient)["error"]["code"] == mcp.INTERNAL_ERROR
    assert [entry.kind for entry in entries(effects)] == [Kind.WIRE]


def test_more_requests_than_may_wait_are_refused() -> None:
    talk = session(**ALLOWING)
    for number in range(IN_FLIGHT_LIMIT):
        assert kinds(talk.handle(says("ping", number))) == ["ToServer"]
    assert line(talk.handle(says("ping", "more")), ToClient)["error"]["code"] == INVALID_REQUEST


def test_a_bad_line_is_answered_with_its_code() -> None:
    effects = session().handle(FromClient(b"junk"))
    assert kinds(effects) == ["Record", "ToClient"]
    assert line(effects, ToClient)["error"]["code"] == PARSE_ERROR


def test_notifications_of_the_client_pass_only_where_the_server_may_have_them() -> None:
    talk = session()
    assert kinds(talk.handle(says("notifications/initialized"))) == ["ToServer"]
    assert talk.handle(says("notifications/roots/list_changed")) == []
    assert talk.handle(says("notifications/progress", progressToken=1)) == []
    assert kinds(talk.handle(says("notifications/other"))) == ["Record"]
    assert kinds(talk.handle(says("notifications/cancelled"))) == ["Record"]


def test_a_cancelled_call_is_written_down_and_a_cancelled_ping_is_not() -> None:
    talk = session(**ALLOWING)
    talk.handle(says("tools/call", 1, name="t"))
    effects = talk.handle(says("notifications/cancelled", requestId=1))
    (entry,) = entries(effects)
    assert (entry.kind, entry.name, entry.detail) == (Kind.RESULT, "t", {"cancelled": True})
    talk.handle(says("ping", 2))
    assert kinds(talk.handle(says("notifications/cancelled", requestId=2))) == ["ToServer"]


def test_an_error_of_the_server_ends_its_request_once_and_is_written_down_for_a_call() -> None:
    talk = session(**ALLOWING)
    talk.handle(says("tools/call", 1, name="t"))
    error = {"code": -5, "message": "m", "data": {"a": 1}, "more": 2}
    effects = talk.handle(server_says(id="ours-1", error=error))
    kept = {"code": -5, "message": "m", "data": {"a": 1}}
    assert line(effects, ToClient) == {"jsonrpc": "2.0", "id": 1, "error": kept}
    (entry,) = entries(effects)
    assert (entry.is_error, entry.detail) == (True, {"code": -5})
    again = talk.handle(server_says(id="ours-1", error=error))
    assert "ToClient" not in kinds(again)
    talk.handle(says("ping", 2))
    assert kinds(talk.handle(server_says(id="ours-2", error=error))) == ["ToClient"]


@pytest.mark.parametrize("error", [{}, {"code": "1", "message": "m"}, {"code": 1, "message": 2}])
def test_an_error_that_is_none_ends_its_request_with_one_of_ours(error: Any) -> None:
    talk = session(**ALLOWING)
    talk.handle(says("tools/call", 1, name="t"))
    effects = talk.handle(server_says(id="ours-1", error=error))
    assert line(effects, ToClient)["error"]["code"] == mcp.INTERNAL_ERROR
    assert [entry.kind for entry in entries(effects)] == [Kind.WIRE, Kind.RESULT]
    assert "ToClient" not in kinds(talk.handle(server_says(id="ours-1", error=error)))


def test_a_broken_answer_to_a_ping_leaves_no_entry_of_a_call() -> None:
    talk = session()
    talk.handle(says("ping", 1))
    effects = talk.handle(FromServer(b'{"jsonrpc":"2.0","id":"ours-1","result":{"a":1,"a":2}}'))
    assert [entry.kind for entry in entries(effects)] == [Kind.WIRE]
    assert line(effects, ToClient)["id"] == 1


def test_notifications_of_the_server_pass_only_where_they_are_known() -> None:
    talk = session()
    known = {"level": "info", "logger": "l", "data": {"a": [1]}}
    passed = talk.handle(server_says(method="notifications/message", params=known | {"more": 1}))
    assert line(passed, ToClient)["params"] == known
    for params in ({}, {"level": "EVIL"}):
        assert kinds(talk.handle(server_says(method="notifications/message", params=params))) == [
            "Record"
        ]
    assert kinds(talk.handle(server_says(method="notifications/other"))) == ["Record"]


def test_a_server_may_give_up_a_subscription_and_nothing_else() -> None:
    talk = session(**ALLOWING)
    talk.handle(says("ping", 1))
    assert talk.handle(cancelled("ours-1")) == []
    assert talk.handle(cancelled("never")) == []
    talk.handle(says("subscriptions/listen", 2, notifications={}, **META["modern"]))
    effects = talk.handle(cancelled("ours-2"))
    assert line(effects, ToClient)["params"]["requestId"] == 2
    assert talk.handle(cancelled("ours-2")) == []
    assert "ToClient" in kinds(talk.handle(answers("ours-1", {})))


def cancelled(id: str) -> FromServer:
    return server_says(method="notifications/cancelled", params={"requestId": id})


def test_a_reply_of_ours_to_the_server_may_be_dropped_in_a_flood_and_a_request_may_not() -> None:
    talk = session(**ALLOWING)
    for method in ("ping", "roots/list", "sampling/createMessage"):
        effects = talk.handle(server_says(id=1, method=method))
        replies = [effect for effect in effects if isinstance(effect, ToServer)]
        assert [reply.is_reply for reply in replies] == [True]
    (forwarded,) = [e for e in talk.handle(says("ping", 1)) if isinstance(e, ToServer)]
    assert not forwarded.is_reply


def test_an_oversize_line_of_nobodys_is_only_written_down() -> None:
    talk = session(**ALLOWING)
    talk.handle(says("ping", 1))
    effects = talk.handle(Oversize(10**9, b'"id":"ours-11"', False))
    assert kinds(effects) == ["Record"]
    assert "ToClient" in kinds(talk.handle(answers("ours-1", {})))


@pytest.mark.parametrize("event", [ServerGone("x"), AuditFailed()])
def test_at_an_end_only_calls_are_written_down_as_failed(event: Any) -> None:
    talk = session(**ALLOWING)
    talk.handle(says("ping", 1))
    talk.handle(says("tools/call", 2, name="t"))
    effects = talk.handle(event)
    assert kinds(effects) == ["ToClient", "ToClient", "Record"]
    assert entries(effects)[0].is_error


def test_after_the_audit_failed_requests_are_told_and_nothing_else_is_answered() -> None:
    talk = session(**ALLOWING)
    talk.handle(AuditFailed())
    told = talk.handle(says("tools/call", 5, name="t"))
    assert kinds(told) == ["ToClient"]
    assert line(told, ToClient)["id"] == 5
    assert line(told, ToClient)["error"]["code"] == mcp.INTERNAL_ERROR
    assert talk.handle(says("notifications/initialized")) == []
    assert talk.handle(FromClient(b"junk")) == []


def test_an_allowed_call_is_written_down_without_a_reason_and_a_denied_one_with() -> None:
    talk = session(tools={"default": "deny", "rules": {"t": "allow"}})
    assert entries(talk.handle(says("tools/call", 1, name="t")))[0].reason == ""
    assert entries(talk.handle(says("tools/call", 2, name="u")))[0].reason != ""


def test_members_nobody_judges_are_left_out_of_what_is_forwarded() -> None:
    talk = session()
    sent = line(talk.handle(says("tools/list", 1, cursor="c", extra=1)), ToServer)
    assert sent["params"] == {"cursor": "c"}
