"""The headers of 2026-07-28, held against the body: a front door's duty, as stdio has none."""

from __future__ import annotations

from typing import Final

from mcp.shared.inbound import (
    InboundLadderRejection,
    classify_inbound_request,
    decode_header_value,
    find_duplicated_routing_header,
    validate_mcp_param_headers,
)
from mcp_types import HEADER_MISMATCH
from starlette.requests import Request

from conformance.child import Child, Message

TASK_METHODS: Final = frozenset({"tasks/get", "tasks/update", "tasks/cancel"})


def held_against_body(request: Request, message: Message) -> InboundLadderRejection | None:
    """Why the headers every request has are not those of its body, None when they are."""
    twice = find_duplicated_routing_header(request.headers.items())
    if twice is not None:
        return InboundLadderRejection(HEADER_MISMATCH, f"{twice} stands twice")
    verdict = classify_inbound_request(message, headers=dict(request.headers))
    if isinstance(verdict, InboundLadderRejection):
        return verdict
    name = decode_header_value(request.headers.get("mcp-name"))
    if message["method"] in TASK_METHODS and name != message["params"].get("taskId"):
        return InboundLadderRejection(HEADER_MISMATCH, "mcp-name is another than taskId")
    return None


async def held_against_schema(
    child: Child, request: Request, message: Message
) -> InboundLadderRejection | None:
    """Why the headers that the tool's schema wants are not its arguments, None when they are."""
    params = message["params"]
    if message["method"] != "tools/call" or not params.get("arguments"):
        return None
    listing = {"jsonrpc": "2.0", "id": None, "method": "tools/list"}
    answer = await child.ask(listing | {"params": {"_meta": params["_meta"]}}).heard.get()
    for tool in answer.get("result", {}).get("tools", []):
        if tool["name"] == params.get("name"):
            return validate_mcp_param_headers(
                tool["inputSchema"], params["arguments"], dict(request.headers)
            )
    return None
