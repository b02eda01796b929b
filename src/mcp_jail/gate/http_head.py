"""The head of an HTTP request (RFC 9112), read strictly. Pure.

Two servers may read an odd request differently, so an odd one is refused: line ends other than
CR LF, folded lines, a space before a colon.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from mcp_jail.core.rules.hosts import HostAndPort, canonical_host
from mcp_jail.gate.first_bytes import NeedMoreError, UnfitError

# Bytes of a request line and its headers; servers refuse between 8 and 32 KiB.
HEAD_LIMIT: Final = 16 * 1024


class Head(NamedTuple):
    """A request line and its headers, names in lower case; `size` is its bytes, with the end."""

    method: bytes
    target: bytes
    version: bytes
    fields: tuple[tuple[bytes, bytes], ...]
    size: int

    def all(self, name: bytes) -> list[bytes]:
        """The values of each header of this name."""
        return [value for known, value in self.fields if known == name]


def read_head(data: bytes) -> Head:
    """The head that some bytes begin with; NeedMoreError, UnfitError."""
    start = data[:32].partition(b" ")[0]
    if not _METHOD.fullmatch(start) and data:
        raise UnfitError("no HTTP request")
    end = data.find(_END, 0, HEAD_LIMIT)
    if end < 0:
        if len(data) >= HEAD_LIMIT:
            raise UnfitError("an HTTP request whose headers are too long")
        raise NeedMoreError(len(data) + 1)
    lines = data[:end].split(b"\r\n")
    request = _REQUEST.fullmatch(lines[0])
    if request is None:
        raise UnfitError("an HTTP request that is malformed, or of another version")
    method, target, version = request.groups()
    return Head(method, target, version, tuple(map(_field, lines[1:])), end + len(_END))


def read_authority(authority: bytes, default: int) -> HostAndPort:
    """A canonical host, and its port where one is written; UnfitError."""
    parts = _AUTHORITY.fullmatch(authority)
    host = canonical_host(parts[1].decode("ascii", "replace")) if parts else None
    if parts is None or host is None:
        raise UnfitError("an HTTP request whose Host is no host")
    return HostAndPort(host, int(parts[2] or default))


_END: Final = b"\r\n\r\n"
_METHOD: Final = re.compile(rb"[A-Z][A-Z0-9_-]{0,31}")
_REQUEST: Final = re.compile(rb"([A-Z][A-Z0-9_-]{0,31}) ([\x21-\x7e]+) (HTTP/1\.[01])")
_TOKEN: Final = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_NEVER_IN_VALUE: Final = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_AUTHORITY: Final = re.compile(rb"(\[[0-9A-Fa-f:.]+\]|[^:\[\]]*)(?::([0-9]{1,5}))?")


def _field(line: bytes) -> tuple[bytes, bytes]:
    name, colon, value = line.partition(b":")
    if not colon or not _TOKEN.fullmatch(name) or _NEVER_IN_VALUE.search(value):
        raise UnfitError("an HTTP request with a malformed header")
    return name.lower(), value.strip(b" \t")
