"""Laws of the session: it never raises, and forwards only what was allowed and recorded."""

from __future__ import annotations

import itertools
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Raw

from imagined import Imagined
from mcp_jail.core.approved.lock import ItemKind, Lock, approve, pin, read_lock, write_lock
from mcp_jail.core.conversation.asks import Answer, Lasts
from mcp_jail.core.conversation.events import (
    Answered,
    AskOver,
    AskPerson,
    AuditFailed,
    AwaitReview,
    Effect,
    Event,
    FromClient,
    FromServer,
    LockChanged,
    NotAnswered,
    Oversize,
    Record,
    Revoked,
    ServerGone,
    Tell,
    Tick,
    ToClient,
    ToServer,
    TrustFirst,
)
from mcp_jail.core.conversation.session import Session
from mcp_jail.core.policy import Policy, Verdict
from mcp_jail.core.protocol.mcp import CLIENT_REQUESTS
from mcp_jail.core.recorded.audit import Chain, Entry, Kind, read_record
from mcp_jail.core.rules.decide import compile_rules

POLICY = {
    "name": "x",
    "tools": {
        "default": "ask",
        "rules": {
            "a*": "allow",
            "ab": "deny",
            "b": {"decision": "allow", "args": {"p": {"under": ["/s"]}}},
        },
    },
    "resources": {"default": "deny", "rules": {"ok://*": "allow"}},
    "prompts": {"default": "allow", "rules": {"no": "deny"}},
    "sampling": "allow",
    "elicitation": "allow",
    "lock": {"first": "trust"},
}
JUDGED = {"tools/call", "resources/read", "resources/subscribe", "prompts/get"}

FORM = {
    "message": "m",
    "requestedSchema": {"type": "object", "properties": {"x": {"type": "string"}}},
}
ROOTS = {"method": "roots/list"}

json = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(-2, 2) | st.sampled_from("ab1"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abAp"), inner),
    max_leaves=6,
)
ids = st.one_of(
    st.integers(0, 3), st.sampled_from(["0", "1", "n1", "n2", "n3", ""]), st.none(), st.just(1.0)
)
methods = st.one_of(
    st.sampled_from(sorted(CLIENT_REQUESTS)),
    st.sampled_from(
        ["notifications/cancelled", "notifications/progress", "notifications/initialized"]
    ),
    st.sampled_from(
        ["roots/list", "sampling/createMessage", "elicitation/create", "x", "tools/Call"]
    ),
    st.sampled_from(["notifications/message", "notifications/tools/list_changed"]),
)
meta = st.fixed_dictionaries(
    {},
    optional={
        "progressToken": ids,
        "io.modelcontextprotocol/protocolVersion": st.just("2026-07-28"),
        "io.modelcontextprotocol/clientCapabilities": json,
        "io.modelcontextprotocol/subscriptionId": ids,
    },
)
params = st.fixed_dictionaries(
    {},
    optional={
        "name": st.sampled_from(["a", "ab", "b", "c", "no", 1]),
        "uri": st.sampled_from(["ok://x", "file:///x", 3]),
        "arguments": st.dictionaries(
            st.sampled_from(["p", "q"]), st.sampled_from(["/s/x", "/t", 1])
        ),
        "_meta": meta | json,
        "requestId": ids,
        "progressToken": ids,
        "notifications": json,
        "capabilities": json
        | st.just({"sampling": {"tools": {}}, "elicitation": {"form": {}, "url": {}}}),
        "task": json | st.just({}),
        "taskId": st.sampled_from(["t1", "t2"]),
        "inputResponses": json | st.just({"a": {"action": "decline"}}),
        "requestState": st.sampled_from([f"n{number}" for number in range(1, 9)]),
        "message": st.just("m"),
        "requestedSchema": st.just({"type": "object", "properties": {"x": {"type": "string"}}}),
        "messages": json,
        "maxTokens": st.just(1),
        "ref": json | st.just({"type": "ref/prompt", "name": "p"}),
        "level": st.sampled_from(["info", "EVIL"]),
    },
)
results = st.fixed_dictionaries(
    {},
    optional={
        "content": json,
        "isError": json,
        "resultType": st.sampled_from(["complete", "input_required", "task", 1]),
        "tools": st.lists(
            st.fixed_dictionaries(
                {"name": st.sampled_from(["a", "ab", "c"])},
                optional={"description": st.sampled_from(["good", "evil"])},
            )
        )
        | json,
        "resources": json,
        "prompts": st.lists(st.fixed_dictionaries({"name": st.sampled_from(["p", "no"])})),
        "nextCursor": st.sampled_from(["", "c"]),
        "serverInfo": json,
        "instructions": st.sampled_from(["be nice", "be evil"]),
        "requestState": st.sampled_from(["s", "t"]),
        "task": json | st.just({"taskId": "t1"}),
        "taskId": st.sampled_from(["t1", "t2"]),
        "capabilities": json | st.just({"tasks": {"requests": {"tools": {"call": {}}}}}),
        "inputRequests": json
        | st.just({"a": {"method": "elicitation/create", "params": FORM}, "b": ROOTS})
        | st.just({"b": ROOTS}),
    },
)
messages = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0")},
    optional={
        "id": ids,
        "method": methods,
        "params": params | json,
        "result": results | json,
        "error": json | st.fixed_dictionaries({"code": st.integers(), "message": st.text()}),
    },
)
requests = st.builds(
    lambda id, method, params: {"jsonrpc": "2.0", "id": id, "method": method, "params": params},
    st.integers(0, 5),
    st.sampled_from(sorted(CLIENT_REQUESTS)),
    params,
)
APPROVED = approve(
    None,
    Lock(
        name="x",
        kinds=(ItemKind.TOOL,),
        items={"tool/a": (pin(ItemKind.TOOL, {"name": "a"}, "legacy"),)},
    ),
)
lines = st.binary(max_size=20) | (messages | requests).map(msgspec.json.encode)
answers = st.builds(
    lambda id, result: msgspec.json.encode({"jsonrpc": "2.0", "id": id, "result": result}),
    st.sampled_from([f"n{number}" for number in range(1, 9)]),
    results | json,
)
tickets = st.sampled_from(["T1", "T2", "T3"])


def said(lasts: Lasts, is_yes: bool) -> Answer:
    verdict = Verdict.ALLOW if is_yes else Verdict.DENY
    return Answer(verdict=verdict, lasts=lasts, by="x", seconds=10.0)


events: st.SearchStrategy[Event] = st.one_of(
    st.builds(FromClient, lines),
    st.builds(FromServer, lines | answers),
    st.builds(Oversize, st.integers(1, 9), st.sampled_from([b"", b'"id":"n1"']), st.booleans()),
    st.just(ServerGone("x")),
    st.just(AuditFailed()),
    st.just(LockChanged(None)),
    st.just(LockChanged(APPROVED)),
    st.builds(Tick, st.sampled_from([0.0, 1.0, 49.0, 51.0, 2_000.0])),
    st.builds(Answered, tickets, st.builds(said, st.sampled_from(Lasts), st.booleans())),
    st.builds(Revoked, tickets),
    st.builds(NotAnswered, tickets, st.just("x"), st.just("nobody")),
)


def new_session() -> Session:
    numbers, waiting = itertools.count(1), itertools.count(1)

    def describe(arguments: dict[str, Any]) -> tuple[Raw | None, str]:
        return Raw(msgspec.json.encode(arguments)), "d"

    return Session(
        compile_rules(msgspec.convert(POLICY, Policy), {}, home="/h", cwd=None),
        Imagined({"/s": "dir", "/t": "dir"}),
        fresh_id=lambda: f"n{next(numbers)}",
        fresh_ticket=lambda: f"T{next(waiting)}",
        describe=describe,
        roots=("/s",),
    )


def played(events: list[Event]) -> list[tuple[Event, list[Effect]]]:
    talk = new_session()
    return [(event, talk.handle(event)) for event in events]


def read(line: bytes) -> dict[str, Any]:
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    message: dict[str, Any] = msgspec.json.decode(line)
    return message


@settings(max_examples=300)
@given(st.lists(events, max_size=12))
def test_no_input_makes_the_session_raise_and_every_effect_is_one_clean_line(
    events: list[Event],
) -> None:
    for _, effects in played(events):
        for effect in effects:
            match effect:
                case ToServer(line) | ToClient(line):
                    read(line)
                case Record(entry):
                    sealed = Chain("r").seal(Entry(kind=Kind.START), 0)
                    assert read_record(sealed).kind is Kind.START
                    assert msgspec.json.decode(msgspec.json.encode(entry))
                case Tell(text):
                    assert text
                case AwaitReview(lock) | TrustFirst(lock):
                    assert read_lock(write_lock(lock)) == lock
                case AskPerson(ask) | AskOver(ask):
                    assert ask.ticket


@settings(max_examples=300)
@given(st.lists(events, max_size=12))
def test_every_forwarded_call_was_allowed_and_recorded_before(events: list[Event]) -> None:
    for _, effects in played(events):
        recorded: dict[object, Entry] = {}
        for effect in effects:
            if isinstance(effect, Record) and effect.entry.kind is Kind.CALL:
                recorded[effect.entry.id] = effect.entry
            if isinstance(effect, ToServer):
                message = read(effect.line)
                if message.get("method") in JUDGED:
                    entry = recorded[message["id"]]
                    assert entry.verdict == "allow"
                    subject = message["params"].get("name", message["params"].get("uri"))
                    assert entry.name == subject


@settings(max_examples=300)
@given(st.lists(events, max_size=12))
def test_nothing_denied_is_ever_forwarded(events: list[Event]) -> None:
    for _, effects in played(events):
        for effect in effects:
            if isinstance(effect, ToServer):
                message = read(effect.line)
                if message.get("method") == "tools/call":
                    given_ = message["params"]
                    assert given_["name"] in ("a", "b")
                    if given_["name"] == "b":
                        assert given_["arguments"]["p"] == "/s/x"
                if message.get("method") == "resources/read":
                    assert message["params"]["uri"] == "ok://x"


@settings(max_examples=300)
@given(st.lists(events, max_size=12))
def test_a_client_gets_only_answers_to_what_it_asked_and_one_each(events: list[Event]) -> None:
    asked: dict[str, int] = {}
    for event, effects in played(events):
        if isinstance(event, FromClient):
            try:
                message = msgspec.json.decode(event.line)
            except (msgspec.DecodeError, UnicodeDecodeError):
                message = None
            if isinstance(message, dict) and message.get("id") is not None:
                key = repr(message["id"])
                asked[key] = asked.get(key, 0) + 1
        for effect in effects:
            if isinstance(effect, ToClient):
                answer = read(effect.line)
                if "method" not in answer and answer["id"] is not None:
                    key = repr(answer["id"])
                    assert asked.get(key, 0) > 0, (answer, asked)
                    asked[key] -= 1


@settings(max_examples=200)
@given(st.lists(events, max_size=12))
def test_a_client_is_asked_only_what_was_recorded_as_allowed_before(events: list[Event]) -> None:
    for _, effects in played(events):
        allowed: set[object] = set()
        for effect in effects:
            if isinstance(effect, Record) and effect.entry.verdict == "allow":
                allowed.add(effect.entry.id)
            if isinstance(effect, ToClient):
                message = read(effect.line)
                if "method" in message and "id" in message:
                    assert message["method"] in {"sampling/createMessage", "elicitation/create"}
                    assert message["id"] in allowed
                    assert effect.is_question


@settings(max_examples=300)
@given(st.lists(events, max_size=12))
def test_no_tool_is_shown_or_called_that_differs_from_its_first_form(events: list[Event]) -> None:
    """A first contact is trusted here: from then on nothing else passes, whatever comes."""
    first: dict[str, Any] = {}
    is_replaced = False
    for event, effects in played(events):
        is_replaced |= isinstance(event, LockChanged)
        for effect in effects:
            if isinstance(effect, ToClient) and not is_replaced:
                result = read(effect.line).get("result")
                for tool in result.get("tools", []) if isinstance(result, dict) else []:
                    assert first.setdefault(tool["name"], tool) == tool
