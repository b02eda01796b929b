"""Whole clients as people run them: Claude Code, Codex, Gemini CLI, Inspector; in fresh homes."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Final, NamedTuple

from driver import PATIENCE, Home, running

# Nothing of a test is told to anybody, and nothing is fetched.
SILENT: Final = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}
# Else Gemini CLI starts no server in a directory that nobody said to trust.
TRUSTED: Final = {"GEMINI_CLI_TRUST_WORKSPACE": "true"}


_OURSELVES: Final = {"name": "mcp-jail-test", "title": "mcp-jail", "version": "1"}


class Said(NamedTuple):
    """What a client said and how it ended."""

    code: int
    out: str
    errors: str


class Applications(NamedTuple):
    """The clients, and the home they run in."""

    home: Home
    tree: Path

    def claude(self, servers: dict[str, list[str]]) -> Said:
        """`claude mcp list` with these servers in the user's configuration."""
        self._configure(".claude.json", servers)
        return self.claude_again()

    def claude_again(self) -> Said:
        """`claude mcp list` with the configuration that is there."""
        # The package for musl may lie beside it.
        packages = (self.tree / "@anthropic-ai").glob("claude-code-linux-*")
        program = next(p for p in packages if not p.name.endswith("-musl")) / "claude"
        return self._run([str(program), "mcp", "list"], SILENT)

    def gemini(self, servers: dict[str, list[str]]) -> Said:
        """`gemini mcp list` with these servers in the user's settings."""
        self._configure(".gemini/settings.json", servers)
        return self.gemini_again()

    def gemini_again(self) -> Said:
        """`gemini mcp list` with the settings that are there."""
        script = self.tree / "@google" / "gemini-cli" / "bundle" / "gemini.js"
        return self._run([self.node, str(script), "mcp", "list"], TRUSTED)

    def codex_again(self) -> dict[str, set[str]]:
        """The tools of each server, as `codex app-server` starts it and lists them.

        `codex mcp list` starts no server; this is what Codex's own window asks.
        """
        program = next((self.tree / "@openai").glob("codex-linux-*/vendor/*/bin/codex"))
        words = [str(program), "app-server"]
        with running(words, self.home.environ(), self.home.path) as client:
            client.send(id=0, method="initialize", params={"clientInfo": _OURSELVES})
            client.answer(0)
            client.send(method="initialized")
            client.send(id=1, method="mcpServerStatus/list", params={})
            listed = client.answer(1)["result"]["data"]
        return {server["name"]: {*server["tools"]} for server in listed}

    def inspector(self, era: str, server: list[str], *request: str) -> Said:
        """`mcp-inspector --cli` with one request."""
        launcher = self.tree / "@modelcontextprotocol" / "inspector" / "clients" / "launcher"
        script = str(launcher / "build" / "index.js")
        words = [self.node, script, "--cli", "--protocol-era", era, *request, "--", *server]
        return self._run(words, {})

    @property
    def node(self) -> str:
        """A Node.js that is new enough for all of them, whatever the machine has."""
        return str(next(self.tree.glob("node-linux-*")) / "bin" / "node")

    def _configure(self, name: str, servers: dict[str, list[str]]) -> None:
        entries = {key: {"command": words[0], "args": words[1:]} for key, words in servers.items()}
        path = self.home.path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps({"mcpServers": entries}))

    def _run(self, words: list[str], more: dict[str, str]) -> Said:
        done = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            cwd=self.home.path,
            env={"HOME": str(self.home.path), "PATH": os.environ["PATH"], **more},
            timeout=3 * PATIENCE,
            check=False,
        )
        return Said(done.returncode, done.stdout.decode(), done.stderr.decode())
