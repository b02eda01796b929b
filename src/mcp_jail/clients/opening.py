"""A client's file opened: its bytes, and all entries in it by each row that knows it."""

from __future__ import annotations

import os

import msgspec

from mcp_jail.clients.catalogue import Syntax
from mcp_jail.clients.document import Document, DocumentError, KeyPath
from mcp_jail.clients.our_entries import IsOurs
from mcp_jail.clients.reading import decoded, read
from mcp_jail.clients.replacing import MAX_CLIENT_FILE, read_client_file
from mcp_jail.clients.servers import Server, servers_in
from mcp_jail.clients.targets import Target


class Opened(msgspec.Struct, frozen=True):
    """A file as it was read, with all its entries and the tree each stands in."""

    content: bytes
    servers: tuple[tuple[Document, Server], ...]


def open_target(target: Target, is_ours: IsOurs) -> Opened:
    """Read a file; DocumentError, FileError."""
    limit = _limit_of(target)
    if limit is not None and os.path.getsize(target.path) > limit:
        raise DocumentError(
            f"longer than the {limit // 1024} KiB that are read of a project's file: whoever wrote "
            "it could keep us busy with it"
        )
    return opened(target, read_client_file(target.path, limit or MAX_CLIENT_FILE), is_ours)


# Bytes of a project's file. A reader of places takes a second for what is longer; of JSON, a tenth.
_PROJECT_LIMITS = {Syntax.TOML: 128 * 1024, Syntax.YAML: 128 * 1024}
_PROJECT_LIMIT = 1024 * 1024


def _limit_of(target: Target) -> int | None:
    """How much is read of what a clone may have brought; None for a person's own."""
    if not target.is_project:
        return None
    return min(_PROJECT_LIMITS.get(row.syntax, _PROJECT_LIMIT) for row in target.rows)


def opened(target: Target, content: bytes, is_ours: IsOurs) -> Opened:
    """The entries in a file's bytes, once for each row that knows it; each entry once."""
    text = decoded(content, target.path)
    found: dict[KeyPath, tuple[Document, Server]] = {}
    for row in target.rows:
        try:
            document = read(text, target.path, row.syntax)
        except DocumentError as error:
            if row.unread and not error.hint:
                raise DocumentError(error.message, hint=row.unread, where=error.where) from None
            raise
        for server in servers_in(document, row, is_ours):
            found.setdefault(server.path, (document, server))
    return Opened(content, tuple(found.values()))
