"""A server on stdio, and the requests that are on their way to it over HTTP."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

from mcp.shared.inbound import ERROR_CODE_HTTP_STATUS
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

Message = dict[str, Any]

# The longest line of a server, in bytes; the tests send nothing near it.
LINE_LIMIT: Final = 1 << 24
# Seconds a child has to end once its input is closed.
PATIENCE: Final = 10

SUBSCRIPTION: Final = "io.modelcontextprotocol/subscriptionId"
GONE: Final = {"code": -32000, "message": "the server is gone"}


class Exchange:
    """One request on its way: what is heard about it, and what the client calls it."""

    def __init__(self, child: Child, ours: int, message: Message) -> None:
        self.ours = ours
        self.id = message["id"]
        self.token = _meta(message).get("progressToken")
        self.heard: asyncio.Queue[Message] = asyncio.Queue()
        self._child = child

    async def response(self, request: Request) -> Response:
        """One JSON answer if that is the first thing heard, else a stream up to the answer."""
        first = await self._first(request)
        if first is None:
            return Response(status_code=499)  # nobody reads it
        if not _is_answer(first):
            return StreamingResponse(self._events(first), media_type="text/event-stream")
        code = first.get("error", {}).get("code", 0)
        return JSONResponse(first, ERROR_CODE_HTTP_STATUS.get(code, 200))

    async def _first(self, request: Request) -> Message | None:
        """What is heard first, None when the client has gone before."""
        hearing = asyncio.ensure_future(self.heard.get())
        leaving = asyncio.ensure_future(_left(request))
        done, waiting = await asyncio.wait({hearing, leaving}, return_when=asyncio.FIRST_COMPLETED)
        for task in waiting:
            task.cancel()
        if hearing in done:
            return hearing.result()
        self._child.left(self)
        return None

    async def _events(self, message: Message) -> AsyncIterator[str]:
        try:
            yield _event(message)
            while not _is_answer(message):
                message = await self.heard.get()
                yield _event(message)
        finally:
            if not _is_answer(message):
                self._child.left(self)


class Child:
    """A server on stdio. Nothing slows down who writes to it.

    A client of a shared one that goes away cancels by that (2026-07-28), others do not.
    """

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, shared: bool
    ) -> None:
        self._standing: asyncio.Queue[Message] = asyncio.Queue()
        self._reader = reader
        self._writer = writer
        self._shared = shared
        self._waiting: dict[int, Exchange] = {}
        self._ids = itertools.count(1)
        self._reading = asyncio.get_running_loop().create_task(self._read())

    @classmethod
    async def started(cls, command: list[str], *, shared: bool = False) -> Child:
        """A server of this command; one word is the socket of a server that forks for us."""
        if len(command) == 1:
            reader, writer = await asyncio.open_unix_connection(command[0], limit=LINE_LIMIT)
            return cls(reader, writer, shared=shared)
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *command, stdin=pipe, stdout=pipe, limit=LINE_LIMIT, cwd=os.environ["HOME"]
        )
        assert process.stdin is not None
        assert process.stdout is not None
        return cls(process.stdout, process.stdin, shared=shared)

    def ask(self, message: Message) -> Exchange:
        """Send a request under an id and a progress token of ours."""
        exchange = Exchange(self, next(self._ids), message)
        self._waiting[exchange.ours] = exchange
        sent = message | {"id": exchange.ours}
        if exchange.token is not None:
            sent["params"] = _with_meta(sent["params"], progressToken=exchange.ours)
        self.tell(sent)
        return exchange

    def tell(self, message: Message) -> None:
        """Send what expects no answer: a notification, or an answer to a request of the server."""
        if message.get("method") == "notifications/cancelled":
            theirs = message["params"]["requestId"]
            for exchange in self._waiting.values():
                if exchange.id == theirs:
                    message = message | {"params": message["params"] | {"requestId": exchange.ours}}
        self._writer.write(json.dumps(message).encode() + b"\n")

    def left(self, exchange: Exchange) -> None:
        """The client that waited for this has gone."""
        if not self._shared or self._waiting.pop(exchange.ours, None) is None:
            return
        params = {"requestId": exchange.ours}
        self.tell({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})

    async def on_its_own(self) -> AsyncIterator[str]:
        """What it says that is about no request, as events without an end."""
        while True:
            yield _event(await self._standing.get())

    async def stop(self) -> None:
        """Close its input and wait for the end of its output; TimeoutError when that fails."""
        self._writer.write_eof()
        await asyncio.wait_for(self._reading, PATIENCE)
        self._writer.close()

    async def _read(self) -> None:
        async for line in self._reader:
            self._hear(json.loads(line))
        for exchange in self._waiting.values():
            exchange.heard.put_nowait({"jsonrpc": "2.0", "id": exchange.id, "error": GONE})

    def _hear(self, message: Message) -> None:
        if _is_answer(message):
            exchange = self._waiting.pop(message["id"], None)
            if exchange is not None:  # else it was cancelled meanwhile
                exchange.heard.put_nowait(message | {"id": exchange.id})
            return
        params = message.get("params", {})
        named = params.get("progressToken", _meta(message).get(SUBSCRIPTION))
        if named is None:
            last = next(reversed(self._waiting.values()), None)
            (last.heard if last else self._standing).put_nowait(message)
        elif named in self._waiting:
            exchange = self._waiting[named]
            if "progressToken" in params:
                params = params | {"progressToken": exchange.token}
            else:
                params = _with_meta(params, **{SUBSCRIPTION: exchange.id})
            exchange.heard.put_nowait(message | {"params": params})


def _event(message: Message) -> str:
    return f"event: message\ndata: {json.dumps(message)}\n\n"


async def _left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _is_answer(message: Message) -> bool:
    return "method" not in message


def _meta(message: Message) -> Mapping[str, Any]:
    meta = message.get("params", {}).get("_meta")
    return meta if type(meta) is dict else {}


def _with_meta(params: Message, **more: Any) -> Message:
    return params | {"_meta": params["_meta"] | more}
