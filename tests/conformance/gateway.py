"""A front door over HTTP for servers on stdio: what stands between the conformance suite and us.

    python -m conformance.gateway VERSION COMMAND...

Prints its URL and serves until its input closes. VERSION is the newest revision of the handshake it
lets through: the suite's client always asks for the newest it knows. A COMMAND of one word is the
path of a socket, behind which each connection is a server (`serve.py` does that).

Until 2025-11-25 each session has a child of its own, begun by `initialize`, ended by DELETE. Since
2026-07-28 a request stands alone, and all share one child, which such a request opens.

Every request gets an id and a progress token of ours, since clients that share a child may use the
same. The headers of 2026-07-28 are held against the body here, as no server on stdio sees them.

What it does not do: resume a broken stream (so no event ids and no `retry`), more than one GET
stream for a session, TLS, logins, batches. A log message says nothing of the request it is about,
nor does a request of a server; both go to the request that came last. One page of a tool list is
looked at for `x-mcp-header`. A server's own word that it gives up a subscription keeps our id.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn
from mcp.shared.inbound import ERROR_CODE_HTTP_STATUS
from mcp_types import INVALID_REQUEST
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from conformance.child import Child, Message
from conformance.headers import held_against_body, held_against_schema


class Gateway:
    """The door itself: sessions by their ids, and the child that needs none."""

    def __init__(self, newest: str, command: list[str]) -> None:
        self._newest = newest
        self._command = command
        self._sessions: dict[str, Child] = {}
        self._ending: list[asyncio.Task[None]] = []
        self._shared: asyncio.Task[Child] | None = None

    async def post(self, request: Request) -> Response:
        """One message of a client."""
        message = json.loads(await request.body())
        if type(message) is not dict:
            return _refusal(None, INVALID_REQUEST, "a batch, or no message")
        version = request.headers.get("mcp-protocol-version")
        if version is not None and version not in HANDSHAKE_PROTOCOL_VERSIONS:
            return await self._alone(request, message)
        if message.get("method") == "initialize":
            return await self._open(request, message)
        child = self._session(request)
        if isinstance(child, Response):
            return child
        if "method" in message and "id" in message:
            return await child.ask(message).response(request)
        child.tell(message)
        return Response(status_code=202)

    async def get(self, request: Request) -> Response:
        """The stream of what a session's server says on its own."""
        child = self._session(request)
        if isinstance(child, Response):
            return child
        return StreamingResponse(child.on_its_own(), media_type="text/event-stream")

    async def delete(self, request: Request) -> Response:
        """The end of a session."""
        child = self._session(request)
        if isinstance(child, Response):
            return child
        del self._sessions[request.headers["mcp-session-id"]]
        self._ending.append(asyncio.get_running_loop().create_task(child.stop()))
        return Response(status_code=204)

    async def close(self) -> None:
        """End all children."""
        children = [*self._sessions.values()]
        if self._shared is not None:
            children.append(await self._shared)
        await asyncio.gather(*self._ending, *(child.stop() for child in children))

    async def _open(self, request: Request, message: Message) -> Response:
        child = await Child.started(self._command)
        wanted = min(message["params"]["protocolVersion"], self._newest)
        params = message["params"] | {"protocolVersion": wanted}
        response = await child.ask(message | {"params": params}).response(request)
        session = secrets.token_hex(16)
        self._sessions[session] = child
        response.headers["mcp-session-id"] = session
        return response

    def _session(self, request: Request) -> Child | Response:
        session = request.headers.get("mcp-session-id")
        if session is None:
            return _refusal(None, INVALID_REQUEST, "no session", 400)
        return self._sessions.get(session) or _refusal(None, INVALID_REQUEST, "no session", 404)

    async def _alone(self, request: Request, message: Message) -> Response:
        """A request or notification that stands alone (2026-07-28)."""
        if "id" not in message:
            return Response(status_code=202)  # there is none that a server would act on
        rejected = held_against_body(request, message)
        if rejected is None:
            if self._shared is None:
                start = Child.started(self._command, shared=True)
                self._shared = asyncio.get_running_loop().create_task(start)
            child = await self._shared
            rejected = await held_against_schema(child, request, message)
            if rejected is None:
                return await child.ask(message).response(request)
        return _refusal(message["id"], rejected.code, rejected.message, data=rejected.data)


def _refusal(
    id: object, code: int, message: str, status: int | None = None, *, data: object = None
) -> Response:
    error = {"code": code, "message": message} | ({} if data is None else {"data": data})
    content = {"jsonrpc": "2.0", "id": id, "error": error}
    return JSONResponse(content, status or ERROR_CODE_HTTP_STATUS[code])


def main(newest: str, *command: str) -> None:
    """Serve until the input closes."""
    gateway = Gateway(newest, list(command))

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        loop = asyncio.get_running_loop()
        loop.add_reader(sys.stdin.fileno(), stop)
        yield
        loop.remove_reader(sys.stdin.fileno())
        await gateway.close()

    def stop() -> None:
        server.should_exit = True

    routes = [
        Route("/mcp", gateway.post, methods=["POST"]),
        Route("/mcp", gateway.get, methods=["GET"]),
        Route("/mcp", gateway.delete, methods=["DELETE"]),
    ]
    hosts = Middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost"])
    app = Starlette(routes=routes, middleware=[hosts], lifespan=lifespan)
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    listener = socket.create_server(("127.0.0.1", 0))
    sys.stdout.write(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp\n")
    sys.stdout.flush()
    server.run(sockets=[listener])


if __name__ == "__main__":
    main(*sys.argv[1:])
