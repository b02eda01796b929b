"""What is taken from a client's request to be judged."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from mcp_jail.core.protocol import mcp
from mcp_jail.core.protocol.mcp import Era, Treatment, era_of
from mcp_jail.core.protocol.wire import BadLine, Request

# Resources one subscription may name; each is an entry of its own.
SUBSCRIPTIONS_LIMIT: Final = 1_000

# The members a judged request may have. Others would change what it does, so it is refused.
_MEMBERS: dict[Treatment, frozenset[str]] = {
    Treatment.CALL_TOOL: frozenset({"name", "arguments", "task", "_meta"}) | mcp.RETRY_MEMBERS,
    Treatment.READ_RESOURCE: frozenset({"uri", "_meta"}) | mcp.RETRY_MEMBERS,
    Treatment.GET_PROMPT: frozenset({"name", "arguments", "_meta"}) | mcp.RETRY_MEMBERS,
    Treatment.COMPLETE: frozenset({"ref", "argument", "context", "_meta"}),
    Treatment.TASK: frozenset({"taskId", "inputResponses", "_meta"}),
}


class Subject(msgspec.Struct, frozen=True):
    """What a judged request is about: a tool, a resource's URI or a prompt, and its arguments."""

    name: str
    arguments: dict[str, Any]
    is_uri: bool = False


def subject_of(request: Request, treatment: Treatment) -> Subject | BadLine:
    """The subject of a request that must be judged; refused when its shape is not the method's."""
    params = request.params
    unknown = [name for name in params if name not in _MEMBERS[treatment]]
    if unknown:
        return _refused(request, f"with {unknown[0][:80]!r} is not passed on")
    match treatment:
        case Treatment.COMPLETE:
            return _completed(request)
        case Treatment.TASK:
            return _of_task(request)
        case Treatment.READ_RESOURCE:
            name, arguments, is_uri = params.get("uri"), {}, True
        case _:
            name, arguments, is_uri = params.get("name"), params.get("arguments", {}), False
    if type(name) is not str:
        return _refused(request, f"needs {'uri' if is_uri else 'name'!r}, a string")
    if type(arguments) is not dict:
        return _refused(request, "needs 'arguments' to be an object")
    if "task" in params and era_of(params) is Era.LEGACY and _fault_of_task(params["task"]):
        return _refused(request, "needs 'task' to be an object with a number 'ttl' or nothing")
    return Subject(name, arguments, is_uri)


def is_retry(params: dict[str, Any]) -> bool:
    """Whether a request answers what an earlier one was asked (2026-07-28)."""
    return not mcp.RETRY_MEMBERS.isdisjoint(params)


def subscribed_uris(params: dict[str, Any]) -> list[str]:
    """The resources a `subscriptions/listen` names; what is no string becomes an empty URI.

    So does a list that is none or too long; an empty URI is always denied.
    """
    wanted = params.get("notifications")
    uris = wanted.get("resourceSubscriptions") if type(wanted) is dict else None
    if uris is None:
        return []
    if type(uris) is not list or len(uris) > SUBSCRIPTIONS_LIMIT:
        return [""]
    return [uri if type(uri) is str else "" for uri in uris]


def _completed(request: Request) -> Subject | BadLine:
    """A completion is about a prompt or a resource template; what was typed goes to the server."""
    ref = request.params.get("ref")
    kind = ref.get("type") if type(ref) is dict else None
    key = {"ref/prompt": "name", "ref/resource": "uri"}.get(kind if type(kind) is str else "")
    if type(ref) is not dict or key is None or type(ref.get(key)) is not str:
        return _refused(request, "needs 'ref', a prompt or a resource")
    if not ref.keys() <= {"type", "name", "title", "uri"}:
        return _refused(request, "with a 'ref' of unknown members is not passed on")
    typed: dict[str, Any] = {
        name: request.params[name] for name in ("argument", "context") if name in request.params
    }
    return Subject(ref[key], typed, is_uri=key == "uri")


def _of_task(request: Request) -> Subject | BadLine:
    id = request.params.get("taskId")
    if type(id) is not str:
        return _refused(request, "needs 'taskId', a string")
    if ("inputResponses" in request.params) is not (request.method == "tasks/update"):
        return _refused(request, "and 'inputResponses' do not go together")
    answers = request.params.get("inputResponses", {})
    if type(answers) is not dict:
        return _refused(request, "needs 'inputResponses' to be an object")
    return Subject(id, answers)


def _fault_of_task(task: Any) -> bool:
    return type(task) is not dict or any(
        name != "ttl" or type(value) not in {int, float} for name, value in task.items()
    )


def _refused(request: Request, text: str) -> BadLine:
    return BadLine(f"{request.method} {text}", mcp.INVALID_PARAMS, request.id)
