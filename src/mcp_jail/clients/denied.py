"""Lists of commands in settings that people and projects write, as an administrator's are.

Claude Code starts no server whose very command is denied in any of its settings. Behind `mcp-jail`
it would not be seen, so such an entry is not wrapped. Other clients' lists go by names, which stay.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from mcp_jail.clients.catalogue import Row, Scope
from mcp_jail.clients.document import Document, DocumentError, Members, plain
from mcp_jail.clients.json_spans import Extras, read_json
from mcp_jail.clients.known_launch import is_filled
from mcp_jail.clients.replacing import read_client_file
from mcp_jail.clients.targets import Ground, Target
from mcp_jail.store.files import FileError

_CLIENTS = frozenset({"claude-code", "claude-plugin"})
_DENIED, _ALLOWED = "deniedMcpServers", "allowedMcpServers"
_OF_USER = ("settings.json", "settings.local.json", "remote-settings.json")
_MAX_SETTINGS = 1024 * 1024  # bytes; a clone may have brought any number
_OF_PROJECT = (".claude/settings.json", ".claude/settings.local.json")


class Listed(msgspec.Struct, frozen=True):
    """A command on a list, and the file the list stands in."""

    file: str
    words: tuple[str, ...]


class CommandLists(msgspec.Struct, frozen=True):
    """The lists that count for the servers of a file."""

    denied: tuple[Listed, ...] = ()
    allowing: tuple[str, ...] = ()  # files that say which commands are allowed

    def why_denied(self, row: Row, words: tuple[str, ...]) -> str:
        """Why a command is not to be hidden behind ours; empty where none denies it."""
        fills = re.compile(row.fills.value)
        for each in self.denied:
            if len(each.words) == len(words) and all(
                said == word or (fills.search(word) and is_filled(said, word))
                for said, word in zip(each.words, words, strict=True)
            ):
                return (
                    f"'{_DENIED}' in '{each.file}' denies its command, and behind mcp-jail "
                    f"{row.name} would not see that"
                )
        return ""

    def notes(self) -> list[str]:
        """What a list of allowed commands makes of wrapped entries."""
        return [
            f"'{_ALLOWED}' in '{file}' compares commands: one behind mcp-jail is not on it, so "
            "its client may not start it"
            for file in self.allowing
        ]


def command_lists(
    ground: Ground, target: Target, documents: Iterable[Document] = ()
) -> CommandLists:
    """The lists for a file: of its user, of the projects here, and of those it knows."""
    if not any(row.client in _CLIENTS for row in target.rows):
        return CommandLists()
    denied: dict[Listed, None] = {}
    allowing: dict[str, None] = {}
    for file in dict.fromkeys(_files(ground, target, documents)):
        settings = _read(file)
        denied |= dict.fromkeys(Listed(file, words) for words in _commands(settings.get(_DENIED)))
        allowing |= dict.fromkeys(file for _ in _commands(settings.get(_ALLOWED)))
    return CommandLists(tuple(denied), tuple(allowing))


def _files(ground: Ground, target: Target, documents: Iterable[Document]) -> Iterator[str]:
    own = ground.environ.get("CLAUDE_CONFIG_DIR") or os.path.join(ground.home, ".claude")
    yield from (os.path.join(own, name) for name in _OF_USER)
    projects = [*ground.projects]
    if any(row.scope is Scope.PROJECT for row in target.rows):
        projects.append(os.path.dirname(target.path))
    for document in documents:
        root = document.root
        known = root.get("projects") if isinstance(root, Members) else None
        if known is not None and isinstance(known.value, Members):
            projects += [each.key for each in known.value.members if os.path.isabs(each.key)]
    for folder in projects:
        yield from (os.path.join(folder, name) for name in _OF_PROJECT)


def _read(file: str) -> dict[str, Any]:
    """Settings as their client reads them; what it cannot read forbids nothing."""
    try:
        text = read_client_file(file, _MAX_SETTINGS).decode()
        found = plain(read_json(text, file, Extras.ALL).root)
    except (OSError, ValueError, FileError, DocumentError):
        return {}
    return found if isinstance(found, dict) else {}


def _commands(listed: Any) -> Iterator[tuple[str, ...]]:
    for entry in listed if isinstance(listed, list) else ():
        words = entry.get("serverCommand") if isinstance(entry, dict) else None
        if isinstance(words, list) and words:
            yield tuple(word for word in words if isinstance(word, str))
