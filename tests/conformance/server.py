"""The server that the conformance suite calls: the tools, resources and prompts its scenarios name.

The same program runs outside and inside of the jail. What an answer holds is told by the scenarios;
here is no more than they look at. `rounds` and `jobs` hold the rest.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Annotated, Any, Final

import anyio
from mcp.server.mcpserver import Context, MCPServer, UserMessage
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp.shared.exceptions import MCPError
from mcp_types import (
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    AudioContent,
    CompleteRequestParams,
    CompleteResult,
    Completion,
    ContentBlock,
    EmbeddedResource,
    EmptyResult,
    ImageContent,
    SamplingMessage,
    SetLevelRequestParams,
    SubscribeRequestParams,
    TextContent,
    TextResourceContents,
    UnsubscribeRequestParams,
)
from pydantic import Field

from conformance import forms, jobs, rounds

PIXEL: Final = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/"
    "iZk9HQAAAABJRU5ErkJggg=="
)
SILENCE: Final = base64.b64encode(
    b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x80\x3e\0\0\x02\0\x10\0data\0\0\0\0"
).decode()

# Seconds between the messages of a tool that sends several.
PAUSE: Final = 0.02

SCHEMA_TOOL: Final = "json_schema_2020_12_tool"
SCHEMA: Final[dict[str, Any]] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


def text(words: str) -> TextContent:
    return TextContent(type="text", text=words)


def image() -> ImageContent:
    return ImageContent(type="image", data=PIXEL, mime_type="image/png")


def embedded(uri: str, words: str, mime_type: str = "text/plain") -> EmbeddedResource:
    contents = TextResourceContents(uri=uri, mime_type=mime_type, text=words)
    return EmbeddedResource(type="resource", resource=contents)


# --- tools that answer at once


def simple_text() -> str:
    """Some words."""
    return "This is a simple text response for testing."


def image_content() -> list[ContentBlock]:
    """A picture."""
    return [image()]


def audio_content() -> list[ContentBlock]:
    """A sound."""
    return [AudioContent(type="audio", data=SILENCE, mime_type="audio/wav")]


def embedded_resource() -> list[ContentBlock]:
    """A resource in the answer."""
    return [embedded("test://embedded-resource", "This is an embedded resource content.")]


def multiple_content_types() -> list[ContentBlock]:
    """Words, a picture and a resource."""
    data = json.dumps({"test": "data", "value": 123})
    resource = embedded("test://mixed-content-resource", data, "application/json")
    return [text("Multiple content types test:"), image(), resource]


def error_handling() -> str:
    """A tool that fails."""
    raise ToolError("This tool intentionally returns an error for testing")


def reconnection() -> str:
    """The scenario wants a stream broken off; that is the front door's to do."""
    return "Answered without a break."


def x_mcp_header(
    region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})] = "",
) -> str:
    """An argument that HTTP clients repeat in a header."""
    return region


def described_by_schema(name: str = "") -> str:
    """Its schema uses what JSON Schema 2020-12 brought."""
    return name


def missing_capability() -> str:
    """Refuses a client that did not offer sampling."""
    data: dict[str, Any] = {"requiredCapabilities": {"sampling": {}}}
    raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, "the client must offer sampling", data)


# --- tools that say something before they answer


async def tool_with_logging(ctx: Context) -> str:
    """Three log messages."""
    for words in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await ctx.info(words)  # type: ignore[deprecated]
        await anyio.sleep(PAUSE)
    return "logged"


async def logging_tool(ctx: Context) -> str:
    """One log message, which the SDK holds back where the request asked for none."""
    await ctx.info("a log message")  # type: ignore[deprecated]
    return "logged"


async def tool_with_progress(ctx: Context) -> str:
    """Three notes of progress."""
    for done in (0, 50, 100):
        await ctx.report_progress(done, 100)
        await anyio.sleep(PAUSE)
    return "done"


async def trigger_tool_change(ctx: Context) -> str:
    """Tells those who listen that the tools changed."""
    await ctx.notify_tools_changed()
    return "told"


async def trigger_prompt_change(ctx: Context) -> str:
    """Tells those who listen that the prompts changed."""
    await ctx.notify_prompts_changed()
    return "told"


# --- tools that ask the client in the middle of a call (until 2025-11-25)


async def sampling(prompt: str, ctx: Context) -> str:
    """Asks the client's model."""
    question = SamplingMessage(role="user", content=text(prompt))
    answer = await ctx.session.create_message([question], max_tokens=100)
    return f"LLM response: {answer.content}"


async def elicitation(message: str, ctx: Context) -> str:
    """Asks the person for a name and an address."""
    return await _ask(ctx, message, forms.PERSON)


async def elicitation_defaults(ctx: Context) -> str:
    """Asks with a default of each kind."""
    return await _ask(ctx, "Please check these values", forms.DEFAULTS)


async def elicitation_enums(ctx: Context) -> str:
    """Asks with a choice of each kind."""
    return await _ask(ctx, "Please choose", forms.CHOICES)


async def _ask(ctx: Context, message: str, form: dict[str, Any]) -> str:
    answer = await ctx.session.elicit_form(message, form)
    return f"Elicitation completed: action={answer.action}, content={answer.content}"


TOOLS: Final[dict[str, Callable[..., Any]]] = {
    "test_image_content": image_content,
    "test_audio_content": audio_content,
    "test_embedded_resource": embedded_resource,
    "test_multiple_content_types": multiple_content_types,
    "test_error_handling": error_handling,
    "test_reconnection": reconnection,
    "test_x_mcp_header": x_mcp_header,
    "test_missing_capability": missing_capability,
    "test_tool_with_logging": tool_with_logging,
    "test_logging_tool": logging_tool,
    "test_tool_with_progress": tool_with_progress,
    "test_trigger_tool_change": trigger_tool_change,
    "test_trigger_prompt_change": trigger_prompt_change,
    "test_sampling": sampling,
    "test_elicitation": elicitation,
    "test_elicitation_sep1034_defaults": elicitation_defaults,
    "test_elicitation_sep1330_enums": elicitation_enums,
}


def add_resources(server: MCPServer) -> None:
    @server.resource("test://static-text", mime_type="text/plain")
    def static_text() -> str:
        """A text that stays."""
        return "This is the content of the static text resource."

    @server.resource("test://static-binary", mime_type="image/png")
    def static_binary() -> bytes:
        """A picture that stays."""
        return base64.b64decode(PIXEL)

    @server.resource("test://watched-resource", mime_type="text/plain")
    def watched() -> str:
        """One to subscribe to."""
        return "Watched."

    @server.resource("test://template/{id}/data", mime_type="application/json")
    def template(id: str) -> str:
        """One for each id."""
        return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})


def add_prompts(server: MCPServer) -> None:
    @server.prompt()
    def test_simple_prompt() -> str:
        """A prompt of one sentence."""
        return "This is a simple prompt for testing."

    @server.prompt()
    def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
        """A prompt made of two arguments."""
        return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"

    @server.prompt()
    def test_prompt_with_embedded_resource(resourceUri: str) -> list[UserMessage]:  # noqa: N803
        """A prompt with a resource in it."""
        resource = embedded(resourceUri, "Embedded resource content for testing.")
        return [UserMessage(resource), UserMessage("Please process the embedded resource above.")]

    @server.prompt()
    def test_prompt_with_image() -> list[UserMessage]:
        """A prompt with a picture in it."""
        return [UserMessage(image()), UserMessage("Please analyze the image above.")]


def add_methods(server: MCPServer) -> None:
    """Completions, and what the protocol had until 2025-11-25 and `MCPServer` does not offer."""

    async def complete(ctx: Any, params: Any) -> CompleteResult:
        return CompleteResult(completion=Completion(values=["test-one"], total=1, has_more=False))

    async def accept(ctx: Any, params: Any) -> EmptyResult:
        return EmptyResult()

    low = server._lowlevel_server
    low.add_request_handler("completion/complete", CompleteRequestParams, complete)
    low.add_request_handler("logging/setLevel", SetLevelRequestParams, accept)
    low.add_request_handler("resources/subscribe", SubscribeRequestParams, accept)
    low.add_request_handler("resources/unsubscribe", UnsubscribeRequestParams, accept)


def build() -> MCPServer:
    """The whole server."""
    # The first tool listed is called by scenarios without arguments.
    first = Tool.from_function(simple_text, name="test_simple_text", structured_output=False)
    described = Tool.from_function(described_by_schema, name=SCHEMA_TOOL)
    server = MCPServer(
        "conformance",
        version="1",
        tools=[first, described.model_copy(update={"parameters": SCHEMA})],
        extensions=[jobs.Jobs()],
        log_level="WARNING",
    )
    for name, function in TOOLS.items():
        server.add_tool(function, name=name, structured_output=False)
    add_resources(server)
    add_prompts(server)
    add_methods(server)
    rounds.add_to(server)
    return server
