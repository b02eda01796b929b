"""Lists of commands in settings that people and projects write, as an administrator's are.

Claude Code starts no server whose very command is denied in any of its settings. Behind `mcp-jail`
it would not be seen, so such an entry is not wrapped. Other clients' lists go by names, which stay.
A project's list may be a stranger's: it decides on the entries of that project, and on no other.
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
from mcp_jail.clients.servers import Server
from mcp_jail.clients.targets import Ground, Target
from mcp_jail.sandbox.protected import lies_in
from mcp_jail.store.files import FileError

_CLIENTS = frozenset({"claude-code", "claude-plugin"})
_DENIED, _ALLOWED = "deniedMcpServers", "allowedMcpServers"
_OF_USER = ("settings.json", "settings.local.json", "remote-settings.json")
_MAX_SETTINGS = 1024 * 1024  # bytes; a clone may have brought any number
_OF_PROJECT = (".claude/settings.json", ".claude/settings.local.json")


class Listed(msgspec.Struct, frozen=True):
    """A command on a list, and the file the list stands in; `project` is empty for a person's."""

    file: str
    words: tuple[str, ...]
    project: str = ""

    def is_for(self, server: Server, path: str) -> bool:
        """Whether the list may say no to an entry of the file at `path`."""
        if not self.project:
            return True
        place = path if server.row.scope is Scope.PROJECT else server.within
        return bool(place) and lies_in(os.path.realpath(place), os.path.realpath(self.project))


class CommandLists(msgspec.Struct, frozen=True):
    """The lists that are there for the servers of the file at `path`."""

    path: str = ""
    denied: tuple[Listed, ...] = ()
    allowing: tuple[str, ...] = ()  # files that say which commands are allowed

    def why_denied(self, server: Server, words: tuple[str, ...]) -> tuple[str, bool]:
        """Why a command is not to be hidden behind ours, and whether a person's own list says so.

        Empty where none that counts for this entry denies it.
        """
        counting = [each for each in self.denied if each.is_for(server, self.path)]
        found = _first(counting, server.row, words)
        if found is None:
            return "", False
        told = (
            f"'{_DENIED}' in '{found.file}' denies its command, and behind mcp-jail "
            f"{server.row.name} would not see that"
        )
        return told, not found.project

    def elsewhere(self, server: Server, words: tuple[str, ...]) -> str:
        """What to know of a project that denies an entry of the person's own."""
        others = [each for each in self.denied if not each.is_for(server, self.path)]
        found = _first(others, server.row, words)
        if found is None:
            return ""
        return (
            f"'{_DENIED}' in '{found.file}' denies its command in that project, and behind "
            f"mcp-jail {server.row.name} does not see that; it counts for that project's entries"
        )

    def notes(self) -> list[str]:
        """What a list of allowed commands makes of wrapped entries."""
        return [
            f"'{_ALLOWED}' in '{file}' compares commands: one behind mcp-jail is not on it, so "
            "its client may not start it"
            for file in self.allowing
        ]


def _first(listed: Iterable[Listed], row: Row, words: tuple[str, ...]) -> Listed | None:
    """The first list with a command, as its client would start it."""
    fills = re.compile(row.fills.value)
    for each in listed:
        if len(each.words) == len(words) and all(
            said == word or (fills.search(word) and is_filled(said, word))
            for said, word in zip(each.words, words, strict=True)
        ):
            return each
    return None


def command_lists(
    ground: Ground, target: Target, documents: Iterable[Document] = ()
) -> CommandLists:
    """The lists for a file: of its user, of the projects here, and of those it knows."""
    if not any(row.client in _CLIENTS for row in target.rows):
        return CommandLists()
    denied: dict[Listed, None] = {}
    allowing: dict[str, None] = {}
    files: dict[str, str] = {}
    for file, project in _files(ground, target, documents):
        files.setdefault(os.path.normpath(file), project)  # a person's own come first
    for file, project in files.items():
        settings = _read(file)
        commands = _commands(settings.get(_DENIED))
        denied |= dict.fromkeys(Listed(file, words, project) for words in commands)
        allowing |= dict.fromkeys(file for _ in _commands(settings.get(_ALLOWED)))
    return CommandLists(target.path, tuple(denied), tuple(allowing))


def _files(
    ground: Ground, target: Target, documents: Iterable[Document]
) -> Iterator[tuple[str, str]]:
    """Files of settings, each with the project it is of."""
    own = ground.environ.get("CLAUDE_CONFIG_DIR") or os.path.join(ground.home, ".claude")
    yield from ((os.path.join(own, name), "") for name in _OF_USER)
    projects = [*ground.projects]
    if any(row.scope is Scope.PROJECT for row in target.rows):
        projects.append(os.path.dirname(target.path))
    for document in documents:
        root = document.root
        known = root.get("projects") if isinstance(root, Members) else None
        if known is not None and isinstance(known.value, Members):
            projects += [each.key for each in known.value.members if os.path.isabs(each.key)]
    for folder in projects:
        yield from ((os.path.join(folder, name), folder) for name in _OF_PROJECT)


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
