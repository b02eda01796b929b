"""What is taken from a request to be judged, and what an answer becomes on its way to the client.

Pure pieces of the session that hold no state: the subject of a call, refusals in the shape of their
era, and results with the denied items left out.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw

from mcp_jail.core import decide, mcp, wire
from mcp_jail.core.audit import Entry, Kind
from mcp_jail.core.inflight import Waiting
from mcp_jail.core.mcp import Treatment
from mcp_jail.core.policy import Verdict
from mcp_jail.core.wire import BadLine, Request

# The members a judged request may have, and the one that names its subject. Others (a task, an
# input nobody was asked for) would change what the call does, so they are refused.
_SUBJECTS = {
    Treatment.CALL_TOOL: ("name", frozenset({"name", "arguments", "_meta"})),
    Treatment.READ_RESOURCE: ("uri", frozenset({"uri", "_meta"})),
    Treatment.GET_PROMPT: ("name", frozenset({"name", "arguments", "_meta"})),
}


# Resources one subscription may name; each is an entry of its own.
SUBSCRIPTIONS_LIMIT = 1_000

_WANTS_MORE = BadLine("it asks for input or time, which is not passed on", mcp.DENIED)


class Subject(msgspec.Struct, frozen=True):
    """What a judged request is about: a tool, a resource's URI or a prompt, and its arguments."""

    name: str
    arguments: dict[str, Any]


class Reply(msgspec.Struct, frozen=True):
    """An answer ready for the client, and what was seen in it."""

    line: bytes
    is_error: bool = False
    declared: dict[str, frozenset[str]] | None = None
    violations: tuple[str, ...] = ()


def subject_of(request: Request, treatment: Treatment) -> Subject | BadLine:
    """The subject of a request that must be judged; refused when its shape is not the method's."""
    key, known = _SUBJECTS[treatment]
    unknown = [name for name in request.params if name not in known]
    if unknown:
        text = f"{request.method} with {unknown[0][:80]!r} is not passed on"
        return BadLine(text, mcp.INVALID_PARAMS, request.id)
    name = request.params.get(key)
    arguments = request.params.get("arguments", {})
    if type(name) is not str:
        text = f"{request.method} needs {key!r}, a string"
        return BadLine(text, mcp.INVALID_PARAMS, request.id)
    if type(arguments) is not dict:
        text = f"{request.method} needs 'arguments' to be an object"
        return BadLine(text, mcp.INVALID_PARAMS, request.id)
    return Subject(name, arguments)


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


def refusal(request: Request, treatment: Treatment, decision: decide.Decision) -> bytes:
    """The answer that tells a model or client what rule did not hold."""
    text = refusal_text(decision)
    if treatment is Treatment.CALL_TOOL:
        return wire.render_result(request.id, mcp.tool_refusal(text, mcp.era_of(request.params)))
    return wire.render_error(request.id, mcp.DENIED, text)


def refusal_text(decision: decide.Decision) -> str:
    """The words of a refusal: what did not hold, never how to widen it."""
    return f"denied by the user's policy: {decision.reason}"


# What a call is about, where it is no tool.
_NOUNS = {
    "resources/read": "resource ",
    "resources/subscribe": "resource ",
    "prompts/get": "prompt ",
}


def told_to_person(
    method: str, name: str, decision: decide.Decision, *, is_listed: bool = True
) -> str:
    """The line on the error stream about a denied call: what did not hold, and the policy's line.

    Only where no rule names the call, and the server has it, the way to allow it comes too.
    """
    told = f"denied {_NOUNS.get(method, '')}{_short(name)}: {decision.reason}"
    where = decision.where or f"{decision.rule}, not written in the policy"
    if not is_listed:
        return f"{told} ({where}); the server has listed no tool of this name"
    hint = f"; {decision.hint}" if decision.rule.endswith(".default") and decision.hint else ""
    return f"{told} ({where}){hint}"


def _short(name: str) -> str:
    """A name of the client's or the model's, quoted where it is more than one plain word."""
    shown = name[:200]
    return shown if shown.isprintable() and shown and not _SPECIAL & {*shown} else repr(shown)


# What would let a name pass for words of ours.
_SPECIAL = frozenset(" ;()'\"")


def result_entry(
    waiting: Waiting,
    *,
    is_error: bool = False,
    size: int = 0,
    detail: dict[str, Any] | None = None,
) -> Entry:
    """The entry about a judged request that has ended."""
    return Entry(
        kind=Kind.RESULT,
        method=waiting.method,
        name=waiting.tool,
        id=waiting.id,
        is_error=is_error,
        size=size,
        detail=detail or {},
    )


def roots_result(roots: tuple[str, ...]) -> dict[str, Any]:
    """The answer to `roots/list`: the policy's own directories, nothing of the client's."""
    return {"roots": [{"uri": "file://" + _percent(path), "name": path} for path in roots]}


def reply_to(waiting: Waiting, raw: Raw, book: decide.Rulebook) -> Reply | BadLine:
    """What the client is sent for a server's result, or why it is not."""
    match waiting.treatment:
        case Treatment.LIST:
            return _list_reply(waiting, raw, book)
        case Treatment.OPEN | Treatment.FORWARD | Treatment.LISTEN:
            result = wire.whole(raw)
            if isinstance(result, BadLine):
                return result
            if mcp.asks_for_more(result):
                return _WANTS_MORE
            if waiting.treatment is Treatment.OPEN:
                result = mcp.offered_to_client(result)
            return Reply(wire.render_result(waiting.client_id, result))
        case Treatment.CALL_TOOL | Treatment.READ_RESOURCE | Treatment.GET_PROMPT:
            return _bulk_reply(waiting, raw)


def _bulk_reply(waiting: Waiting, raw: Raw) -> Reply | BadLine:
    members = wire.members(raw)
    if isinstance(members, BadLine):
        return members
    if mcp.asks_for_more(members):
        return _WANTS_MORE
    line = wire.render_result(waiting.client_id, mcp.kept_fresh(members))
    return Reply(line, is_error=mcp.is_error_result(members))


def _list_reply(waiting: Waiting, raw: Raw, book: decide.Rulebook) -> Reply | BadLine:
    result = wire.whole(raw)
    if isinstance(result, BadLine):
        return result
    if mcp.asks_for_more(result):
        return _WANTS_MORE
    items = mcp.listed(waiting.method, result)
    if items is None:
        return BadLine("a list of another shape", wire.INVALID_REQUEST)
    twice = _named_twice(items)
    shown = [
        item for item in items if item.name not in twice and _is_shown(waiting.method, item, book)
    ]
    member, _ = mcp.LISTED[waiting.method]
    fresh = mcp.kept_fresh(result) | {member: [item.item for item in shown]}
    declared = None
    if waiting.method == "tools/list":
        declared = {item.name: mcp.declared_arguments(item.item) for item in items}
    return Reply(
        wire.render_result(waiting.client_id, fresh),
        declared=declared,
        violations=tuple(f"listed twice and left out: {name[:80]!r}" for name in sorted(twice)),
    )


def _named_twice(items: list[mcp.Listed]) -> set[str]:
    """Names that more than one item has: clients hand both to the model, so neither is shown."""
    seen: set[str] = set()
    twice: set[str] = set()
    for item in items:
        (twice if item.name in seen else seen).add(item.name)
    return twice


def _is_shown(method: str, item: mcp.Listed, book: decide.Rulebook) -> bool:
    match method:
        case "tools/list":
            return not (book.policy.tools.hide_denied and book.denies_always(item.name))
        case "prompts/list":
            return decide.decide_prompt(item.name, book).verdict is not Verdict.DENY
        case _:
            return decide.decide_resource(item.name, book).verdict is not Verdict.DENY


def _percent(path: str) -> str:
    kept = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/"
    return "".join(
        chr(byte) if byte in kept else f"%{byte:02X}" for byte in path.encode(errors="replace")
    )
