"""What a message means in MCP, in both protocol eras, and the shapes we send ourselves.

Legacy is the `initialize` handshake (2024-11-05 to 2025-11-25); modern is 2026-07-28, where every
request carries its metadata in `params._meta` and every result a `resultType`. A method that is in
no table here is refused in either direction: what we do not understand we cannot hold to a policy.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

import msgspec
from msgspec import Raw

from mcp_jail.core.wire import MessageId, as_id

PREFIX = "io.modelcontextprotocol/"
VERSION_KEY = PREFIX + "protocolVersion"
CLIENT_CAPABILITIES_KEY = PREFIX + "clientCapabilities"
SUBSCRIPTION_KEY = PREFIX + "subscriptionId"

# JSON-RPC 2.0 section 5.1 for what the protocol names; ours lie outside -32768..-32000.
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
DENIED = 4030
TOO_LARGE = 4130
SERVER_GONE = 5030

# 2025-11-25: an error that asks the client to send the user to a URL.
URL_ELICITATION_REQUIRED = -32042


class Era(Enum):
    """Which of the two protocols a request speaks."""

    LEGACY = "legacy"
    MODERN = "modern"


class Treatment(Enum):
    """What the session does with a request of the client."""

    OPEN = "open"  # initialize, server/discover: capabilities are cut down on both ways
    FORWARD = "forward"
    LIST = "list"  # decoded whole on the way back, denied items left out
    CALL_TOOL = "tool"
    READ_RESOURCE = "resource"
    GET_PROMPT = "prompt"
    LISTEN = "listen"


CLIENT_REQUESTS: dict[str, Treatment] = {
    "initialize": Treatment.OPEN,
    "server/discover": Treatment.OPEN,
    "ping": Treatment.FORWARD,
    "logging/setLevel": Treatment.FORWARD,
    "tools/list": Treatment.LIST,
    "resources/list": Treatment.LIST,
    "resources/templates/list": Treatment.LIST,
    "prompts/list": Treatment.LIST,
    "tools/call": Treatment.CALL_TOOL,
    "resources/read": Treatment.READ_RESOURCE,
    "resources/subscribe": Treatment.READ_RESOURCE,
    "resources/unsubscribe": Treatment.READ_RESOURCE,
    "prompts/get": Treatment.GET_PROMPT,
    "subscriptions/listen": Treatment.LISTEN,
}

# The members that the params of a request may have when nothing about it is judged; any other is
# left out. An answer to a question nobody passed on (`inputResponses`) must not go back with it.
PARAMS_PASSED: dict[str, frozenset[str]] = {
    "initialize": frozenset({"protocolVersion", "capabilities", "clientInfo", "_meta"}),
    "server/discover": frozenset({"_meta"}),
    "ping": frozenset({"_meta"}),
    "logging/setLevel": frozenset({"level", "_meta"}),
    "tools/list": frozenset({"cursor", "_meta"}),
    "resources/list": frozenset({"cursor", "_meta"}),
    "resources/templates/list": frozenset({"cursor", "_meta"}),
    "prompts/list": frozenset({"cursor", "_meta"}),
    "subscriptions/listen": frozenset({"notifications", "_meta"}),
}

# The member of a list result that holds the items, and the member that names an item.
LISTED: dict[str, tuple[str, str]] = {
    "tools/list": ("tools", "name"),
    "resources/list": ("resources", "uri"),
    "resources/templates/list": ("resourceTemplates", "uriTemplate"),
    "prompts/list": ("prompts", "name"),
}

# Roots, sampling and elicitation are the server's requests; nobody is asked on its behalf yet, so
# a client that offers them is not told on to the server. Roots are answered by us.
CLIENT_CAPABILITIES_PASSED = frozenset({"roots"})
SERVER_CAPABILITIES_PASSED = frozenset({"tools", "resources", "prompts", "logging"})

SERVER_NOTIFICATIONS_PASSED = frozenset(
    {
        "notifications/message",
        "notifications/tools/list_changed",
        "notifications/resources/list_changed",
        "notifications/prompts/list_changed",
        "notifications/resources/updated",
        "notifications/subscriptions/acknowledged",
    }
)


_WANTS = frozenset({"inputRequests", "requestState", "task"})


def era_of(params: dict[str, Any]) -> Era:
    """The era a request speaks: modern has the protocol version in its `_meta`."""
    meta = params.get("_meta")
    return Era.MODERN if type(meta) is dict and VERSION_KEY in meta else Era.LEGACY


def progress_token(params: dict[str, Any]) -> MessageId | None:
    """The token a request's progress will carry, None where it asks for no progress."""
    meta = params.get("_meta")
    return as_id(meta.get("progressToken")) if type(meta) is dict else None


def offered_to_server(method: str, params: dict[str, Any]) -> dict[str, Any]:
    """The params of a client's request, with members and capabilities cut to those passed on."""
    passed = PARAMS_PASSED.get(method)
    if passed is not None and not params.keys() <= passed:
        params = {name: value for name, value in params.items() if name in passed}
    if method == "initialize":
        return params | {
            "capabilities": _cut(params.get("capabilities"), CLIENT_CAPABILITIES_PASSED)
        }
    meta = params.get("_meta")
    if type(meta) is not dict or CLIENT_CAPABILITIES_KEY not in meta:
        return params
    cut = _cut(meta[CLIENT_CAPABILITIES_KEY], CLIENT_CAPABILITIES_PASSED)
    return params | {"_meta": meta | {CLIENT_CAPABILITIES_KEY: cut}}


def offered_to_client(result: dict[str, Any]) -> dict[str, Any]:
    """The answer to an opening request with the server's capabilities cut to those we pass on."""
    cut = _cut(result.get("capabilities"), SERVER_CAPABILITIES_PASSED)
    return kept_fresh(result | {"capabilities": cut})


def kept_fresh(result: dict[str, Any]) -> dict[str, Any]:
    """A result that no client may keep: a revoked tool must not live on in a cache (2026-07-28)."""
    fresh = dict(result)
    if "ttlMs" in fresh:
        fresh["ttlMs"] = 0
    if "cacheScope" in fresh:
        fresh["cacheScope"] = "private"
    return fresh


def tool_refusal(text: str, era: Era) -> dict[str, Any]:
    """The result that tells a model its call was refused; not an error, so that it reads it."""
    result: dict[str, Any] = {"content": [{"type": "text", "text": text}], "isError": True}
    if era is Era.MODERN:
        result["resultType"] = "complete"
    return result


def asks_for_more(members: Mapping[str, Any]) -> bool:
    """Whether a result is not the answer but wants input or time first (2026-07-28, tasks).

    Its members may be raw or decoded.
    """
    kind = members.get("resultType", "complete")
    if (bytes(kind) != b'"complete"') if isinstance(kind, Raw) else kind != "complete":
        return True
    return not _WANTS.isdisjoint(members)


def is_error_result(members: dict[str, Raw]) -> bool:
    """Whether a `tools/call` result says that the tool failed."""
    flag = members.get("isError")
    return flag is not None and bytes(flag) == b"true"


def declared_arguments(tool: dict[str, Any]) -> frozenset[str]:
    """The top-level argument names that a listed tool's own schema declares."""
    schema = tool.get("inputSchema")
    properties = schema.get("properties") if type(schema) is dict else None
    return frozenset(properties) if type(properties) is dict else frozenset()


def error_of_server(error: dict[str, Any]) -> dict[str, Any] | None:
    """A server's error cut to the three members of JSON-RPC 2.0; None when it is none."""
    code, message = error.get("code"), error.get("message")
    if type(code) is not int or type(message) is not str:
        return None
    kept = {"code": code, "message": message}
    if "data" in error:
        kept["data"] = error["data"]
    return kept


def _cut(capabilities: Any, passed: frozenset[str]) -> dict[str, Any]:
    if type(capabilities) is not dict:
        return {}
    return {name: value for name, value in capabilities.items() if name in passed}


class Listed(msgspec.Struct, frozen=True):
    """One item of a list result as far as the session needs it."""

    name: str
    item: dict[str, Any]


def listed(method: str, result: dict[str, Any]) -> list[Listed] | None:
    """The items of a list result, None where the shape is not the method's."""
    member, key = LISTED[method]
    items = result.get(member)
    if type(items) is not list:
        return None
    found = []
    for item in items:
        if type(item) is not dict or type(item.get(key)) is not str:
            return None
        found.append(Listed(item[key], item))
    return found
