"""What a message means in MCP, in both protocol eras, and the shapes we send ourselves.

Legacy is the `initialize` handshake (2024-11-05 to 2025-11-25); modern is 2026-07-28, where every
request carries its metadata in `params._meta` and every result a `resultType`. A method that is in
no table here is refused in either direction: what we do not understand we cannot hold to a policy.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

from msgspec import Raw

from mcp_jail.core.approved.listed import Item
from mcp_jail.core.protocol.wire import MessageId, as_id

PREFIX = "io.modelcontextprotocol/"
VERSION_KEY = PREFIX + "protocolVersion"
CLIENT_CAPABILITIES_KEY = PREFIX + "clientCapabilities"
CLIENT_INFO_KEY = PREFIX + "clientInfo"
LOG_LEVEL_KEY = PREFIX + "logLevel"
SERVER_INFO_KEY = PREFIX + "serverInfo"
SUBSCRIPTION_KEY = PREFIX + "subscriptionId"
RELATED_TASK_KEY = PREFIX + "related-task"
TASKS_EXTENSION = PREFIX + "tasks"

# JSON-RPC 2.0 section 5.1 for what the protocol names; ours lie outside -32768..-32000.
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
UNSUPPORTED_VERSION = -32022  # 2026-07-28: `data.supported` names those it speaks
MISSING_CAPABILITY = -32021  # 2026-07-28: the client did not say that it can do this
DENIED = 4030
WAITING = 4080
TOO_LARGE = 4130
TOO_OFTEN = 4290
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
    COMPLETE = "complete"
    LISTEN = "listen"
    WALK = "walk"  # our own listing; its answer goes to nobody
    OURS = "ours"  # another request of our own
    TASK = "task"  # about one task, which must be of this run
    LIST_TASKS = "tasks"


class ResultKind(Enum):
    """What a result is: the answer, or something that comes before it."""

    COMPLETE = "complete"
    INPUT_REQUIRED = "input_required"  # 2026-07-28: questions first
    TASK = "task"  # the answer comes later (2025-11-25, and the extension of 2026-07-28)
    UNKNOWN = "unknown"


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
    "completion/complete": Treatment.COMPLETE,
    "subscriptions/listen": Treatment.LISTEN,
    "tasks/get": Treatment.TASK,
    "tasks/result": Treatment.TASK,
    "tasks/update": Treatment.TASK,
    "tasks/cancel": Treatment.TASK,
    "tasks/list": Treatment.LIST_TASKS,
}

# Methods that only one era has. `ping` is answered in both; `initialize` without metadata is legacy
# by that, and a probe for the modern era may come without.
ONLY_IN_ERA: dict[str, Era] = {
    "initialize": Era.LEGACY,
    "logging/setLevel": Era.LEGACY,
    "resources/subscribe": Era.LEGACY,
    "resources/unsubscribe": Era.LEGACY,
    "tasks/result": Era.LEGACY,
    "tasks/list": Era.LEGACY,
    "tasks/update": Era.MODERN,
    "subscriptions/listen": Era.MODERN,
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
    "tasks/list": frozenset({"cursor", "_meta"}),
}

# The member of a list result that holds the items, and the member that names an item.
LISTED: dict[str, tuple[str, str]] = {
    "tools/list": ("tools", "name"),
    "resources/list": ("resources", "uri"),
    "resources/templates/list": ("resourceTemplates", "uriTemplate"),
    "prompts/list": ("prompts", "name"),
}

# The notification that says a listing has changed, and the list it is about.
LIST_CHANGED: dict[str, str] = {
    "notifications/tools/list_changed": "tools/list",
    "notifications/prompts/list_changed": "prompts/list",
    "notifications/resources/list_changed": "resources/list",
}

# Members that only a result which wants something may have.
_WANTS = frozenset({"inputRequests", "requestState"})

_RESULT_TYPES = {
    b'"complete"': "complete",
    b'"input_required"': "input_required",
    b'"task"': "task",
}


def era_of(params: dict[str, Any]) -> Era:
    """The era a request speaks: modern has the protocol version in its `_meta`."""
    meta = params.get("_meta")
    return Era.MODERN if type(meta) is dict and VERSION_KEY in meta else Era.LEGACY


def version_of(params: dict[str, Any]) -> str:
    """The protocol version a client's request speaks, as far as it says."""
    meta = params.get("_meta")
    said = meta.get(VERSION_KEY) if type(meta) is dict else None
    version = params.get("protocolVersion") if said is None else said
    return version if type(version) is str else ""


def progress_token(params: dict[str, Any]) -> MessageId | None:
    """The token a request's progress will carry, None where it asks for no progress."""
    meta = params.get("_meta")
    return as_id(meta.get("progressToken")) if type(meta) is dict else None


def kept_fresh(result: dict[str, Any], era: Era) -> dict[str, Any]:
    """A result that no client may keep: a revoked tool must not live on in a cache (2026-07-28)."""
    if era is Era.MODERN or "ttlMs" in result or "cacheScope" in result:
        return result | {"ttlMs": 0, "cacheScope": "private"}
    return result


# The requests that may be answered with questions (2026-07-28).
ASKING_METHODS = frozenset({"tools/call", "prompts/get", "resources/read"})

# The members of a request that belong to a retry (2026-07-28).
RETRY_MEMBERS = frozenset({"inputResponses", "requestState"})


def tool_refusal(text: str, era: Era) -> dict[str, Any]:
    """The result that tells a model its call was refused; not an error, so that it reads it."""
    result: dict[str, Any] = {"content": [{"type": "text", "text": text}], "isError": True}
    if era is Era.MODERN:
        result["resultType"] = "complete"
    return result


def misspelt_member(members: Mapping[str, Any]) -> str | None:
    """A member that a client which ignores case takes for one that is judged under its own name."""
    for name in members:
        if name not in _JUDGED_MEMBERS and name.casefold() in _JUDGED_FOLDED:
            return name
    return None


# Members of results that decide what a result is, or hold what is judged in it.
_JUDGED_MEMBERS = frozenset(
    {
        "_meta",
        "cacheScope",
        "content",
        "contents",
        "inputRequests",
        "isError",
        "messages",
        "requestState",
        "result",
        "resultType",
        "task",
        "taskId",
        "ttlMs",
    }
)
_JUDGED_FOLDED = frozenset(name.casefold() for name in _JUDGED_MEMBERS)


def result_kind(members: Mapping[str, Any]) -> ResultKind:
    """Whether a result is the answer, or what comes instead; its members may be raw or decoded."""
    kind = members.get("resultType")
    if isinstance(kind, Raw):
        kind = _RESULT_TYPES.get(bytes(kind))
    elif "resultType" in members:
        kind = kind if type(kind) is str else None
    else:
        kind = "task" if "task" in members else "complete"
    match kind:
        case "complete" if _WANTS.isdisjoint(members) and "task" not in members:
            return ResultKind.COMPLETE
        case "input_required":
            return ResultKind.INPUT_REQUIRED
        case "task" if _WANTS.isdisjoint(members):
            return ResultKind.TASK
        case _:
            return ResultKind.UNKNOWN


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


def listed(method: str, result: dict[str, Any]) -> tuple[Item, ...] | None:
    """The items of a list result, None where the shape is not the method's."""
    member, key = LISTED[method]
    items = result.get(member)
    if type(items) is not list:
        return None
    if any(type(item) is not dict or type(item.get(key)) is not str for item in items):
        return None
    return tuple(Item(item[key], item) for item in items)
