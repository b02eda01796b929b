"""What hosts send first, byte for byte as it was recorded, and how they end a server.

Recorded between each host and a real server: of both eras (Python SDK) and of the legacy era alone
(TypeScript SDK 1). Claude Code 2.1.332, Gemini CLI 0.61.0, Inspector 2.12.0, Python SDK 2.3.0,
TypeScript SDK 2.4.0. Codex CLI is put together from what others recorded of its version 0.158.
"""

from __future__ import annotations

from enum import Enum
from signal import SIGINT, SIGTERM, Signals
from typing import Final, NamedTuple

Id = int | str


class Kind(Enum):
    """What an answer must be; `test_openings.py` says how that shows."""

    DISCOVERED = "discovered"
    INITIALIZED = "initialized"
    LISTED = "listed"
    CALLED = "called"
    EMPTY = "empty"
    UNKNOWN = "unknown method"
    ACKNOWLEDGED = "acknowledged"


class Turn(NamedTuple):
    """What a host writes at once, and what it has before it writes on: kinds of answers by id."""

    sends: bytes
    awaits: dict[Id, Kind]


class Opening(NamedTuple):
    """One host before one kind of server."""

    version: str  # what comes of it
    turns: tuple[Turn, ...]
    ends: Signals | None = None  # None: it closes our input and waits
    sibling: Turn | None = None  # sent to a process of its own, which SIGTERM ends at once


def _lines(*lines: bytes) -> bytes:
    return b"".join(line + b"\n" for line in lines)


def _meta(client: bytes, capabilities: bytes, more: bytes = b"") -> bytes:
    return (
        b'"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",'
        b'"io.modelcontextprotocol/clientInfo":%b,'
        b'"io.modelcontextprotocol/clientCapabilities":%b%b}' % (client, capabilities, more)
    )


PROBE_ID: Final = "server-discover-probe-1"


def _probe(meta: bytes) -> bytes:
    return (
        b'{"jsonrpc":"2.0","id":"server-discover-probe-1","method":"server/discover",'
        b'"params":{%b}}' % meta
    )


def _initialize(version: bytes, capabilities: bytes, client: bytes, id: bytes = b"0") -> bytes:
    """As both TypeScript SDKs write it."""
    return (
        b'{"method":"initialize","params":{"protocolVersion":"%b","capabilities":%b,'
        b'"clientInfo":%b},"jsonrpc":"2.0","id":%b}' % (version, capabilities, client, id)
    )


def _subscribe(meta: bytes, wants: bytes) -> bytes:
    return (
        b'{"jsonrpc":"2.0","id":"listen:0","method":"subscriptions/listen",'
        b'"params":{%b,"notifications":%b}}' % (meta, wants)
    )


_BEGIN: Final = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
_BEGIN_V1: Final = b'{"method":"notifications/initialized","jsonrpc":"2.0"}'

_CLAUDE: Final = (
    b'{"name":"claude-code","title":"Claude Code","version":"2.1.332","description":'
    b'"Anthropic\'s agentic coding tool","websiteUrl":"https://claude.com/claude-code"}'
)
_CLAUDE_CAN: Final = b'{"roots":{"listChanged":true},"elicitation":{"form":{},"url":{}}}'
_CLAUDE_META: Final = _meta(_CLAUDE, _CLAUDE_CAN)

_INSPECTOR: Final = b'{"name":"inspector-cli","version":"2.12.0"}'
_INSPECTOR_CAN: Final = (
    b'{"roots":{"listChanged":true},"extensions":{"io.modelcontextprotocol/tasks":{},'
    b'"io.modelcontextprotocol/skills":{}}}'
)
_INSPECTOR_META: Final = _meta(_INSPECTOR, _INSPECTOR_CAN)
_INSPECTOR_LOGS: Final = _meta(
    _INSPECTOR, _INSPECTOR_CAN, b',"io.modelcontextprotocol/logLevel":"debug"'
)

_GEMINI: Final = b'{"name":"mcp-test-client","version":"0.0.1"}'
_PYTHON: Final = b'{"name":"mcp","version":"0.1.0"}'
_PYTHON_META: Final = _meta(_PYTHON, b"{}")
_TYPESCRIPT: Final = b'{"name":"mcp-jail-test","version":"1.0.0"}'
_TYPESCRIPT_META: Final = _meta(_TYPESCRIPT, b"{}")

_PYTHON_DISCOVERS: Final = _lines(
    b'{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{%b}}' % _PYTHON_META
)
_GEMINI_TURNS: Final = (
    Turn(_lines(_initialize(b"2025-06-18", b"{}", _GEMINI)), {0: Kind.INITIALIZED}),
    Turn(_lines(_BEGIN_V1, b'{"method":"ping","jsonrpc":"2.0","id":1}'), {1: Kind.EMPTY}),
)
_CODEX_TURNS: Final = (
    Turn(
        _lines(
            b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":'
            b'"2025-06-18","capabilities":{"experimental":{"codex/auth-change":{}},"elicitation":'
            b'{"form":{},"url":{}}},"clientInfo":{"name":"codex-mcp-client","title":"Codex",'
            b'"version":"0.158.0"}}}'
        ),
        {0: Kind.INITIALIZED},
    ),
    Turn(
        _lines(
            _BEGIN,
            b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":'
            b'{"_meta":{"progressToken":0}}}',
        ),
        {1: Kind.LISTED},
    ),
)

BEFORE_BOTH_ERAS: Final[dict[str, Opening]] = {
    "Claude Code": Opening(
        "2026-07-28",
        (
            Turn(_lines(_probe(_CLAUDE_META)), {PROBE_ID: Kind.DISCOVERED}),
            Turn(
                _lines(
                    _subscribe(
                        _CLAUDE_META,
                        b'{"toolsListChanged":true,"promptsListChanged":true,'
                        b'"resourcesListChanged":true}',
                    )
                ),
                {"listen:0": Kind.ACKNOWLEDGED},
            ),
            Turn(
                _lines(
                    b'{"method":"server/discover","jsonrpc":"2.0","id":0,"params":{%b}}'
                    % _CLAUDE_META
                ),
                {0: Kind.DISCOVERED},
            ),
            Turn(
                _lines(
                    b'{"method":"tools/list","params":{%b},"jsonrpc":"2.0","id":1}' % _CLAUDE_META
                ),
                {1: Kind.LISTED},
            ),
        ),
        SIGINT,
    ),
    "Gemini CLI": Opening("2025-06-18", _GEMINI_TURNS, SIGTERM),
    "Codex CLI": Opening("2025-06-18", _CODEX_TURNS, SIGTERM),
    "Python SDK": Opening(
        "2026-07-28",
        (
            Turn(_PYTHON_DISCOVERS, {1: Kind.DISCOVERED}),
            Turn(
                _lines(
                    b'{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{%b}}' % _PYTHON_META
                ),
                {2: Kind.LISTED},
            ),
            Turn(
                _lines(
                    b'{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo",'
                    b'"arguments":{"text":"x","message":"x"},%b}}' % _PYTHON_META
                ),
                {3: Kind.CALLED},
            ),
        ),
    ),
    "TypeScript SDK 2": Opening(
        "2026-07-28",
        (
            Turn(
                _lines(
                    b'{"method":"tools/list","jsonrpc":"2.0","id":0,"params":{%b}}'
                    % _TYPESCRIPT_META
                ),
                {0: Kind.LISTED},
            ),
            Turn(
                _lines(
                    b'{"method":"tools/call","params":{"name":"echo","arguments":{"text":"x",'
                    b'"message":"x"},%b},"jsonrpc":"2.0","id":1}' % _TYPESCRIPT_META
                ),
                {1: Kind.CALLED},
            ),
        ),
        sibling=Turn(_lines(_probe(_TYPESCRIPT_META)), {PROBE_ID: Kind.DISCOVERED}),
    ),
    "Inspector": Opening(
        "2026-07-28",
        (
            Turn(_lines(_probe(_INSPECTOR_META)), {PROBE_ID: Kind.DISCOVERED}),
            Turn(
                _lines(
                    _subscribe(
                        _INSPECTOR_META,
                        b'{"toolsListChanged":true,"resourcesListChanged":true,'
                        b'"promptsListChanged":true}',
                    )
                ),
                {"listen:0": Kind.ACKNOWLEDGED},
            ),
            Turn(
                _lines(
                    b'{"method":"tools/list","params":{%b},"jsonrpc":"2.0","id":0}'
                    % _INSPECTOR_LOGS
                ),
                {0: Kind.LISTED},
            ),
        ),
    ),
}

BEFORE_LEGACY: Final[dict[str, Opening]] = {
    "Claude Code": Opening(
        "2025-11-25",
        (
            Turn(_lines(_probe(_CLAUDE_META)), {PROBE_ID: Kind.UNKNOWN}),
            Turn(_lines(_initialize(b"2025-11-25", _CLAUDE_CAN, _CLAUDE)), {0: Kind.INITIALIZED}),
            Turn(
                _lines(_BEGIN, b'{"method":"tools/list","jsonrpc":"2.0","id":1}'),
                {1: Kind.LISTED},
            ),
        ),
        SIGINT,
    ),
    "Gemini CLI": Opening("2025-06-18", _GEMINI_TURNS, SIGTERM),
    "Codex CLI": Opening("2025-06-18", _CODEX_TURNS, SIGTERM),
    "Python SDK": Opening(
        "2025-11-25",
        (
            Turn(_PYTHON_DISCOVERS, {1: Kind.UNKNOWN}),
            Turn(
                _lines(
                    b'{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":'
                    b'"2025-11-25","capabilities":{},"clientInfo":%b}}' % _PYTHON
                ),
                {2: Kind.INITIALIZED},
            ),
            Turn(
                _lines(_BEGIN, b'{"jsonrpc":"2.0","id":3,"method":"tools/list"}'),
                {3: Kind.LISTED},
            ),
            Turn(
                _lines(
                    b'{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"echo",'
                    b'"arguments":{"text":"x","message":"x"}}}'
                ),
                {4: Kind.CALLED},
            ),
        ),
    ),
    "TypeScript SDK 2": Opening(
        "2025-11-25",
        (
            Turn(_lines(_initialize(b"2025-11-25", b"{}", _TYPESCRIPT)), {0: Kind.INITIALIZED}),
            Turn(_lines(_BEGIN), {}),
            Turn(_lines(b'{"method":"tools/list","jsonrpc":"2.0","id":1}'), {1: Kind.LISTED}),
            Turn(
                _lines(
                    b'{"method":"tools/call","params":{"name":"echo","arguments":{"text":"x",'
                    b'"message":"x"}},"jsonrpc":"2.0","id":2}'
                ),
                {2: Kind.CALLED},
            ),
        ),
        sibling=Turn(_lines(_probe(_TYPESCRIPT_META)), {PROBE_ID: Kind.UNKNOWN}),
    ),
    "Inspector": Opening(
        "2025-11-25",
        (
            Turn(_lines(_probe(_INSPECTOR_META)), {PROBE_ID: Kind.UNKNOWN}),
            Turn(
                _lines(_initialize(b"2025-11-25", _INSPECTOR_CAN, _INSPECTOR)),
                {0: Kind.INITIALIZED},
            ),
            Turn(_lines(_BEGIN), {}),
            Turn(
                _lines(
                    b'{"method":"logging/setLevel","params":{"level":"debug"},"jsonrpc":"2.0",'
                    b'"id":1}'
                ),
                {1: Kind.EMPTY},
            ),
            Turn(_lines(b'{"method":"tools/list","jsonrpc":"2.0","id":2}'), {2: Kind.LISTED}),
        ),
    ),
}
