"""A client's file read in its own language, and a change of it looked at before it is written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from mcp_jail.clients.catalogue import Row, Syntax
from mcp_jail.clients.document import Document, DocumentError, is_same, plain
from mcp_jail.clients.json_spans import BOM, Extras, read_json
from mcp_jail.clients.toml_spans import read_toml
from mcp_jail.clients.wrapping import Change
from mcp_jail.clients.yaml_spans import read_yaml
from mcp_jail.errors import Place


def decoded(content: bytes, file: str) -> str:
    """The text of a file, byte for byte: a mark of byte order and line ends stay in it."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DocumentError("UTF-16, which is left alone", where=Place(file, 1, 1))
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        message = f"not UTF-8: byte {error.start} is no text"
        raise DocumentError(message, where=Place(file, 1, 1)) from None


def read(text: str, file: str, syntax: Syntax) -> Document:
    """The tree of a client's file; DocumentError where its client could not read it."""
    match syntax:
        case Syntax.JSON:
            return read_json(text, file, Extras.NONE)
        case Syntax.JSON_COMMENTS:
            return read_json(text, file, Extras.COMMENTS)
        case Syntax.JSONC:
            return read_json(text, file, Extras.ALL)
        case Syntax.TOML:
            return read_toml(text, file)
        case Syntax.YAML:
            return read_yaml(text, file)


def verify(before: Document, after: str, changes: Sequence[Change], row: Row, file: str) -> None:
    """Hold that a changed text means what it meant, but for the changes; else DocumentError.

    This cannot fail unless this program is wrong; then nothing is written.
    """
    expected = plain(before.root)
    for change in changes:
        holder = expected
        for key in change.path:
            holder = holder[key]
        for key, value in change.values.items():
            if value is None:
                holder.pop(key, None)
            else:
                holder[key] = value
    try:
        found = plain(read(after, file, row.syntax).root)
    except DocumentError:
        raise DocumentError(
            "the file as it would become could not be read; nothing is written",
            hint="something of its layout is odd, such as line ends that are a lone CR",
        ) from None
    if not is_same(found, expected) or not _is_read_alike(after, expected, row.syntax):
        raise DocumentError("the change would touch more than it should; nothing is written")


def _is_read_alike(after: str, expected: Any, syntax: Syntax) -> bool:
    """Whether a reader that is not ours reads the same; `read_toml` has asked one already."""
    if syntax is not Syntax.JSON:
        return True
    try:
        return is_same(msgspec.json.decode(after.removeprefix(BOM)), expected)
    except msgspec.DecodeError:  # half a character in some history, which it does not read
        return True
