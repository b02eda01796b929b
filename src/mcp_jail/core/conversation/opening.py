"""What client and server said of themselves at the start, and how much of it the other is told.

A capability is an offer to be asked. Passed on are those that a policy lets be used, cut to the
members the protocol names, so that no text rides along: an extension, an experiment or a word
nobody knows is left out of both.
"""

from __future__ import annotations

from typing import Any, Final

from mcp_jail.core.policy import Policy, Roots, Verdict
from mcp_jail.core.protocol import mcp
from mcp_jail.core.protocol.mcp import Era
from mcp_jail.core.protocol.wire import MESSAGE_LIMIT

# Bytes of a line that every client takes. The TypeScript SDK, which most hosts are made of, closes
# the session once more than 10 MiB wait to be read.
CLIENT_LIMIT: Final = 10 * 1024 * 1024 - 64 * 1024

# Clients by the name they give themselves that take a line of any length: the Python SDK's.
_READS_ANY: Final = frozenset({"mcp"})

# The members of the answer to an opening request that are passed on.
_OPENING_PASSED = frozenset(
    {
        "protocolVersion",
        "supportedVersions",
        "capabilities",
        "serverInfo",
        "instructions",
        "resultType",
        "_meta",
    }
)

# What a server may offer, and the switches each offer may have.
_SERVER_OFFERS: dict[str, tuple[str, ...]] = {
    "tools": ("listChanged",),
    "prompts": ("listChanged",),
    "resources": ("subscribe", "listChanged"),
    "logging": (),
    "completions": (),
}

# A client is told of changes of these by us too, after an approval.
_CHANGING = ("tools", "prompts", "resources")


class Opening:
    """How one run's client opened it; filled in by what passes."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.is_asked = False  # `initialize` was forwarded
        self.is_legacy = False  # and answered
        self.has_tasks = False  # the server takes a tool's call as a task (2025-11-25)
        self.capabilities: dict[str, Any] = {}
        self._client = ""

    def opened(self, params: dict[str, Any]) -> None:
        """The client has sent `initialize`."""
        self.is_asked = True
        self.capabilities = _object(params.get("capabilities"))
        self._client = _name_of(params.get("clientInfo"))

    def capabilities_of(self, era: Era, params: dict[str, Any]) -> dict[str, Any]:
        """What the client can be asked for: said once, or with every request (2026-07-28)."""
        if era is Era.LEGACY:
            return self.capabilities
        return _object(_object(params.get("_meta")).get(mcp.CLIENT_CAPABILITIES_KEY))

    def takes_tasks(self, era: Era, params: dict[str, Any]) -> bool:
        """Whether a request may be about tasks: a matter of each request in the modern era."""
        if era is Era.LEGACY:
            return True
        extensions = _object(self.capabilities_of(era, params).get("extensions"))
        return mcp.TASKS_EXTENSION in extensions

    def line_limit(self, era: Era, params: dict[str, Any]) -> int:
        """The bytes of an answer to this request that its client takes."""
        return MESSAGE_LIMIT if self.name_of(era, params) in _READS_ANY else CLIENT_LIMIT

    def name_of(self, era: Era, params: dict[str, Any]) -> str:
        """The name that the client of a request gives itself; empty where it gives none."""
        if era is Era.LEGACY:
            return self._client
        return _name_of(_object(params.get("_meta")).get(mcp.CLIENT_INFO_KEY))

    def told_to_server(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The params of a client's request, cut to the members and offers that are passed on."""
        passed = mcp.PARAMS_PASSED.get(method)
        if passed is not None and not params.keys() <= passed:
            params = {name: value for name, value in params.items() if name in passed}
        if method == "initialize":
            return params | {"capabilities": self._offered(_object(params.get("capabilities")))}
        meta = params.get("_meta")
        if "task" in params and mcp.era_of(params) is Era.MODERN:
            params = {name: value for name, value in params.items() if name != "task"}
        if type(meta) is not dict or mcp.CLIENT_CAPABILITIES_KEY not in meta:
            return params
        offered = self._offered(_object(meta[mcp.CLIENT_CAPABILITIES_KEY]))
        return params | {"_meta": meta | {mcp.CLIENT_CAPABILITIES_KEY: offered}}

    def _offered(self, declared: dict[str, Any]) -> dict[str, Any]:
        """A client's capabilities as the server is told them."""
        offered: dict[str, Any] = {}
        if "roots" in declared and self.policy.roots is Roots.POLICY:
            offered["roots"] = {}  # the policy's, which do not change
        if "sampling" in declared and self.policy.sampling is not Verdict.DENY:
            offered["sampling"] = _switched_on(declared["sampling"], ("tools",))
        if "elicitation" in declared and self.policy.elicitation is not Verdict.DENY:
            offered["elicitation"] = _switched_on(declared["elicitation"], ("form", "url"))
        return offered | _extensions(declared)


def told_to_client(result: dict[str, Any], *, era: Era, is_locked: bool) -> dict[str, Any]:
    """The answer to an opening request with members and capabilities cut to those passed on."""
    offers = _object(result.get("capabilities"))
    told: dict[str, Any] = {}
    for name, switches in _SERVER_OFFERS.items():
        if name in offers:
            said = _object(offers[name])
            told[name] = {switch: True for switch in switches if said.get(switch) is True}
    if era is Era.LEGACY:
        if is_locked:
            for name in _CHANGING:
                if name in told:
                    told[name]["listChanged"] = True
        if type(offers.get("tasks")) is dict:
            told["tasks"] = _tasks(offers["tasks"])
    odd = "supportedVersions" if era is Era.LEGACY else "protocolVersion"
    kept = {n: value for n, value in result.items() if n in _OPENING_PASSED and n != odd}
    return kept | {"capabilities": told | _extensions(offers)}


def _tasks(said: dict[str, Any]) -> dict[str, Any]:
    """Tasks of 2025-11-25: of a tool's call only, in one direction."""
    told = _switched_on(said, ("list", "cancel"))
    if "call" in _object(_object(said.get("requests")).get("tools")):
        told["requests"] = {"tools": {"call": {}}}
    return told


def _extensions(declared: dict[str, Any]) -> dict[str, Any]:
    """The extensions that are known here."""
    if mcp.TASKS_EXTENSION in _object(declared.get("extensions")):
        return {"extensions": {mcp.TASKS_EXTENSION: {}}}
    return {}


def _switched_on(said: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """The members of these names that are objects, each empty: nothing is defined in them."""
    members = _object(said)
    return {name: {} for name in names if type(members.get(name)) is dict}


def _name_of(info: Any) -> str:
    name = _object(info).get("name")
    return name if type(name) is str else ""


def _object(value: Any) -> dict[str, Any]:
    return value if type(value) is dict else {}
