"""The session as a play: what arrives, and what is done about it, in order."""

from __future__ import annotations

import itertools
from typing import Any

import msgspec
import pytest
from msgspec import Raw

from mcp_jail.core.conversation.events import (
    AuditFailed,
    Effect,
    FromClient,
    FromServer,
    Oversize,
    Record,
    ServerGone,
    Tell,
    ToClient,
    ToServer,
)
from mcp_jail.core.conversation.session import Session
from mcp_jail.core.conversation.tally import VIOLATIONS_RECORDED
from mcp_jail.core.policy import Policy
from mcp_jail.core.protocol import mcp
from mcp_jail.core.recorded.audit import Entry, Kind
from mcp_jail.core.rules.decide import Rulebook, compile_rules
from mcp_jail.core.rules.outlook import MISSING, Seen, Space

MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
META: dict[str, dict[str, Any]] = {"legacy": {}, "modern": {"_meta": MODERN}}
ERAS = pytest.mark.parametrize("era", ["legacy", "modern"])


class Nowhere:
    """An outlook on an empty world."""

    def look(self, space: Space, path: str) -> Seen:
        return MISSING

    def is_straight(self, path: str) -> bool:
        return False

    def fullmatch(self, pattern: str, text: str) -> bool | None:
        return None


def book(**keys: Any) -> Rulebook:
    policy = msgspec.convert({"name": "x", **keys}, Policy)
    return compile_rules(policy, {}, home="/home/me", cwd=None)


def session(era: str = "legacy", *, capabilities: Any = None, **keys: Any) -> Session:
    """A conversation that was opened; the next id of ours is 1. Without a lock unless one is given.

    The modern era needs no opening: each request has what it needs with it.
    """
    talk = unopened(**{"lock": {"enabled": False}, **keys})
    if era == "legacy":
        talk.handle(says("initialize", "open", capabilities=capabilities or {}))
        talk.handle(answers("ours-0", {"protocolVersion": "2025-11-25", "capabilities": {}}))
    else:
        talk.handle(says("ping", "open", **META[era]))
        talk.handle(answers("ours-0", {"resultType": "complete"}))
    return talk


def unopened(**keys: Any) -> Session:
    """A conversation in which nothing was said yet."""
    numbers = itertools.count(0)

    def describe(arguments: dict[str, Any]) -> tuple[Raw | None, str]:
        return Raw(msgspec.json.encode(arguments)), "digest"

    return Session(
        book(**keys),
        Nowhere(),
        fresh_id=lambda: f"ours-{next(numbers)}",
        fresh_ticket=lambda: "TICKET",
        describe=describe,
        roots=("/home/me/a b",),
    )


ALLOWING: dict[str, Any] = {"tools": {"default": "allow"}, "resources": {"default": "allow"}}


def says(method: str, id: int | str | None = None, **params: Any) -> FromClient:
    message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
    if id is not None:
        message["id"] = id
    if params:
        message["params"] = params
    return FromClient(msgspec.json.encode(message))


def answers(id: Any, result: Any) -> FromServer:
    return FromServer(msgspec.json.encode({"jsonrpc": "2.0", "id": id, "result": result}))


def line(effects: list[Effect], kind: type[ToServer | ToClient]) -> Any:
    """The one message sent in this direction."""
    lines = [effect.line for effect in effects if isinstance(effect, kind)]
    assert len(lines) == 1, effects
    return msgspec.json.decode(lines[0])


def entries(effects: list[Effect]) -> list[Entry]:
    return [effect.entry for effect in effects if isinstance(effect, Record)]


def kinds(effects: list[Effect]) -> list[str]:
    return [type(effect).__name__ for effect in effects]


@ERAS
def test_an_allowed_call_is_recorded_then_forwarded_under_an_id_of_ours(era: str) -> None:
    effects = session(**ALLOWING).handle(
        says("tools/call", 7, name="t", arguments={"a": 1}, **META[era])
    )
    assert kinds(effects) == ["Record", "ToServer"]
    sent = line(effects, ToServer)
    assert sent["id"] == "ours-1"
    assert sent["params"] == {"name": "t", "arguments": {"a": 1}, **META[era]}
    (entry,) = entries(effects)
    assert (entry.kind, entry.name, entry.verdict, entry.id) == (Kind.CALL, "t", "allow", "ours-1")


@ERAS
def test_the_answer_comes_back_under_the_clients_own_id(era: str) -> None:
    talk = session(**ALLOWING)
    talk.handle(says("tools/call", "x", name="t", **META[era]))
    result = {"content": [], "isError": True, "resultType": "complete"}
    effects = talk.handle(answers("ours-1", result))
    assert kinds(effects) == ["ToClient", "Record"]
    assert line(effects, ToClient) == {"jsonrpc": "2.0", "id": "x", "result": result}
    (entry,) = entries(effects)
    assert (entry.kind, entry.is_error, entry.id) == (Kind.RESULT, True, "ours-1")


def test_a_denied_call_tells_the_model_what_did_not_hold_legacy() -> None:
    effects = session(tools={"default": "deny"}).handle(says("tools/call", 7, name="t"))
    assert kinds(effects) == ["Record", "ToClient", "Tell"]
    result = line(effects, ToClient)["result"]
    assert result == {
        "content": [
            {"type": "text", "text": "denied by the user's policy: not allowed by the policy"}
        ],
        "isError": True,
    }


def test_a_denied_call_has_a_result_type_in_the_modern_era() -> None:
    event = says("tools/call", 7, name="t", **META["modern"])
    effects = session(tools={"default": "deny"}).handle(event)
    assert line(effects, ToClient)["result"]["resultType"] == "complete"


def test_a_hidden_tool_and_one_that_does_not_exist_are_refused_in_the_same_words() -> None:
    talk = session(tools={"default": "deny", "rules": {"hidden": "deny", "shown": "allow"}})
    talk.handle(says("tools/list", 1))
    listed = [{"name": "hidden", "inputSchema": {}}, {"name": "shown", "inputSchema": {}}]
    shown = line(talk.handle(answers("ours-1", {"tools": listed})), ToClient)
    assert [tool["name"] for tool in shown["result"]["tools"]] == ["shown"]
    texts = [
        line(talk.handle(says("tools/call", id, name=name)), ToClient)["result"]
        for id, name in ((2, "hidden"), (3, "never-was"))
    ]
    assert texts[0] == texts[1]


def test_denied_tools_stay_in_the_list_when_the_policy_says_so() -> None:
    talk = session(tools={"default": "deny", "hide_denied": False})
    talk.handle(says("tools/list", 1))
    effects = talk.handle(answers("ours-1", {"tools": [{"name": "t", "inputSchema": {}}]}))
    assert len(line(effects, ToClient)["result"]["tools"]) == 1


def test_a_tool_listed_twice_is_not_shown_at_all() -> None:
    talk = session(**ALLOWING)
    talk.handle(says("tools/list", 1))
    tools = [{"name": "t", "description": "a"}, {"name": "t", "description": "b"}, {"name": "u"}]
    effects = talk.handle(answers("ours-1", {"tools": tools}))
    assert line(effects, ToClient)["result"]["tools"] == [{"name": "u"}]
    assert [entry.kind for entry in entries(effects)] == [Kind.WIRE]


def test_lists_are_not_kept_by_clients() -> None:
    talk = session(**ALLOWING)
    talk.handle(says("tools/list", 1, **META["modern"]))
    result = {"tools": [], "ttlMs": 10**9, "cacheScope": "public", "resultType": "complete"}
    shown = line(talk.handle(answers("ours-1", result)), ToClient)["result"]
    assert shown == {"tools": [], "ttlMs": 0, "cacheScope": "private", "resultType": "complete"}


@pytest.mark.parametrize(
    "id", ["1", 1, "ours-2", "ours-1 ", " ours-1", "OURS-1", 0, "", "+1", "0x1"], ids=repr
)
def test_an_answer_to_any_other_id_reaches_nobody(id: Any) -> None:
    talk = session(**ALLOWING)
    talk.handle(says("tools/call", 1, name="t"))
    effects = talk.handle(answers(id, {"content": []}))
    assert [entry.kind for entry in entries(effects)] == [Kind.WIRE]
    assert "ToClient" not in kinds(effects)


def test_a_second_answer_reaches_nobody() -> None:
    talk = session(**ALLOWING)
    talk.handle(says("tools/call", 1, name="t"))
    talk.handle(answers("ours-1", {"content": []}))
    assert "ToClient" not in kinds(talk.handle(answers("ours-1", {"content": ["EVIL"]})))


def test_ids_that_python_takes_for_equal_are_told_apart() -> None:
    talk = session(**ALLOWING)
    talk.handle(says("ping", 1))
    effects = talk.handle(says("ping", "1"))
    assert line(effects, ToServer)["id"] == "ours-2"
    assert line(talk.handle(answers("ours-2", {})), ToClient)["id"] == "1"
    assert line(talk.handle(answers("ours-1", {})), ToClient)["id"] == 1


def test_an_id_that_still_waits_cannot_be_used_again() -> None:
    talk = session(**ALLOWING)
    talk.handle(says("ping", 1))
    effects = talk.handle(says("tools/call", 1, name="t"))
    assert "ToServer" not in kinds(effects)
    assert line(effects, ToClient)["id"] is None


@pytest.mark.parametrize("method", ["Tools/Call", "tools/call ", "tasks/List", "x", ""])
def test_an_unknown_method_is_refused(method: str) -> None:
    effects = session(**ALLOWING).handle(says(method, 1, name="t"))
    assert line(effects, ToClient)["error"]["code"] == mcp.METHOD_NOT_FOUND
    assert "ToServer" not in kinds(effects)


def test_a_call_without_an_id_is_refused_aloud() -> None:
    effects = session(**ALLOWING).handle(says("tools/call", name="t"))
    assert "ToServer" not in kinds(effects)
    assert line(effects, ToClient)["error"]["message"].startswith("mcp-jail: a request without")


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"name": 1},
        {"name": "t", "arguments": []},
        {"name": "t", "arguments": None},
        {"name": "t", "task": {"ttl": "long"}},
        {"name": "t", "task": {"other": 1}},
        {"name": "t", "task": 1},
        {"name": "t", "inputResponses": {}},
        {"name": "t", "requestState": "x"},
        {"name": "t", "extra": 1},
    ],
)
def test_a_call_of_another_shape_is_refused(params: dict[str, Any]) -> None:
    effects = session(**ALLOWING).handle(says("tools/call", 1, **params))
    assert "ToServer" not in kinds(effects)
    assert line(effects, ToClient)["error"]["code"] == mcp.INVALID_PARAMS


def test_a_cancellation_follows_the_mapping_of_the_ids() -> None:
    talk = session(**ALLOWING)
    talk.handle(says("tools/call", 5, name="t"))
    effects = talk.handle(says("notifications/cancelled", requestId=5, reason="r"))
    assert line(effects, ToServer)["params"] == {"requestId": "ours-1", "reason": "r"}
    late = talk.handle(answers("ours-1", {"content": []}))
    assert late == []
    assert talk.tally.violations == 0


@pytest.mark.parametrize("id", ["5", True, 5.0, None, [5]])
def test_a_cancellation_of_a_look_alike_id_cancels_nothing(id: Any) -> None:
    talk = session(**ALLOWING)
    talk.handle(says("tools/call", 5, name="t"))
    assert "ToServer" not in kinds(talk.handle(says("notifications/cancelled", requestId=id)))
    assert "ToClient" in kinds(talk.handle(answers("ours-1", {"content": []})))


def test_progress_is_passed_only_for_a_token_that_waits() -> None:
    talk = session(**ALLOWING)
    talk.handle(says("tools/call", 5, name="t", _meta={"progressToken": 1}))
    good = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 1}}
    assert kinds(talk.handle(FromServer(msgspec.json.encode(good)))) == ["ToClient"]
    for token in ("1", True, 1.0, 2, None):
        bad = good | {"params": {"progressToken": token}}
        assert kinds(talk.handle(FromServer(msgspec.json.encode(bad)))) == ["Record"]
    talk.handle(answers("ours-1", {"content": []}))
    assert kinds(talk.handle(FromServer(msgspec.json.encode(good)))) == ["Record"]


@pytest.mark.parametrize("method", ["sampling/createMessage", "elicitation/create", "x/y"])
def test_a_request_of_the_server_is_refused_and_never_reaches_the_client(method: str) -> None:
    request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {}}
    effects = session(**ALLOWING).handle(FromServer(msgspec.json.encode(request)))
    assert "ToClient" not in kinds(effects)
    assert "error" in line(effects, ToServer)


def test_a_ping_of_the_server_is_answered_by_us() -> None:
    request = {"jsonrpc": "2.0", "id": 0, "method": "ping"}
    effects = session().handle(FromServer(msgspec.json.encode(request)))
    assert line(effects, ToServer) == {"jsonrpc": "2.0", "id": 0, "result": {}}


def test_roots_are_the_policys_own() -> None:
    request = {"jsonrpc": "2.0", "id": 0, "method": "roots/list"}
    effects = session().handle(FromServer(msgspec.json.encode(request)))
    assert line(effects, ToServer)["result"] == {
        "roots": [{"uri": "file:///home/me/a%20b", "name": "/home/me/a b"}]
    }
    denied = session(roots="deny").handle(FromServer(msgspec.json.encode(request)))
    assert line(denied, ToServer)["error"]["code"] == mcp.DENIED


def test_a_client_that_answers_a_request_nobody_passed_on_is_not_forwarded() -> None:
    reply = {"jsonrpc": "2.0", "id": 1, "result": {}}
    assert kinds(session().handle(FromClient(msgspec.json.encode(reply)))) == ["Record"]


@pytest.mark.parametrize(
    "result",
    [
        {"resultType": "input_required"},
        {"resultType": "input_required", "inputRequests": {}},
        {"resultType": "input_required", "inputRequests": []},
        {"resultType": "input_required", "requestState": 1},
        {"resultType": "weird", "content": []},
        {"content": [], "inputRequests": {}},
        {"content": [], "requestState": "x"},
        {"task": {"taskId": "1"}},
    ],
)
@ERAS
def test_a_result_that_wants_more_than_it_gives_is_not_passed_on(result: Any, era: str) -> None:
    talk = session(era, **ALLOWING)
    talk.handle(says("tools/call", 1, name="t", **META[era]))
    effects = talk.handle(answers("ours-1", result))
    assert line(effects, ToClient).keys() == {"jsonrpc", "id", "error"}


@pytest.mark.parametrize(
    "method",
    [
        "initialize",
        "server/discover",
        "ping",
        "logging/setLevel",
        "tools/list",
        "resources/list",
        "resources/templates/list",
        "prompts/list",
        "subscriptions/listen",
        "tools/call",
        "resources/read",
        "prompts/get",
    ],
)
@ERAS
def test_no_answer_asks_the_client_for_input_and_no_input_goes_back(method: str, era: str) -> None:
    if mcp.ONLY_IN_ERA.get(method, mcp.Era(era)) is not mcp.Era(era):
        refused = session(era, **ALLOWING).handle(says(method, 1, **META[era]))
        assert line(refused, ToClient)["error"]["code"] == mcp.METHOD_NOT_FOUND
        return
    subject: Any = {"tools/call": {"name": "t"}, "prompts/get": {"name": "t"}}.get(method, {})
    subject = {"uri": "x://y"} if method == "resources/read" else subject
    subject = {"notifications": {}} if method == "subscriptions/listen" else subject
    for wants in (
        {"resultType": "input_required"},
        {
            "resultType": "input_required",
            "inputRequests": {"a": {"method": "sampling/createMessage", "params": {}}},
        },
        {"inputRequests": {"a": {"method": "sampling/createMessage"}}},
        {"requestState": "S"},
        {"resultType": "task", "task": {"taskId": "1"}},
    ):
        talk = session(era, **ALLOWING)
        talk.handle(says(method, 1, **subject, **META[era]))
        full = {"tools": [], "resources": [], "prompts": [], "resourceTemplates": [], **wants}
        shown = line(talk.handle(answers("ours-1", full)), ToClient)
        assert "error" in shown or shown["result"]["isError"] is True
        assert "createMessage" not in str(shown)
        back = talk.handle(
            says(method, 2, **subject, inputResponses={"a": "ghp_SECRET"}, requestState="S")
        )
        assert "SECRET" not in str([effect for effect in back if isinstance(effect, ToServer)])


def test_a_subscription_is_recorded_for_each_resource_it_names() -> None:
    talk = session(**ALLOWING)
    wanted = {"resourceSubscriptions": ["x://a", "x://b"]}
    effects = talk.handle(says("subscriptions/listen", 1, notifications=wanted, **META["modern"]))
    assert [entry.name for entry in entries(effects)] == ["x://a", "x://b"]
    assert kinds(effects) == ["Record", "Record", "ToServer"]
    many = {"resourceSubscriptions": ["x://a"] * 1001}
    effects = talk.handle(says("subscriptions/listen", 2, notifications=many, **META["modern"]))
    assert "ToServer" not in kinds(effects)


def test_capabilities_are_cut_both_ways_in_the_legacy_era() -> None:
    talk = session()
    capabilities: Any = {"roots": {}, "sampling": {}, "elicitation": {}, "experimental": {"x": {}}}
    sent = talk.handle(says("initialize", 0, capabilities=capabilities, protocolVersion="v"))
    assert line(sent, ToServer)["params"]["capabilities"] == {"roots": {}, "elicitation": {}}
    offered: Any = {"tools": {"x": "EVIL"}, "completions": {}, "extensions": {"x": {}}, "EVIL": {}}
    shown = line(talk.handle(answers("ours-1", {"capabilities": offered})), ToClient)
    assert shown["result"]["capabilities"] == {"tools": {}, "completions": {}}


def test_capabilities_are_cut_both_ways_in_the_modern_era() -> None:
    talk = session("modern")
    meta = MODERN | {"io.modelcontextprotocol/clientCapabilities": {"sampling": {}, "roots": {}}}
    sent = talk.handle(says("tools/list", 0, _meta=meta))
    kept = line(sent, ToServer)["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"]
    assert kept == {"roots": {}}
    talk.handle(says("server/discover", 1, _meta=meta))
    offered: Any = {"tools": {}, "extensions": {"x": {}}}
    shown = line(talk.handle(answers("ours-2", {"capabilities": offered})), ToClient)
    assert shown["result"]["capabilities"] == {"tools": {}}


def test_a_subscription_is_held_against_the_rules_for_resources() -> None:
    talk = session("modern", resources={"default": "allow", "rules": {"file://**": "deny"}})
    wanted = {"resourceSubscriptions": ["x://a", "file:///etc/passwd"]}
    effects = talk.handle(says("subscriptions/listen", 1, notifications=wanted, **META["modern"]))
    assert "ToServer" not in kinds(effects)
    effects = talk.handle(
        says("subscriptions/listen", 2, notifications={"toolsListChanged": True}, **META["modern"])
    )
    ours = line(effects, ToServer)["id"]
    key = "io.modelcontextprotocol/subscriptionId"
    note = {
        "jsonrpc": "2.0",
        "method": "notifications/tools/list_changed",
        "params": {"_meta": {key: ours}},
    }
    shown = line(talk.handle(FromServer(msgspec.json.encode(note))), ToClient)
    assert shown["params"]["_meta"] == {key: 2}
    note["params"] = {"_meta": {key: "never"}}
    assert kinds(talk.handle(FromServer(msgspec.json.encode(note)))) == ["Record"]


def test_what_waits_is_answered_when_the_server_is_gone() -> None:
    talk = session(**ALLOWING)
    talk.handle(says("tools/call", 1, name="t"))
    talk.handle(says("ping", 2))
    effects = talk.handle(ServerGone("exit status 7"))
    lines = [msgspec.json.decode(e.line) for e in effects if isinstance(e, ToClient)]
    assert [(each["id"], each["error"]["code"]) for each in lines] == [(1, 5030), (2, 5030)]
    assert talk.handle(ServerGone("again")) == []


def test_what_waits_is_answered_when_the_audit_fails() -> None:
    talk = session(**ALLOWING)
    talk.handle(says("tools/call", 1, name="t"))
    assert "error" in line(talk.handle(AuditFailed()), ToClient)


def test_an_oversize_answer_becomes_an_error_for_its_request() -> None:
    talk = session(**ALLOWING)
    talk.handle(says("tools/call", 1, name="t"))
    effects = talk.handle(Oversize(10**9, b'{"jsonrpc":"2.0","id":"ours-1","re', False))
    assert line(effects, ToClient)["error"]["code"] == mcp.TOO_LARGE


def test_an_oversize_line_of_the_client_is_refused_and_the_session_goes_on() -> None:
    talk = session(**ALLOWING)
    effects = talk.handle(Oversize(10**9, b'{"jsonrpc":"2.0","id":1,', True))
    assert line(effects, ToClient)["error"]["code"] == mcp.TOO_LARGE
    assert "ToServer" in kinds(talk.handle(says("ping", 1)))


def test_an_answer_that_is_malformed_ends_its_request_with_an_error() -> None:
    talk = session(**ALLOWING)
    talk.handle(says("tools/list", 1))
    bad = b'{"jsonrpc":"2.0","id":"ours-1","result":{"tools":[{"name":"a","name":"b"}]}}'
    effects = talk.handle(FromServer(bad))
    assert line(effects, ToClient)["error"]["code"] == mcp.INTERNAL_ERROR


def test_an_error_that_sends_the_user_to_a_page_is_replaced() -> None:
    talk = session(**ALLOWING)
    talk.handle(says("tools/call", 1, name="t"))
    error = {"code": -32042, "message": "m", "data": {"elicitations": [{"url": "https://e"}]}}
    failure = {"jsonrpc": "2.0", "id": "ours-1", "error": error}
    effects = talk.handle(FromServer(msgspec.json.encode(failure)))
    assert "data" not in line(effects, ToClient)["error"]


def test_violations_are_counted_without_end_and_written_down_to_a_limit() -> None:
    talk = session()
    written = sum(
        len(entries(talk.handle(FromServer(b"junk")))) for _ in range(VIOLATIONS_RECORDED + 10)
    )
    assert written == VIOLATIONS_RECORDED
    assert talk.tally.violations == VIOLATIONS_RECORDED + 10


def test_the_person_is_told_of_a_denial_with_the_rule() -> None:
    effects = session(tools={"default": "deny"}).handle(says("tools/call", 1, name="t"))
    told = [effect.text for effect in effects if isinstance(effect, Tell)]
    assert len(told) == 1
    assert "tools.default" in told[0]


def test_additional_arguments_are_refused_by_the_list_the_client_saw() -> None:
    talk = session(tools={"default": "allow", "additional": "deny"})
    talk.handle(says("tools/list", 2))
    tool = {"name": "t", "inputSchema": {"properties": {"path": {}}}}
    talk.handle(answers("ours-1", {"tools": [tool]}))
    fine = talk.handle(says("tools/call", 3, name="t", arguments={"path": "/"}))
    assert "ToServer" in kinds(fine)
    twin = talk.handle(says("tools/call", 4, name="t", arguments={"path": "/", "filePath": "/"}))
    assert "ToServer" not in kinds(twin)
