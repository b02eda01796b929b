"""Tools and a prompt that answer only after the client has filled something in (2026-07-28).

Such a call comes back with questions, and the client sends it again with the answers. The SDK seals
the state that goes along, and refuses one that was tampered with.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from mcp.server.mcpserver import Context, MCPServer
from mcp_types import (
    CreateMessageRequest,
    CreateMessageRequestParams,
    ElicitRequest,
    ElicitRequestFormParams,
    InputRequest,
    InputRequiredResult,
    ListRootsRequest,
    SamplingMessage,
    TextContent,
)

from conformance.forms import form

Round = Callable[[Context], Awaitable[str | InputRequiredResult]]


def elicit(message: str, **fields: str) -> ElicitRequest:
    """A question to the person; `fields` are the names and types of a form."""
    wanted = form(**{name: {"type": kind} for name, kind in fields.items()})
    return ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=wanted))


def sample(question: str) -> CreateMessageRequest:
    """A question to the client's model."""
    message = SamplingMessage(role="user", content=TextContent(type="text", text=question))
    params = CreateMessageRequestParams(messages=[message], max_tokens=100)
    return CreateMessageRequest(params=params)


Requests = dict[str, InputRequest]

NAME: Final[Requests] = {"user_name": elicit("What is your name?", name="string")}
CAPITAL: Final[Requests] = {"capital_question": sample("What is the capital of France?")}
ROOTS: Final[Requests] = {"client_roots": ListRootsRequest()}
CONFIRM: Final[Requests] = {"confirm": elicit("Please confirm", ok="boolean")}
COLOR: Final[Requests] = {"step2": elicit("Step 2: What is your favorite color?", color="string")}
STEP: Final[Requests] = {"step1": elicit("Step 1: What is your name?", name="string")}


def asking(requests: Requests, state: str | None = None) -> Round:
    """A tool that wants all of these answered, and its state back."""

    async def tool(ctx: Context) -> str | InputRequiredResult:
        answers = ctx.input_responses or {}
        if requests.keys() <= answers.keys() and ctx.request_state == state:
            return f"Answered: {[answers[key] for key in requests]}"
        return InputRequiredResult(input_requests=dict(requests), request_state=state)

    return tool


async def one_after_the_other(ctx: Context) -> str | InputRequiredResult:
    """Two rounds, told apart by the state."""
    answers = ctx.input_responses or {}
    if ctx.request_state == "two" and "step2" in answers:
        return f"Done: {answers}"
    if ctx.request_state == "one" and "step1" in answers:
        return InputRequiredResult(input_requests=dict(COLOR), request_state="two")
    return InputRequiredResult(input_requests=dict(STEP), request_state="one")


async def what_the_client_can(ctx: Context) -> str | InputRequiredResult:
    """Asks only what the client said it can answer."""
    if ctx.input_responses:
        return "Answered"
    offered = ctx.client_capabilities
    requests: Requests = {}
    if offered is not None and offered.sampling is not None:
        requests |= CAPITAL
    if offered is not None and offered.elicitation is not None:
        requests |= NAME
    return InputRequiredResult(input_requests=requests) if requests else "Nobody to ask"


TOOLS: Final[dict[str, Round]] = {
    "test_input_required_result_elicitation": asking(NAME),
    "test_input_required_result_sampling": asking(CAPITAL),
    "test_input_required_result_list_roots": asking(ROOTS),
    "test_input_required_result_request_state": asking(CONFIRM, "waiting"),
    "test_input_required_result_multiple_inputs": asking(
        NAME | {"greeting": sample("Generate a greeting")} | ROOTS, "waiting"
    ),
    "test_input_required_result_multi_round": one_after_the_other,
    "test_input_required_result_tampered_state": asking(CONFIRM, "waiting"),
    "test_input_required_result_capabilities": what_the_client_can,
    "test_streaming_elicitation": asking(NAME),
}


def add_to(server: MCPServer) -> None:
    """Give a server these tools, and the prompt that asks."""
    for name, tool in TOOLS.items():
        server.add_tool(tool, name=name, description="Asks first.", structured_output=False)

    @server.prompt()
    async def test_input_required_result_prompt(ctx: Context) -> str | InputRequiredResult:
        """A prompt that asks first."""
        answers = ctx.input_responses or {}
        if "user_context" in answers:
            return f"Use this context: {answers['user_context']}"
        question = elicit("What context should the prompt use?", context="string")
        return InputRequiredResult(input_requests={"user_context": question})
