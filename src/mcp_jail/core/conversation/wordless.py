"""Answers that are about a server and call nothing: shapes in which it cannot say anything.

What a server says of itself is approved or not heard; so versions are dates, cursors are short, and
the words of an error are ours.
"""

from __future__ import annotations

import re
from typing import Any, Final

from mcp_jail.core.protocol import mcp
from mcp_jail.core.protocol.mcp import Treatment

# A protocol version is a date, a draft's has a word behind it.
_VERSION: Final = re.compile(r"\d{4}-\d\d-\d\d(-[a-z0-9]{1,8})?", re.ASCII)

# Versions a server may name; there are six.
_VERSIONS_LIMIT: Final = 32

# Characters of a cursor, which is text of the server's that a client sends back.
_CURSOR_LIMIT: Final = 4096

# Requests about a server, in whose errors a server could speak.
WORDLESS: Final = frozenset(
    {Treatment.OPEN, Treatment.LIST, Treatment.LIST_TASKS, Treatment.FORWARD, Treatment.LISTEN}
)


def has_versions(result: dict[str, Any]) -> bool:
    """Whether the versions of an opening answer can be versions, and no text for somebody."""
    named = [result["protocolVersion"]] if "protocolVersion" in result else []
    supported = result.get("supportedVersions", [])
    if type(supported) is not list or len(supported) > _VERSIONS_LIMIT:
        return False
    return all(
        type(version) is str and _VERSION.fullmatch(version) is not None
        for version in (*named, *supported)
    )


def is_cursor(cursor: Any) -> bool:
    """Whether a listing's cursor may be passed on; most have none."""
    return cursor is None or (type(cursor) is str and len(cursor) <= _CURSOR_LIMIT)


def wordless_error(error: dict[str, Any], params: dict[str, Any]) -> dict[str, Any]:
    """A server's error with its code, and with versions a client may choose from."""
    told: dict[str, Any] = {"code": error["code"], "message": "the server answered an error"}
    data = error.get("data")
    if error["code"] == mcp.UNSUPPORTED_VERSION and type(data) is dict:
        supported = data.get("supported", [])
        if has_versions({"supportedVersions": supported}):
            told["data"] = {"supported": supported, "requested": mcp.version_of(params)}
    return told
