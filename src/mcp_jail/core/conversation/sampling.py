"""What of a server's `sampling/createMessage` may go to a client, and what may come back.

The server gets the use of the user's model, no more: nothing of other servers or of this one's
calls (`includeContext`), no task that lives on after the answer, no member that we do not know.
Everything passed is built anew from known members (2024-11-05 to 2026-07-28).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec

from mcp_jail.core.rules.constraints import quoted
from mcp_jail.core.text.hidden import has_hidden

# Messages of one request, blocks of one message or tool result, tools.
MESSAGES_LIMIT = 200
BLOCKS_LIMIT = 100
TOOLS_LIMIT = 128
STOPS_LIMIT = 32

# Bytes of one request as JSON, without the data of its images, sounds and blobs: all that a model
# would read as text, wherever it stands. About 250,000 tokens.
TEXT_LIMIT = 1_000_000

# Tokens of one answer; no model writes more at once.
TOKENS_LIMIT = 131_072


def passed_sampling(params: dict[str, Any]) -> dict[str, Any] | str:
    """The params as they may go to a client, or the reason why nothing may.

    Left out without a word: members that nobody knows, `includeContext` (unless it is "none"), and
    names of the protocol's own in `_meta`. A known member of another shape is refused.
    """
    if "task" in params:
        return "a task is not passed on"
    try:
        passed = {key: cut(key, params[key]) for key, cut in _PARAMS.items() if key in params}
        for key in ("messages", "maxTokens"):
            _hold(key in passed, f"{key} is missing")
        size = len(msgspec.json.encode(passed)) - _media_in(passed["messages"])
        _hold(size <= TEXT_LIMIT, f"the request has more than {TEXT_LIMIT} bytes beside its media")
    except _RefusedError as refused:
        return str(refused)
    if params.get("includeContext") == "none":
        passed["includeContext"] = "none"
    return passed


def fault_of_sampled(result: dict[str, Any]) -> str | None:
    """Why a client's answer may not go to the server; None if it may."""
    unknown = sorted(result.keys() - _ANSWER_MEMBERS)
    if unknown:
        return f"an answer has no {quoted(unknown[0])}"
    try:
        _text("model", result.get("model"))
        if result.get("stopReason") is not None:
            _text("stopReason", result["stopReason"])
        _hold(result.get("resultType", "complete") == "complete", "an answer is complete")
        message = _message({"role": result.get("role"), "content": result.get("content")})
    except _RefusedError as refused:
        return str(refused)
    if any(block["type"] == "tool_result" for block in _as_list(message["content"])):
        return "an answer has no 'tool_result'"
    return None


class _RefusedError(Exception):
    """Something that is not of the protocol's shape; the text says what."""


def _hold(condition: bool, reason: str) -> None:  # noqa: FBT001  (reads as a sentence)
    if not condition:
        raise _RefusedError(reason)


def _text(what: str, value: Any) -> str:
    if type(value) is not str:
        raise _RefusedError(f"{what} is no text")
    return value


def _word(what: str, value: Any) -> str:
    """A name or an id, which is compared and not read: two of them must not look the same."""
    text = _text(what, value)
    _hold(not has_hidden(text), f"{what} has hidden characters")
    return text


def _object(what: str, value: Any) -> dict[str, Any]:
    if type(value) is not dict:
        raise _RefusedError(f"{what} is no object")
    return value


def _list(what: str, value: Any, limit: int) -> list[Any]:
    if type(value) is not list:
        raise _RefusedError(f"{what} is no list")
    _hold(len(value) <= limit, f"{what} has more than {limit} items")
    return value


def _number(what: str, value: Any) -> int | float:
    if type(value) is not int and type(value) is not float:
        raise _RefusedError(f"{what} is no number")
    return value


def _flag(what: str, value: Any) -> bool:
    if type(value) is not bool:
        raise _RefusedError(f"{what} is neither true nor false")
    return value


def _kept(what: str, value: Any, cuts: _Cuts) -> dict[str, Any]:
    """The known members of an object, each cut in its own way."""
    found = _object(what, value)
    return {key: cut(key, found[key]) for key, cut in cuts.items() if key in found}


def _need(what: str, value: dict[str, Any], *keys: str) -> None:
    for key in keys:
        _hold(key in value, f"{what} has no {key}")


def _anything(_what: str, value: Any) -> Any:
    return value


# Names of `_meta` are `prefix/name`. Which label of the prefix makes it the protocol's own differs
# between 2025-06-18 and 2025-11-25, so any does.
_RESERVED = re.compile(r"(?:[^/]*\.)?(?:modelcontextprotocol|mcp)(?:\.[^/]*)?/")


def _meta(what: str, value: Any) -> dict[str, Any]:
    """Metadata without the protocol's names, ours, and a token for progress we do not pass on."""
    return {
        key: inner
        for key, inner in _object(what, value).items()
        if not _RESERVED.match(key.lower())
        and "mcp-jail" not in key.lower()
        and key != "progressToken"
    }


def _messages(what: str, value: Any) -> list[dict[str, Any]]:
    messages = [_message(message) for message in _list(what, value, MESSAGES_LIMIT)]
    _hold(bool(messages), f"{what} is empty")
    return messages


def _message(value: Any) -> dict[str, Any]:
    message = _kept("a message", value, {"role": _anything, "content": _anything, "_meta": _meta})
    _hold(message.get("role") in _ROLES, f"a message has the role {quoted(message.get('role'))}")
    _need("a message", message, "content")
    content = message["content"]
    if type(content) is not list:
        return message | {"content": _block(content, message["role"])}
    blocks = [_block(block, message["role"]) for block in _list("content", content, BLOCKS_LIMIT)]
    _hold(bool(blocks), "a message is empty")
    return message | {"content": blocks}


_ROLES = ("user", "assistant")


def _block(value: Any, role: str) -> dict[str, Any]:
    block = _known_block(value, _BLOCKS)
    kind = block["type"]
    speaker = _SPOKEN_BY.get(kind, role)
    _hold(role == speaker, f"{kind} in a message whose role is not {speaker!r}")
    return block


# Who calls a tool, and who says what it gave (2025-11-25).
_SPOKEN_BY = {"tool_use": "assistant", "tool_result": "user"}


def _known_block(value: Any, kinds: dict[str, tuple[_Cuts, tuple[str, ...]]]) -> dict[str, Any]:
    kind = _object("content", value).get("type")
    if type(kind) is not str or kind not in kinds:
        raise _RefusedError(f"content of the kind {quoted(kind)} is not passed on")
    cuts, needed = kinds[kind]
    block = {"type": kind} | _kept(kind, value, cuts)
    _need(kind, block, *needed)
    return block


def _inner_blocks(what: str, value: Any) -> list[dict[str, Any]]:
    return [_known_block(block, _INNER_BLOCKS) for block in _list(what, value, BLOCKS_LIMIT)]


def _resource(what: str, value: Any) -> dict[str, Any]:
    cuts: _Cuts = {"uri": _text, "mimeType": _text, "text": _text, "blob": _text, "_meta": _meta}
    resource = _kept(what, value, cuts)
    _need(what, resource, "uri")
    _hold("text" in resource or "blob" in resource, "resource has no text and no blob")
    return resource


def _preferences(what: str, value: Any) -> dict[str, Any]:
    return _kept(
        what,
        value,
        {
            "hints": _hints,
            "costPriority": _number,
            "speedPriority": _number,
            "intelligencePriority": _number,
        },
    )


def _hints(what: str, value: Any) -> list[dict[str, Any]]:
    return [_kept("a hint", hint, {"name": _text}) for hint in _list(what, value, STOPS_LIMIT)]


def _max_tokens(what: str, value: Any) -> int:
    if type(value) is not int or not 0 < value <= TOKENS_LIMIT:
        raise _RefusedError(f"{what} is not a number from 1 to {TOKENS_LIMIT}")
    return value


def _stops(what: str, value: Any) -> list[str]:
    return [_text("a stop sequence", stop) for stop in _list(what, value, STOPS_LIMIT)]


def _tools(what: str, value: Any) -> list[dict[str, Any]]:
    tools = [_tool(tool) for tool in _list(what, value, TOOLS_LIMIT)]
    _hold(len({tool["name"] for tool in tools}) == len(tools), "two tools have the same name")
    return tools


def _tool(value: Any) -> dict[str, Any]:
    tool = _kept(
        "a tool",
        value,
        {
            "name": _word,
            "title": _text,
            "description": _text,
            "inputSchema": _object,
            "outputSchema": _object,
            "annotations": _object,
        },
    )
    _need("a tool", tool, "name", "inputSchema")
    return tool


def _choice(what: str, value: Any) -> dict[str, Any]:
    choice = _kept(what, value, {"mode": _text})
    mode = choice.get("mode", "auto")
    _hold(mode in _MODES, f"{what} has the mode {quoted(mode)}")
    return choice


_MODES = ("auto", "required", "none")

_Cuts = dict[str, Callable[[str, Any], Any]]

_PARAMS: _Cuts = {
    "messages": _messages,
    "modelPreferences": _preferences,
    "systemPrompt": _text,
    "temperature": _number,
    "maxTokens": _max_tokens,
    "stopSequences": _stops,
    "metadata": _object,
    "tools": _tools,
    "toolChoice": _choice,
    "_meta": _meta,
}
_ANSWER_MEMBERS = frozenset({"role", "content", "model", "stopReason", "resultType", "_meta"})

_MEDIA: tuple[_Cuts, tuple[str, ...]] = (
    {"data": _text, "mimeType": _text, "annotations": _object, "_meta": _meta},
    ("data", "mimeType"),
)
_INNER_BLOCKS: dict[str, tuple[_Cuts, tuple[str, ...]]] = {
    "text": ({"text": _text, "annotations": _object, "_meta": _meta}, ("text",)),
    "image": _MEDIA,
    "audio": _MEDIA,
    "resource": ({"resource": _resource, "annotations": _object, "_meta": _meta}, ("resource",)),
}
_BLOCKS: dict[str, tuple[_Cuts, tuple[str, ...]]] = {
    "text": _INNER_BLOCKS["text"],
    "image": _MEDIA,
    "audio": _MEDIA,
    "tool_use": (
        {"id": _word, "name": _word, "input": _object, "_meta": _meta},
        ("id", "name", "input"),
    ),
    "tool_result": (
        {
            "toolUseId": _word,
            "content": _inner_blocks,
            "structuredContent": _anything,
            "isError": _flag,
            "_meta": _meta,
        },
        ("toolUseId",),
    ),
}


def _media_in(messages: list[dict[str, Any]]) -> int:
    """Characters of base64 in messages, which are bytes of their JSON."""
    return sum(_media_of(block) for message in messages for block in _as_list(message["content"]))


def _media_of(block: dict[str, Any]) -> int:
    match block["type"]:
        case "image" | "audio":
            return len(block["data"])
        case "resource":
            return len(block["resource"].get("blob", ""))
        case "tool_result":
            return sum(map(_media_of, block.get("content", ())))
        case _:
            return 0


def _as_list(content: Any) -> list[Any]:
    return content if type(content) is list else [content]
