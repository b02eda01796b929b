"""What is judged of a request: its subject and arguments, and no member that nobody judges."""

from __future__ import annotations

from typing import Any, Final

import pytest

from mcp_jail.core.conversation.subjects import (
    SUBSCRIPTIONS_LIMIT,
    Subject,
    is_retry,
    subject_of,
    subscribed_uris,
)
from mcp_jail.core.protocol import mcp
from mcp_jail.core.protocol.mcp import Treatment
from mcp_jail.core.protocol.wire import BadLine, Request

REF: Final[dict[str, Any]] = {"type": "ref/prompt", "name": "p"}

FINE: Final[list[tuple[str, dict[str, Any], Subject]]] = [
    ("tools/call", {"name": "t"}, Subject("t", {})),
    ("tools/call", {"name": "t", "arguments": {"a": 1}}, Subject("t", {"a": 1})),
    ("tools/call", {"name": "", "task": {}}, Subject("", {})),
    ("tools/call", {"name": "t", "task": {"ttl": 1}}, Subject("t", {})),
    ("tools/call", {"name": "t", "task": {"ttl": 1.5}}, Subject("t", {})),
    ("tools/call", {"name": "t", "requestState": "s", "inputResponses": {}}, Subject("t", {})),
    ("prompts/get", {"name": "p", "arguments": {"a": "1"}}, Subject("p", {"a": "1"})),
    ("resources/read", {"uri": "x://a", "_meta": {}}, Subject("x://a", {}, is_uri=True)),
    ("resources/subscribe", {"uri": "x://a"}, Subject("x://a", {}, is_uri=True)),
    ("completion/complete", {"ref": REF}, Subject("p", {})),
    ("completion/complete", {"ref": REF | {"title": "P"}}, Subject("p", {})),
    (
        "completion/complete",
        {"ref": {"type": "ref/resource", "uri": "x://{a}"}, "argument": {"name": "a"}},
        Subject("x://{a}", {"argument": {"name": "a"}}, is_uri=True),
    ),
    (
        "completion/complete",
        {"ref": REF, "argument": 1, "context": {"arguments": {"b": "c"}}},
        Subject("p", {"argument": 1, "context": {"arguments": {"b": "c"}}}),
    ),
    ("tasks/get", {"taskId": "1"}, Subject("1", {})),
    ("tasks/update", {"taskId": "1", "inputResponses": {"a": 1}}, Subject("1", {"a": 1})),
]

ODD: Final[list[tuple[str, dict[str, Any]]]] = [
    ("tools/call", {}),
    ("tools/call", {"name": None}),
    ("tools/call", {"name": ["t"]}),
    ("tools/call", {"Name": "t"}),
    ("tools/call", {"name": "t", "arguments": None}),
    ("tools/call", {"name": "t", "arguments": [1]}),
    ("tools/call", {"name": "t", "uri": "x"}),
    ("tools/call", {"name": "t", "task": None}),
    ("tools/call", {"name": "t", "task": {"ttl": None}}),
    ("tools/call", {"name": "t", "task": {"ttl": True}}),
    ("tools/call", {"name": "t", "task": {"ttl": 1, "other": 1}}),
    ("prompts/get", {"name": "p", "task": {}}),
    ("prompts/get", {"uri": "x://a"}),
    ("resources/read", {"name": "x"}),
    ("resources/read", {"uri": 1}),
    ("resources/read", {"uri": "x://a", "arguments": {}}),
    ("completion/complete", {}),
    ("completion/complete", {"ref": "p"}),
    ("completion/complete", {"ref": {"type": "ref/prompt"}}),
    ("completion/complete", {"ref": {"type": "ref/prompt", "name": 1}}),
    ("completion/complete", {"ref": {"type": "ref/prompt", "uri": "x://a"}}),
    ("completion/complete", {"ref": {"type": "ref/resource", "name": "p"}}),
    ("completion/complete", {"ref": {"type": "ref/other", "name": "p"}}),
    ("completion/complete", {"ref": {"type": ["ref/prompt"], "name": "p"}}),
    ("completion/complete", {"ref": REF | {"other": 1}}),
    ("completion/complete", {"ref": REF, "inputResponses": {}}),
    ("tasks/get", {}),
    ("tasks/get", {"taskId": 1}),
    ("tasks/get", {"taskId": "1", "inputResponses": {}}),
    ("tasks/result", {"taskId": "1", "requestState": "s"}),
    ("tasks/update", {"taskId": "1"}),
    ("tasks/update", {"taskId": "1", "inputResponses": None}),
    ("tasks/update", {"taskId": "1", "inputResponses": []}),
]


def judged(method: str, params: dict[str, Any]) -> Subject | BadLine:
    return subject_of(Request(7, method, params), mcp.CLIENT_REQUESTS[method])


@pytest.mark.parametrize(("method", "params", "subject"), FINE)
def test_the_subject_is(method: str, params: dict[str, Any], subject: Subject) -> None:
    assert judged(method, params) == subject


@pytest.mark.parametrize(("method", "params"), ODD)
def test_a_request_of_another_shape_has_no_subject(method: str, params: dict[str, Any]) -> None:
    fault = judged(method, params)
    assert isinstance(fault, BadLine)
    assert (fault.code, fault.id) == (mcp.INVALID_PARAMS, 7)
    assert fault.reason.startswith(method)


def test_every_treatment_that_is_judged_knows_its_members() -> None:
    judged_ = {Treatment.CALL_TOOL, Treatment.READ_RESOURCE, Treatment.GET_PROMPT}
    for method, treatment in mcp.CLIENT_REQUESTS.items():
        if treatment in judged_ | {Treatment.COMPLETE, Treatment.TASK}:
            assert isinstance(judged(method, {"EVIL" * 99: 1}), BadLine)


def test_a_long_unknown_member_is_named_in_short() -> None:
    fault = judged("tools/call", {"name": "t", "x" * 10_000: 1})
    assert isinstance(fault, BadLine)
    assert len(fault.reason) < 200


def test_a_retry_is_told_by_its_members() -> None:
    assert is_retry({"inputResponses": None})
    assert is_retry({"requestState": ""})
    assert not is_retry({"name": "t", "_meta": {"requestState": "s"}})


@pytest.mark.parametrize(
    ("wanted", "uris"),
    [
        (None, []),
        ("x://a", []),
        ({}, []),
        ({"toolsListChanged": True}, []),
        ({"resourceSubscriptions": None}, []),
        ({"resourceSubscriptions": []}, []),
        ({"resourceSubscriptions": ["x://a", "x://b"]}, ["x://a", "x://b"]),
        ({"resourceSubscriptions": ["x://a", 1, None]}, ["x://a", "", ""]),
        ({"resourceSubscriptions": "x://a"}, [""]),
        ({"resourceSubscriptions": {"x://a": 1}}, [""]),
        ({"resourceSubscriptions": ["x"] * SUBSCRIPTIONS_LIMIT}, ["x"] * SUBSCRIPTIONS_LIMIT),
        ({"resourceSubscriptions": ["x"] * (SUBSCRIPTIONS_LIMIT + 1)}, [""]),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_a_subscription_names_is_judged_even_if_it_is_no_uri(
    wanted: Any, uris: list[str]
) -> None:
    assert subscribed_uris({"notifications": wanted}) == uris
