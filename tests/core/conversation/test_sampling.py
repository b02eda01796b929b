"""What of a server's wish for the user's model is passed on, and what comes back."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from mcp_jail.core.conversation import sampling
from mcp_jail.core.conversation.sampling import fault_of_sampled, passed_sampling

TEXT = {"type": "text", "text": "hi"}
IMAGE = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
USE = {"type": "tool_use", "id": "u1", "name": "add", "input": {"a": 1}}
TOOL = {"name": "add", "inputSchema": {"type": "object"}}


def asked(content: Any = TEXT, role: Any = "user", **more: Any) -> dict[str, Any]:
    return {"messages": [{"role": role, "content": content}], "maxTokens": 100} | more


FULL = {
    "messages": [
        {"role": "user", "content": TEXT | {"annotations": {"priority": 1}}},
        {"role": "assistant", "content": [TEXT, USE | {"_meta": {"cache": 1}}]},
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "toolUseId": "u1",
                    "content": [
                        TEXT | {"_meta": {}},
                        IMAGE | {"annotations": {}, "_meta": {}},
                        {"type": "audio", "data": "", "mimeType": "audio/wav"},
                        {
                            "type": "resource",
                            "resource": {"uri": "a:b", "text": "x"},
                            "annotations": {},
                            "_meta": {},
                        },
                        {
                            "type": "resource",
                            "resource": {"uri": "a:b", "blob": "", "mimeType": "x/y", "_meta": {}},
                        },
                    ],
                    "structuredContent": [1],
                    "isError": False,
                    "_meta": {},
                }
            ],
            "_meta": {},
        },
        {"role": "user", "content": {"type": "audio", "data": "", "mimeType": "audio/wav"}},
    ],
    "modelPreferences": {
        "hints": [{"name": "small"}, {}],
        "costPriority": 1,
        "speedPriority": 0.5,
        "intelligencePriority": 0,
    },
    "systemPrompt": "be brief",
    "temperature": 0.2,
    "maxTokens": 100,
    "stopSequences": ["\n"],
    "metadata": {"user": "x"},
    "tools": [
        TOOL
        | {
            "title": "Add",
            "description": "Adds",
            "outputSchema": {},
            "annotations": {"readOnlyHint": True},
        }
    ],
    "toolChoice": {"mode": "required"},
    "_meta": {"traceparent": "00-1", "com.example/x": 1},
    "includeContext": "none",
}


def test_all_that_the_protocol_has_is_passed_on_as_it_is() -> None:
    before = copy.deepcopy(FULL)
    assert passed_sampling(FULL) == FULL
    assert before == FULL


@pytest.mark.parametrize("wanted", ["thisServer", "allServers", "NONE", "", None, ["none"], 1])
def test_no_context_of_others_goes_with_it(wanted: Any) -> None:
    assert passed_sampling(asked(includeContext=wanted)) == asked()


@pytest.mark.parametrize("task", [{}, {"ttl": 1}, None])
def test_a_task_is_refused(task: Any) -> None:
    assert passed_sampling(asked(task=task)) == "a task is not passed on"


def test_members_that_nobody_knows_are_left_out_at_every_place() -> None:
    extra = {"x": 1}
    params = {
        "messages": [
            {"role": "user", "content": TEXT | extra} | extra,
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "toolUseId": "u",
                        "content": [
                            {"type": "resource", "resource": {"uri": "a", "text": ""} | extra}
                            | extra
                        ],
                    }
                    | extra
                ],
            },
        ],
        "modelPreferences": {"hints": [{"name": "a"} | extra]} | extra,
        "maxTokens": 1,
        "tools": [TOOL | {"icons": [{"src": "https://evil.example/beacon"}]} | extra],
        "toolChoice": {"mode": "auto"} | extra,
    }
    passed = passed_sampling(params | extra)
    assert isinstance(passed, dict)
    assert "'x'" not in str(passed)
    assert "icons" not in str(passed)
    assert passed["messages"][0] == {"role": "user", "content": TEXT}


@pytest.mark.parametrize(
    "name",
    [
        "progressToken",
        "io.modelcontextprotocol/related-task",
        "io.modelcontextprotocol/clientInfo",
        "IO.ModelContextProtocol/protocolVersion",
        "modelcontextprotocol.io/x",
        "mcp/x",
        "mcp.dev/x",
        "com.mcp.tools/x",
        "a.b.mcp/",
        "mcp-jail/run",
        "org.MCP-jail.x/y",
    ],
)
def test_metadata_in_the_name_of_the_protocol_or_of_us_is_left_out(name: str) -> None:
    meta = {name: 1, "kept": 2}
    passed = passed_sampling(asked(TEXT | {"_meta": meta}, _meta=meta))
    assert isinstance(passed, dict)
    assert passed["_meta"] == {"kept": 2}
    assert passed["messages"][0]["content"]["_meta"] == {"kept": 2}


@pytest.mark.parametrize("name", ["mcp", "x/mcp.y/", "com.example.mcpx/y", "xmcp/y", "a/b", ""])
def test_other_metadata_is_kept(name: str) -> None:
    assert passed_sampling(asked(_meta={name: 1})) == asked(_meta={name: 1})


@pytest.mark.parametrize(
    ("params", "told"),
    [
        ({"maxTokens": 1}, "messages is missing"),
        ({"messages": [{"role": "user", "content": TEXT}]}, "maxTokens is missing"),
        (asked(messages={}), "messages is no list"),
        (asked(messages=[]), "messages is empty"),
        (asked(messages=["hi"]), "a message is no object"),
        (asked(messages=[{"role": "user"}]), "a message has no content"),
        (asked(messages=[{"content": TEXT}]), "a message has the role null"),
        (asked(role="system"), "a message has the role 'system'"),
        (asked(role=["user"]), 'a message has the role ["user"]'),
        (asked("hi"), "content is no object"),
        (asked([]), "a message is empty"),
        (asked(["hi"]), "content is no object"),
        (asked([[TEXT]]), "content is no object"),
        (asked({"text": "hi"}), "content of the kind null"),
        (asked({"type": "resource_link", "uri": "file:///x"}), "the kind 'resource_link'"),
        (asked({"type": "resource", "resource": {}}), "the kind 'resource'"),
        (asked({"type": "Text", "text": "hi"}), "content of the kind 'Text' is not passed on"),
        (asked({"type": ["text"]}), 'the kind ["text"]'),
        (asked({"type": "text"}), "text has no text"),
        (asked({"type": "text", "text": 1}), "text is no text"),
        (asked(TEXT | {"annotations": 1}), "annotations is no object"),
        (asked(TEXT | {"_meta": 1}), "_meta is no object"),
        (asked({"type": "image", "data": ""}), "image has no mimeType"),
        (asked({"type": "audio", "mimeType": ""}), "audio has no data"),
        (asked(IMAGE | {"data": 1}), "data is no text"),
        (asked(USE), "tool_use in a message whose role is not 'assistant'"),
        (asked(USE | {"input": []}, "assistant"), "input is no object"),
        (asked({"type": "tool_use", "name": "a", "input": {}}, "assistant"), "tool_use has no id"),
        (asked({"type": "tool_use", "id": "a", "input": {}}, "assistant"), "has no name"),
        (asked({"type": "tool_use", "id": "a", "name": "a"}, "assistant"), "has no input"),
        (
            asked({"type": "tool_result", "toolUseId": "u"}, "assistant"),
            "tool_result in a message whose role is not 'user'",
        ),
        (asked({"type": "tool_result"}), "tool_result has no toolUseId"),
        (asked({"type": "tool_result", "toolUseId": "u", "isError": 1}), "isError is neither"),
        (asked({"type": "tool_result", "toolUseId": "u", "content": TEXT}), "content is no list"),
        (
            asked({"type": "tool_result", "toolUseId": "u", "content": [USE]}),
            "the kind 'tool_use'",
        ),
        (
            asked(
                {
                    "type": "tool_result",
                    "toolUseId": "u",
                    "content": [{"type": "resource_link", "uri": "file:///etc/passwd"}],
                }
            ),
            "the kind 'resource_link'",
        ),
        (
            asked({"type": "tool_result", "toolUseId": "u", "content": [{"type": "resource"}]}),
            "resource has no resource",
        ),
        (
            asked(
                {
                    "type": "tool_result",
                    "toolUseId": "u",
                    "content": [{"type": "resource", "resource": {"text": ""}}],
                }
            ),
            "resource has no uri",
        ),
        (
            asked(
                {
                    "type": "tool_result",
                    "toolUseId": "u",
                    "content": [{"type": "resource", "resource": {"uri": "a"}}],
                }
            ),
            "no text and no blob",
        ),
        (asked(maxTokens=0), "maxTokens is not a number from 1 to 131072"),
        (asked(maxTokens=131_073), "maxTokens is not"),
        (asked(maxTokens=True), "maxTokens is not"),
        (asked(maxTokens=1.5), "maxTokens is not"),
        (asked(maxTokens="9"), "maxTokens is not"),
        (asked(temperature="hot"), "temperature is no number"),
        (asked(temperature=True), "temperature is no number"),
        (asked(systemPrompt=["x"]), "systemPrompt is no text"),
        (asked(stopSequences="x"), "stopSequences is no list"),
        (asked(stopSequences=[1]), "a stop sequence is no text"),
        (asked(stopSequences=["x"] * 33), "stopSequences has more than 32"),
        (asked(metadata=[]), "metadata is no object"),
        (asked(_meta=[]), "_meta is no object"),
        (asked(modelPreferences="big"), "modelPreferences is no object"),
        (asked(modelPreferences={"hints": {}}), "hints is no list"),
        (asked(modelPreferences={"hints": [{}] * 33}), "hints has more than 32"),
        (asked(modelPreferences={"hints": ["a"]}), "a hint is no object"),
        (asked(modelPreferences={"hints": [{"name": 1}]}), "name is no text"),
        (asked(modelPreferences={"costPriority": "1"}), "costPriority is no number"),
        (asked(tools={}), "tools is no list"),
        (asked(tools=["a"]), "a tool is no object"),
        (asked(tools=[{"inputSchema": {}}]), "a tool has no name"),
        (asked(tools=[{"name": "a"}]), "a tool has no inputSchema"),
        (asked(tools=[TOOL, TOOL | {"title": "x"}]), "two tools have the same name"),
        (asked(tools=[TOOL | {"inputSchema": "x"}]), "inputSchema is no object"),
        (asked(tools=[TOOL | {"name": str(n)} for n in range(129)]), "tools has more than 128"),
        (asked(toolChoice="auto"), "toolChoice is no object"),
        (asked(toolChoice={"mode": "any"}), "toolChoice has the mode 'any'"),
        (asked(toolChoice={"mode": 1}), "mode is no text"),
        (asked([TEXT] * 101), "content has more than 100 items"),
        (asked(messages=[{"role": "user", "content": TEXT}] * 201), "messages has more than 200"),
    ],
)
def test_what_is_not_of_the_protocols_shape_is_refused(params: dict[str, Any], told: str) -> None:
    reason = passed_sampling(params)
    assert isinstance(reason, str)
    assert told in reason


@pytest.mark.parametrize(
    "params",
    [
        asked(maxTokens=1),
        asked(maxTokens=sampling.TOKENS_LIMIT),
        asked([TEXT] * sampling.BLOCKS_LIMIT),
        asked(messages=[{"role": "user", "content": TEXT}] * sampling.MESSAGES_LIMIT),
        asked(tools=[TOOL | {"name": str(n)} for n in range(sampling.TOOLS_LIMIT)]),
        asked(stopSequences=["x"] * sampling.STOPS_LIMIT),
        asked(toolChoice={}, tools=[]),
        asked(toolChoice={"mode": "none"}),
    ],
)
def test_what_is_just_within_the_limits_is_passed_on(params: dict[str, Any]) -> None:
    assert passed_sampling(params) == params


def long_at(size: int) -> list[dict[str, Any]]:
    text = "x" * size
    result = {"type": "tool_result", "toolUseId": "u"}
    inner = {"type": "resource", "resource": {"uri": "a", "text": text}}
    return [
        asked(TEXT | {"text": text}),
        asked(systemPrompt=text),
        asked(tools=[TOOL | {"description": text}]),
        asked(tools=[TOOL | {"inputSchema": {"a": [text]}}]),
        asked(result | {"structuredContent": {"type": "image", "data": text}}),
        asked(result | {"content": [inner]}),
        asked(metadata={"a": text}),
        asked(USE | {"input": {"blob": text}}, "assistant"),
    ]


def test_text_at_any_place_counts() -> None:
    for params in long_at(sampling.TEXT_LIMIT - 500):
        assert passed_sampling(params) == params
    for params in long_at(sampling.TEXT_LIMIT):
        reason = passed_sampling(params)
        assert reason == "the request has more than 1000000 bytes beside its media"


def test_media_do_not_count() -> None:
    data = "aGk=" * (sampling.TEXT_LIMIT // 4)
    image = IMAGE | {"data": data}
    blob = {"type": "resource", "resource": {"uri": "a", "blob": data}}
    result = {"type": "tool_result", "toolUseId": "u", "content": [image, blob]}
    params = asked([image, {"type": "audio", "data": data, "mimeType": "audio/wav"}, result])
    assert passed_sampling(params) == params


def test_the_last_byte_counts() -> None:
    room = sampling.TEXT_LIMIT - len(
        '{"messages":[{"role":"user","content":{"type":"text","text":""}}],"maxTokens":100}'
    )
    assert isinstance(passed_sampling(asked(TEXT | {"text": "x" * room})), dict)
    assert isinstance(passed_sampling(asked(TEXT | {"text": "x" * (room + 1)})), str)


ANSWER = {"role": "assistant", "model": "m", "content": TEXT}


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"stopReason": "endTurn", "_meta": {}, "resultType": "complete"},
        {"stopReason": None},
        {"content": IMAGE},
        {"content": [TEXT, USE], "stopReason": "toolUse"},
        {"role": "user"},
    ],
)
def test_an_answer_of_a_model_goes_to_the_server(more: dict[str, Any]) -> None:
    assert fault_of_sampled(ANSWER | more) is None


@pytest.mark.parametrize(
    ("result", "told"),
    [
        ({}, "model is no text"),
        (ANSWER | {"model": 1}, "model is no text"),
        (ANSWER | {"stopReason": 1}, "stopReason is no text"),
        (ANSWER | {"role": "tool"}, "a message has the role 'tool'"),
        ({"role": "assistant", "model": "m"}, "content is no object"),
        (ANSWER | {"content": []}, "a message is empty"),
        (ANSWER | {"content": {"type": "resource_link", "uri": "file:///x"}}, "'resource_link'"),
        (ANSWER | {"content": USE, "role": "user"}, "tool_use in a message"),
        (
            ANSWER | {"content": [TEXT, {"type": "tool_result", "toolUseId": "u"}], "role": "user"},
            "an answer has no 'tool_result'",
        ),
        (
            ANSWER | {"content": {"type": "tool_result", "toolUseId": "u"}, "role": "user"},
            "an answer has no 'tool_result'",
        ),
        (ANSWER | {"context": "all"}, "an answer has no 'context'"),
        (ANSWER | {"resultType": "task"}, "an answer is complete"),
    ],
)
def test_an_answer_with_more_or_else_is_held_back(result: dict[str, Any], told: str) -> None:
    fault = fault_of_sampled(result)
    assert fault is not None
    assert told in fault
