"""Plays of a session in either era: a client and a server that say what a test has them say."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, Final

import msgspec
from msgspec import Raw

from imagined import Imagined
from mcp_jail.core.approved.catalogue import Catalogue
from mcp_jail.core.approved.lock import ItemKind, Lock, Pin, approve, key_of, pin
from mcp_jail.core.conversation.asks import Ask
from mcp_jail.core.conversation.events import (
    AskOver,
    AskPerson,
    AwaitReview,
    Effect,
    Event,
    FromClient,
    FromServer,
    Record,
    Tell,
    ToClient,
    ToServer,
    TrustFirst,
)
from mcp_jail.core.conversation.session import Session
from mcp_jail.core.policy import Policy
from mcp_jail.core.recorded.audit import Entry
from mcp_jail.core.rules.decide import compile_rules

ERAS: Final = ("legacy", "modern")
PREFIX: Final = "io.modelcontextprotocol/"

# All that a client of 2025-11-25 can be asked for.
OFFERS: Final[dict[str, Any]] = {"sampling": {"tools": {}}, "elicitation": {"form": {}, "url": {}}}

FORM: Final[dict[str, Any]] = {
    "message": "How many?",
    "requestedSchema": {"type": "object", "properties": {"x": {"type": "string"}}},
}
PAGE: Final[dict[str, Any]] = {
    "mode": "url",
    "message": "Sign in",
    "url": "https://example.com/a",
    "elicitationId": "page-1",
}
PROMPTED: Final[dict[str, Any]] = {
    "messages": [{"role": "user", "content": {"type": "text", "text": "hello"}}],
    "maxTokens": 10,
}
SAMPLED: Final[dict[str, Any]] = {
    "role": "assistant",
    "content": {"type": "text", "text": "hello yourself"},
    "model": "m",
    "stopReason": "endTurn",
}
ACCEPTED: Final[dict[str, Any]] = {"action": "accept", "content": {"x": "two"}}
DECLINED: Final[dict[str, Any]] = {"action": "decline"}

# Lets everything pass that no test is about.
OPEN: Final[dict[str, Any]] = {
    "tools": {"default": "allow"},
    "resources": {"default": "allow"},
    "prompts": {"default": "allow"},
    "sampling": "allow",
    "elicitation": "allow",
}
UNLOCKED: Final[dict[str, Any]] = {"enabled": False}
REVIEW: Final[dict[str, Any]] = {"first": "review"}
TRUST: Final[dict[str, Any]] = {"first": "trust"}


class Play:
    """One conversation, opened in its era, and all that each side got of it.

    `offers` are the client's capabilities; `keys` are keys of the policy.
    """

    def __init__(
        self,
        era: str = "legacy",
        *,
        approved: Lock | None = None,
        proposal: Lock | None = None,
        offers: dict[str, Any] = OFFERS,
        server: dict[str, Any] | None = None,
        opened: bool = True,
        client: str = "c",
        phrase: str = "",
        tickets: Iterator[str] | None = None,
        **keys: Any,
    ) -> None:
        numbers = itertools.count(1)
        tickets = tickets or (f"TICK{number:02d}" for number in itertools.count(1))
        policy = msgspec.convert({"name": "x", **OPEN, "lock": UNLOCKED, **keys}, Policy)
        self.catalogue = Catalogue("x", policy.lock, approved, proposal)
        self.era, self.offers, self.client = era, offers, client
        self.talk = Session(
            compile_rules(policy, {}, home="/home/me", cwd=None),
            Imagined({}),
            fresh_id=lambda: f"ours-{next(numbers)}",
            fresh_ticket=lambda: next(tickets),
            describe=lambda arguments: (Raw(msgspec.json.encode(arguments)), "digest"),
            roots=("/home/me/a b",),
            catalogue=self.catalogue,
        )
        self.talk.mark_questions(phrase)
        self.client_got: list[dict[str, Any]] = []
        self.server_got: list[dict[str, Any]] = []
        self.entries: list[Entry] = []
        self.told: list[str] = []
        self.awaited: list[Lock] = []
        self.trusted: list[Lock] = []
        self.asks: list[Ask] = []
        self.over: list[tuple[str, str]] = []
        if opened:
            self.open(server or {})

    def open(self, server: dict[str, Any]) -> None:
        """Begin as a client of the era does."""
        if self.era == "modern":
            self.says("server/discover", "open")
            self.answers({"supportedVersions": ["2026-07-28"], "capabilities": {}, **server})
            return
        version = {"protocolVersion": "2025-11-25"}
        info = {"name": self.client, "version": "1"}
        self.says("initialize", "open", capabilities=self.offers, clientInfo=info, **version)
        self.answers({"capabilities": {}, **version, **server})
        self.says("notifications/initialized")

    @property
    def meta(self) -> dict[str, Any]:
        """The `_meta` that each request of the client has in this era."""
        if self.era == "legacy":
            return {}
        return {
            PREFIX + "protocolVersion": "2026-07-28",
            PREFIX + "clientInfo": {"name": self.client, "version": "1"},
            PREFIX + "clientCapabilities": self.offers,
        }

    def handle(self, event: Event) -> list[Effect]:
        """Hand an event to the session and take down what comes of it."""
        effects = self.talk.handle(event)
        for effect in effects:
            match effect:
                case ToClient(line):
                    self.client_got.append(msgspec.json.decode(line))
                case ToServer(line):
                    self.server_got.append(msgspec.json.decode(line))
                case Record(entry):
                    self.entries.append(entry)
                case Tell(text):
                    self.told.append(text)
                case AwaitReview(seen):
                    self.awaited.append(seen)
                case TrustFirst(lock):
                    self.trusted.append(lock)
                case AskPerson(ask):
                    self.asks.append(ask)
                case AskOver(ask, how):
                    self.over.append((ask.ticket, how))
        return effects

    def says(self, method: str, id: int | str | None = None, **params: Any) -> list[Effect]:
        """The client sends a request, or without an id a notification."""
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
        if id is not None:
            message["id"] = id
            if self.meta or "_meta" in params:
                params["_meta"] = self.meta | params.get("_meta", {})
        return self.handle(FromClient(msgspec.json.encode(message | {"params": params})))

    def replies(self, id: Any, **message: Any) -> list[Effect]:
        """The client answers a question."""
        whole = {"jsonrpc": "2.0", "id": id, **message}
        return self.handle(FromClient(msgspec.json.encode(whole)))

    def sends(self, **message: Any) -> list[Effect]:
        """The server sends something."""
        return self.handle(FromServer(msgspec.json.encode({"jsonrpc": "2.0", **message})))

    def answers(self, result: dict[str, Any], id: Any = None) -> list[Effect]:
        """The server answers a request, the last it got unless another id is given."""
        if self.era == "modern":
            result = {"resultType": "complete", **result}
        return self.sends(id=id or self.asked["id"], result=result)

    def fails(self, code: int = -32603, message: str = "no", **more: Any) -> list[Effect]:
        """The server answers the last request it got with an error."""
        error = {"code": code, "message": message, **more}
        return self.sends(id=self.asked["id"], error=error)

    def notifies(self, method: str, **params: Any) -> list[Effect]:
        """The server sends a notification."""
        return self.sends(method=method, params=params)

    @property
    def asked(self) -> dict[str, Any]:
        """The last request the server got."""
        return next(each for each in reversed(self.server_got) if "method" in each and "id" in each)

    @property
    def reply(self) -> dict[str, Any]:
        """The last answer the client got."""
        return next(each for each in reversed(self.client_got) if "method" not in each)

    @property
    def text(self) -> str:
        """The words of the last answer to a call of a tool."""
        return str(self.reply["result"]["content"][0]["text"])

    # A few things that are often done

    def lists(self, *tools: dict[str, Any], **members: Any) -> list[str]:
        """The client lists tools, the server answers: the names that the client is shown."""
        self.says("tools/list", "list")
        self.answers({"tools": list(tools), **members})
        return [tool["name"] for tool in self.reply["result"]["tools"]]

    def calls(self, name: str, id: int | str = "call", **params: Any) -> list[dict[str, Any]]:
        """The client calls a tool: what the server got of it."""
        before = len(self.server_got)
        self.says("tools/call", id, name=name, **params)
        return self.server_got[before:]


def tool(name: str = "t", **members: Any) -> dict[str, Any]:
    """A tool as a server lists it."""
    return {"name": name, "description": "Adds.", "inputSchema": {"type": "object"}, **members}


def approved(
    *tools: dict[str, Any],
    kinds: tuple[ItemKind, ...] = (ItemKind.TOOL,),
    era: str = "legacy",
    **others: Any,
) -> Lock:
    """A lock over these tools; `others` are items of other kinds by `kind_name`."""
    items: dict[str, tuple[Pin, ...]] = {
        key_of(ItemKind.TOOL, each["name"]): (pin(ItemKind.TOOL, each, era),) for each in tools
    }
    for key, value in others.items():
        kind, _, name = key.partition("_")
        items[key_of(ItemKind(kind), name)] = (pin(ItemKind(kind), value, era),)
    return approve(None, Lock(name="x", kinds=kinds, items=items))
