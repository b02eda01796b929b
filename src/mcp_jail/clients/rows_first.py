"""The catalogue's first rows: the clients that most people have, known in full.

Where each line comes from: the clients' own sources and documentation, autumn 2026. A row is tried
on a file of its client by `tests/wrap`.
"""

from __future__ import annotations

from mcp_jail.clients.catalogue import (
    LIST,
    Fills,
    Row,
    Scope,
    Shape,
    Syntax,
)
from mcp_jail.clients.rows_editors import EDITORS

_CODE = ("Code", "Code - Insiders", "VSCodium")
_EDITORS = ("code", "code-insiders", "codium")
_MAC = "~/Library/Application Support"
_ASKS_AGAIN = "it asks once more whether you trust a server whose entry has changed"

CLAUDE = (
    Row(
        client="claude-desktop",
        name="Claude Desktop",
        files=(
            "~/.config/Claude/claude_desktop_config.json",
            "~/.config/claude/claude_desktop_config.json",
        ),
        macos=(f"{_MAC}/Claude/claude_desktop_config.json",),
        syntax=Syntax.JSON,
        rewrites="from memory, at each start and login",
        processes=("claude-desktop", "Claude"),
        note="quit it fully (closing its window does not) and start it again",
    ),
    Row(
        client="claude-code",
        name="Claude Code",
        files=("${CLAUDE_CONFIG_DIR:-~}/.claude.json",),
        syntax=Syntax.JSON,
        servers=(("mcpServers",), ("projects", "*", "mcpServers")),
        fills=Fills.BRACED,
        rewrites="all the time, from every session",
        processes=("claude",),
    ),
    Row(
        client="claude-code",
        name="Claude Code",
        scope=Scope.PROJECT,
        files=("./.mcp.json",),
        syntax=Syntax.JSON,
        servers=(("mcpServers",), ("servers",)),
        fills=Fills.BRACED,
        climbs=True,
        note="Copilot CLI and VS Code read this file as well, Visual Studio its 'servers'",
    ),
)

TERMINALS = (
    Row(
        client="codex",
        name="Codex",
        files=("${CODEX_HOME:-~/.codex}/config.toml", "${CODEX_HOME:-~/.codex}/*.config.toml"),
        syntax=Syntax.TOML,
        servers=(("mcp_servers",),),
        disabled="enabled",
    ),
    Row(
        client="codex",
        name="Codex",
        scope=Scope.PROJECT,
        files=("./.codex/config.toml",),
        syntax=Syntax.TOML,
        servers=(("mcp_servers",),),
        disabled="enabled",
    ),
    Row(
        client="gemini",
        name="Gemini CLI",
        files=("~/.gemini/settings.json",),
        syntax=Syntax.JSON_COMMENTS,
        fills=Fills.DOLLAR,
        rewrites="at each change of a setting",
        processes=("gemini",),
    ),
    Row(
        client="gemini",
        name="Gemini CLI",
        scope=Scope.PROJECT,
        files=("./.gemini/settings.json",),
        syntax=Syntax.JSON_COMMENTS,
        fills=Fills.DOLLAR,
    ),
    Row(
        client="copilot",
        name="Copilot CLI",
        files=("${COPILOT_HOME:-~/.copilot}/mcp-config.json", "~/.config/mcp-config.json"),
        syntax=Syntax.JSON,
        fills=Fills.BRACED,
    ),
    Row(
        client="copilot",
        name="Copilot CLI",
        scope=Scope.PROJECT,
        files=("./.github/mcp.json",),
        syntax=Syntax.JSON,
        fills=Fills.BRACED,
    ),
    Row(
        client="copilot-ide",
        name="Copilot in JetBrains and Eclipse",
        files=(
            "~/.config/github-copilot/intellij/mcp.json",
            "~/.config/github-copilot/eclipse/mcp.json",
        ),
        syntax=Syntax.JSONC,
        servers=(("servers",), ("mcpServers",)),
        fills=Fills.BRACED,
    ),
    Row(
        client="opencode",
        name="OpenCode",
        files=(
            "~/.config/opencode/opencode.jsonc",
            "~/.config/opencode/opencode.json",
            "~/.config/opencode/config.json",
            "~/.opencode/opencode.jsonc",
            "~/.opencode/opencode.json",
        ),
        syntax=Syntax.JSONC,
        servers=(("mcp", "servers"), ("mcp",)),
        shapes=(LIST,),
        disabled="disabled",
        fills=Fills.CURLY,
    ),
    Row(
        client="opencode",
        name="OpenCode",
        scope=Scope.PROJECT,
        files=(
            "./opencode.jsonc",
            "./opencode.json",
            "./.opencode/opencode.jsonc",
            "./.opencode/opencode.json",
        ),
        syntax=Syntax.JSONC,
        servers=(("mcp", "servers"), ("mcp",)),
        shapes=(LIST,),
        disabled="disabled",
        fills=Fills.CURLY,
    ),
    Row(
        client="goose",
        name="Goose",
        files=("~/.config/goose/config.yaml",),
        syntax=Syntax.YAML,
        servers=(("extensions",),),
        shapes=(Shape(command="cmd", env="envs"),),
        disabled="enabled",
        rewrites="at each change, as a whole: comments are lost",
        processes=("goose",),
    ),
)

FIRST = (*CLAUDE, *EDITORS, *TERMINALS)
