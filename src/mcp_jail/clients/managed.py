"""Lists of an administrator that a wrapped entry would defeat, or be stopped by.

A list that names commands compares the very command of an entry. Behind `mcp-jail` any command
would look the same, so a denied server would start: such a client's files are not wrapped.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator
from typing import Any

from mcp_jail.clients.catalogue import Row
from mcp_jail.clients.document import DocumentError, plain
from mcp_jail.clients.json_spans import Extras, read_json
from mcp_jail.clients.replacing import read_client_file
from mcp_jail.store.files import FileError

_CLAUDE = ("etc/claude-code", "Library/Application Support/ClaudeCode")
_CODEX = "etc/codex/requirements.toml"


def why_managed(row: Row, root: str = "/") -> str:
    """Why an administrator's files forbid to wrap for a client; empty where none does."""
    match row.client:
        case "claude-code" | "claude-plugin":
            return _claude(root)
        case "codex":
            return _codex(root)
        case _:
            return ""


def is_managed_file(path: str, root: str = "/") -> bool:
    """Whether a file is an administrator's own."""
    real = os.path.realpath(path)
    folders = (*_CLAUDE, "etc/codex", "etc/gemini-cli", "etc/opencode", "etc/crush")
    homes = tuple(os.path.realpath(os.path.join(root, folder)) + os.sep for folder in folders)
    return real.startswith(homes) or os.path.basename(real) == "managed-mcp.json"


def _claude(root: str) -> str:
    for folder in _CLAUDE:
        alone = os.path.join(root, folder, "managed-mcp.json")
        if os.path.lexists(alone):
            return f"'{alone}' of your administrator is the only list Claude Code reads"
        for path, settings in _settings(os.path.join(root, folder)):
            if settings is None:
                return (
                    f"'{path}' of your administrator cannot be read, so what it forbids is unknown"
                )
            for key in ("allowedMcpServers", "deniedMcpServers"):
                if _names_commands(settings.get(key)):
                    return (
                        f"'{key}' in '{path}' of your administrator compares commands, and behind "
                        "mcp-jail all look the same"
                    )
    return ""


def _settings(folder: str) -> Iterator[tuple[str, dict[str, Any] | None]]:
    more = os.path.join(folder, "managed-settings.d")
    paths = [os.path.join(folder, "managed-settings.json")]
    try:
        paths += [os.path.join(more, name) for name in sorted(os.listdir(more))]
    except FileNotFoundError:
        pass
    except OSError:
        yield more, None
    for path in paths:
        try:
            content = read_client_file(path)
        except FileNotFoundError:
            continue
        except FileError:
            yield path, None
            continue
        try:
            read = plain(read_json(content.decode(), path, Extras.ALL).root)
        except (DocumentError, UnicodeDecodeError):
            read = None
        yield path, read if isinstance(read, dict) else None


def _names_commands(listed: Any) -> bool:
    entries = listed if isinstance(listed, list) else []
    return any(isinstance(entry, dict) and "serverCommand" in entry for entry in entries)


def _codex(root: str) -> str:
    path = os.path.join(root, _CODEX)
    try:
        required = tomllib.loads(read_client_file(path).decode())
    except FileNotFoundError:
        return ""
    except (FileError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        return f"'{path}' of your administrator cannot be read, so what it forbids is unknown"
    if "mcp_servers" in required:
        return (
            f"'mcp_servers' in '{path}' of your administrator compares commands, and behind "
            "mcp-jail all look the same"
        )
    return ""
