"""An honest little MCP server over stdio, in both eras; the rogues beside it are built on it.

    python3 -I -S echo.py [--log FILE] [--page N]

Its tools really touch files. It is as careless about what it reads as the Python SDK's server: any
newline ends a line (a bare CR too), bad UTF-8 is replaced, the last of two equal keys wins, unknown
keys pass. So an attack on the wire that gets through does something. `--log` appends every line as
it was understood, to prove what reached the server; `--page N` lists N items a page.

The rogues import this file, so a jail must show them the whole folder.
"""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any, Final

Json = dict[str, Any]

LEGACY: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN: Final = "2026-07-28"
VERSION_KEY: Final = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY: Final = "io.modelcontextprotocol/clientCapabilities"
SERVER_INFO: Final = {"name": "echo", "version": "1.0.0"}
CAPABILITIES: Final[Json] = {
    "tools": {"listChanged": True},
    "resources": {},
    "prompts": {},
    "logging": {},
}
INSTRUCTIONS: Final = "Say it and it comes back."


def _schema(**properties: str) -> Json:
    return {
        "type": "object",
        "properties": {name: {"type": kind} for name, kind in properties.items()},
        "required": list(properties),
    }


TOOLS: Final[list[Json]] = [
    {"name": "echo", "description": "Give back a text.", "inputSchema": _schema(text="string")},
    {
        "name": "add",
        "description": "Add two numbers.",
        "inputSchema": _schema(a="number", b="number"),
    },
    {
        "name": "read_file",
        "description": "Give the text of a file.",
        "inputSchema": _schema(path="string"),
        "annotations": {"readOnlyHint": True},
    },
    {
        "name": "write_file",
        "description": "Write a text into a file.",
        "inputSchema": _schema(path="string", content="string"),
        "annotations": {"destructiveHint": True},
    },
    {
        "name": "list_directory",
        "description": "Name what lies in a directory.",
        "inputSchema": _schema(path="string"),
        "annotations": {"readOnlyHint": True},
    },
    {
        "name": "delete_file",
        "description": "Delete a file.",
        "inputSchema": _schema(path="string"),
        "annotations": {"destructiveHint": True},
    },
]
RESOURCES: Final[list[Json]] = [
    {"uri": "echo://greeting", "name": "greeting", "mimeType": "text/plain"},
]
TEMPLATES: Final[list[Json]] = [{"uriTemplate": "echo://say/{text}", "name": "say"}]
PROMPTS: Final[list[Json]] = [
    {"name": "greet", "description": "Greet somebody.", "arguments": [{"name": "who"}]},
]


class RpcError(Exception):
    """A request that is answered with a JSON-RPC error."""

    def __init__(self, code: int, message: str, data: Json | None = None) -> None:
        super().__init__(message)
        self.error: Json = {"code": code, "message": message}
        if data is not None:
            self.error["data"] = data


def call_tool(name: str, arguments: Json) -> str:
    """Do what a tool says; gives its text."""
    match name:
        case "echo":
            return str(arguments["text"])
        case "add":
            return str(arguments["a"] + arguments["b"])
        case "read_file":
            with open(arguments["path"], encoding="utf-8") as file:
                return file.read()
        case "write_file":
            with open(arguments["path"], "w", encoding="utf-8") as file:
                return f"{file.write(arguments['content'])} characters"
        case "list_directory":
            return "\n".join(sorted(os.listdir(arguments["path"])))
        case "delete_file":
            os.unlink(arguments["path"])
            return "deleted"
        case _:
            raise RpcError(-32602, f"no tool {name!r}")


class Server:
    """Answers requests; the first one decides the era of the process, as in the real SDKs."""

    def __init__(self, *, page: int | None = None) -> None:
        self.modern: bool | None = None
        self.page = page
        self.tools: list[Json] = TOOLS
        self.call: Callable[[str, Json], str] = call_tool

    def answer(self, request: Json) -> Json:
        """The whole answer to one request, its id given back as it came."""
        try:
            result = self._result(request["method"], request.get("params") or {})
        except RpcError as error:
            return {"jsonrpc": "2.0", "id": request["id"], "error": error.error}
        if self.modern:
            result.setdefault("resultType", "complete")
            result["_meta"] = {"io.modelcontextprotocol/serverInfo": SERVER_INFO}
        return {"jsonrpc": "2.0", "id": request["id"], "result": result}

    def _result(self, method: str, params: Json) -> Json:
        self._hold_era(method, params)
        match method:
            case "initialize":
                wanted = params.get("protocolVersion")
                return {
                    "protocolVersion": wanted if wanted in LEGACY else LEGACY[-1],
                    "capabilities": CAPABILITIES,
                    "serverInfo": SERVER_INFO,
                    "instructions": INSTRUCTIONS,
                }
            case "server/discover" if self.modern:
                return self._cached(
                    supportedVersions=[MODERN], capabilities=CAPABILITIES, instructions=INSTRUCTIONS
                )
            case "ping" | "logging/setLevel" if not self.modern:
                return {}
            case "tools/call":
                return self._called(params)
            case "prompts/get":
                text = f"Greet {params.get('arguments', {}).get('who', 'the world')}."
                return {"messages": [{"role": "user", "content": {"type": "text", "text": text}}]}
            case "resources/read":
                uri = params["uri"]
                return self._cached(contents=[{"uri": uri, "text": f"this is {uri}"}])
            case _:
                return self._listed(method, params)

    def _listed(self, method: str, params: Json) -> Json:
        lists = {
            "tools/list": ("tools", self.tools),
            "resources/list": ("resources", RESOURCES),
            "resources/templates/list": ("resourceTemplates", TEMPLATES),
            "prompts/list": ("prompts", PROMPTS),
        }
        if method not in lists:
            raise RpcError(-32601, "Method not found")
        key, items = lists[method]
        start = int(params.get("cursor") or 0)
        stop = len(items) if self.page is None else start + self.page
        listing = self._cached(**{key: items[start:stop]})
        if stop < len(items):
            listing["nextCursor"] = str(stop)
        return listing

    def _hold_era(self, method: str, params: Json) -> None:
        meta = params.get("_meta") or {}
        enveloped = VERSION_KEY in meta
        if self.modern is None:
            self.modern = enveloped
        if self.modern and (not enveloped or meta[VERSION_KEY] != MODERN):
            asked = meta.get(VERSION_KEY, params.get("protocolVersion"))
            data = {"supported": [MODERN], "requested": asked}
            raise RpcError(-32022, "Unsupported protocol version", data)
        if self.modern and CAPABILITIES_KEY not in meta:
            raise RpcError(-32602, f"missing {CAPABILITIES_KEY}")
        if not self.modern and enveloped:
            raise RpcError(-32600, "this connection serves the handshake era")

    def _cached(self, **members: Any) -> Json:
        return members | ({"ttlMs": 0, "cacheScope": "private"} if self.modern else {})

    def _called(self, params: Json) -> Json:
        try:
            text = self.call(params["name"], params.get("arguments") or {})
        except (OSError, KeyError, TypeError) as error:
            text = f"{type(error).__name__}: {error}"
            return {"content": [{"type": "text", "text": text}], "isError": True}
        return {"content": [{"type": "text", "text": text}], "isError": False}


def requests(log: str | None = None) -> Iterator[Json]:
    """Every request that comes in, read with universal newlines; notifications are passed over."""
    for line in io.TextIOWrapper(sys.stdin.buffer, encoding="utf-8", errors="replace"):
        if log is not None:
            with open(log, "a", encoding="utf-8") as file:
                file.write(line)
        try:
            message = json.loads(line)
        except ValueError:
            continue
        if isinstance(message, dict) and "method" in message and message.get("id") is not None:
            yield message


def send(message: Json) -> None:
    """Write one message and flush it."""
    send_bytes(json.dumps(message).encode() + b"\n")


def send_bytes(line: bytes) -> None:
    """Write bytes as they are; the newline is the caller's."""
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()


def option(name: str) -> str | None:
    """The word after an option on the command line."""
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else None


def main() -> None:
    """Serve until the client closes."""
    page = option("--page")
    server = Server(page=None if page is None else int(page))
    for request in requests(option("--log")):
        send(server.answer(request))


if __name__ == "__main__":
    main()
