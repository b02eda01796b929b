"""The sample files of clients, and how a test wraps and unwraps one without a disk."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final, NamedTuple

from mcp_jail.clients.catalogue import Row
from mcp_jail.clients.document import Document
from mcp_jail.clients.reading import decoded, read, verify
from mcp_jail.clients.servers import Server, State, servers_in
from mcp_jail.clients.splices import spliced
from mcp_jail.clients.targets import ROWS
from mcp_jail.clients.wrapping import Change, unwrap_entry, wrap_entry
from mcp_jail.store.places import Places, find_places
from mcp_jail.store.wrapped import Remembered, Undo

SAMPLES: Final = Path(__file__).resolve().parent / "samples"
PROGRAM: Final = "/home/me/.local/bin/mcp-jail"


def is_ours(word: str) -> bool:
    """Whether a word of a sample starts the program it is wrapped with."""
    return word in {PROGRAM, "mcp-jail"}


class Sample(NamedTuple):
    """A file, the row that knows it, and how many of its servers can be wrapped."""

    file: str
    row: Row
    bare: int

    @property
    def text(self) -> str:
        """Its text with every byte."""
        return decoded((SAMPLES / self.file).read_bytes(), self.file)


def row(client: str, path: str = "") -> Row:
    """The first row of a client, or the one with this path."""
    return next(each for each in ROWS if each.client == client and (not path or path in each.files))


ALL: Final = [
    Sample("claude-desktop-macos.json", row("claude-desktop"), 2),
    Sample("claude-code-user.claude.json", row("claude-code"), 2),
    Sample("claude-plugin-flat.mcp.json", row("claude-plugin"), 1),
    Sample("cursor-user-mcp.json", row("cursor"), 1),
    Sample("vscode-settings-legacy.json", row("vscode", "~/.config/Code/User/settings.json"), 1),
    Sample("vscode-settings-legacy.json", row("amp"), 1),
    Sample("visual-studio.mcp.json", row("claude-code", "./.mcp.json"), 1),
    Sample("devin-windsurf-mcp_config.json", row("windsurf"), 1),
    Sample("codex-config.toml", row("codex"), 2),
    Sample("codex-dotted.toml", row("codex"), 3),
    Sample("cline_mcp_settings.json", row("cline"), 2),
    Sample("roo-mcp_settings.json", row("roo"), 1),
    Sample("opencode-v2.jsonc", row("opencode"), 1),
    Sample("continue-config.yaml", row("continue"), 2),
    Sample("librechat.yaml", row("librechat"), 2),
    Sample("copilot-mcp-config.json", row("copilot"), 1),
    Sample("kiro-mcp.json", row("kiro"), 1),
    Sample("already-wrapped.json", row("claude-desktop"), 3),
]


def file_of(**entries: str) -> str:
    """A file with these entries, which are JSON already."""
    listed = ", ".join(f'"{name}": {entry}' for name, entry in entries.items())
    return '{"mcpServers": {' + listed + "}}"


class Wrapped(NamedTuple):
    """A wrapped text, how to take it back, and what is remembered of each entry."""

    text: str
    undo: tuple[Undo, ...]
    changes: list[Change]
    remembered: dict[tuple[str | int, ...], Remembered]


def bare(document: Document, known: Row) -> list[Server]:
    """The servers that can be wrapped."""
    return [each for each in servers_in(document, known, is_ours) if each.state is State.BARE]


def wrap(text: str, known: Row) -> Wrapped:
    """Wrap all servers of a text, verified as the command does it."""
    document = read(text, "file", known.syntax)
    servers = bare(document, known)
    changes = [
        wrap_entry(document, each, program=PROGRAM, policy=f"policy-{index}")
        for index, each in enumerate(servers)
    ]
    after, undo = spliced(text, [splice for change in changes for splice in change.splices])
    verify(document, after, changes, known, "file")
    remembered = {
        server.path: change.remembered for server, change in zip(servers, changes, strict=True)
    }
    return Wrapped(after, undo, changes, remembered)


def unwrap(text: str, known: Row, remembered: dict[tuple[str | int, ...], Remembered]) -> str:
    """Unwrap, by what the entries say, all servers that `wrap` wrapped."""
    document = read(text, "file", known.syntax)
    changes = [
        unwrap_entry(document, each, remembered.get(each.path, Remembered()))
        for each in servers_in(document, known, is_ours)
        if each.state is State.WRAPPED and each.path in (remembered or {each.path})
    ]
    back, _ = spliced(text, [splice for change in changes for splice in change.splices])
    verify(document, back, changes, known, "file")
    return back


def places(home: Path) -> Places:
    """Our places below a home."""
    return find_places({"HOME": str(home)})


def environ(home: Path) -> dict[str, str]:
    """A client's environment."""
    return {"HOME": str(home), "PATH": os.defpath}


def without(values: Any, *keys: str) -> Any:
    """A map without some keys."""
    return {key: value for key, value in values.items() if key not in keys}
