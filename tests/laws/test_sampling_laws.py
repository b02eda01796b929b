"""Laws of sampling: nothing raises, what is passed has known members only and passes again."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mcp_jail.core.conversation.sampling import fault_of_sampled, passed_sampling

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | words
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)
texts = st.fixed_dictionaries({"type": st.just("text"), "text": words})
blocks = st.one_of(
    texts,
    texts | st.fixed_dictionaries({"type": words, "text": values, "x": values}),
    st.fixed_dictionaries({"type": st.just("image"), "data": words, "mimeType": words}),
    st.fixed_dictionaries(
        {"type": st.just("tool_use"), "id": words, "name": words, "input": st.just({})}
    ),
    st.fixed_dictionaries({"type": st.just("tool_result"), "toolUseId": words}),
    values,
)
messages = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant"]), "content": texts | blocks | st.lists(blocks)},
    optional={"_meta": st.dictionaries(words, values, max_size=2), "x": values},
)
members = {
    "messages": st.lists(messages, max_size=3) | values,
    "maxTokens": st.integers(-1, 200_000) | values,
    "modelPreferences": st.just({"hints": [{"name": "a", "b": 1}]}) | values,
    "systemPrompt": words | values,
    "temperature": st.floats(0, 2) | values,
    "tools": st.just([{"name": "a", "inputSchema": {}, "x": 1}]) | values,
    "toolChoice": st.sampled_from([{"mode": "auto"}, {"mode": "none", "x": 1}]) | values,
    "includeContext": st.sampled_from(["none", "allServers", "thisServer"]) | values,
    "_meta": st.dictionaries(words | st.just("progressToken"), values, max_size=2) | values,
    "unknown": values,
}
any_params = st.fixed_dictionaries({}, optional=members | {"task": values})
good = st.fixed_dictionaries(
    {"messages": st.lists(messages, min_size=1, max_size=3), "maxTokens": st.integers(1, 999)},
    optional={key: members[key] for key in ("includeContext", "unknown", "systemPrompt")},
)
PASSED = {
    *("messages", "modelPreferences", "systemPrompt", "temperature", "maxTokens", "_meta"),
    *("stopSequences", "metadata", "tools", "toolChoice", "includeContext"),
}


@given(any_params | good)
def test_what_is_passed_has_known_members_and_passes_again(params: dict[str, Any]) -> None:
    passed = passed_sampling(params)
    if isinstance(passed, str):
        assert passed
        return
    assert passed.keys() <= PASSED & params.keys()
    assert passed.get("includeContext", "none") == "none"
    assert "progressToken" not in passed.get("_meta", {})
    assert all(message.keys() <= {"role", "content", "_meta"} for message in passed["messages"])
    assert passed_sampling(passed) == passed


@given(good, values)
def test_a_task_never_passes(params: dict[str, Any], task: Any) -> None:
    assert isinstance(passed_sampling(params | {"task": task}), str)


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "role": words | st.just("assistant"),
            "content": blocks | st.lists(blocks),
            "model": words | values,
            "stopReason": words | values,
            "x": values,
        },
    )
)
def test_no_answer_makes_the_check_raise(result: dict[str, Any]) -> None:
    fault = fault_of_sampled(result)
    assert fault is None or fault
    if fault is None:
        assert result.keys() <= {"role", "content", "model", "stopReason"}
