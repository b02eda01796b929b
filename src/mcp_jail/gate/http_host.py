"""The host of a connection's first plain HTTP request (RFC 9112, 3.2). Pure.

Two servers may read an odd request differently, so an odd one is refused: line ends other than
CR LF, folded lines, a space before a colon, two Hosts, a target that names another host. Later
requests on the same connection are not looked at: what they ask for goes to the same address.
"""

from __future__ import annotations

import re
from typing import Final

from mcp_jail.core.hosts import HostAndPort, canonical_host
from mcp_jail.gate.first_bytes import Asked, NeedMoreError, UnfitError

# Bytes of a request line and its headers; servers refuse between 8 and 32 KiB.
HEAD_LIMIT: Final = 16 * 1024

_END: Final = b"\r\n\r\n"
_METHOD: Final = re.compile(rb"[A-Z][A-Z0-9_-]{0,31}")
_REQUEST: Final = re.compile(rb"([A-Z][A-Z0-9_-]{0,31}) ([\x21-\x7e]+) HTTP/1\.[01]")
_TOKEN: Final = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_NEVER_IN_VALUE: Final = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_ABSOLUTE: Final = re.compile(rb"http://([^/?#]*)(?:[/?#].*)?", re.IGNORECASE)
_AUTHORITY: Final = re.compile(rb"(\[[0-9A-Fa-f:.]+\]|[^:\[\]]*)(?::([0-9]{1,5}))?")


def read_host(data: bytes) -> Asked:
    """The host a request is for; NeedMoreError, UnfitError."""
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
    if request is None or request[1] == b"CONNECT":
        raise UnfitError("an HTTP request that is malformed, or of another version")
    hosts = [value for name, value in map(_field, lines[1:]) if name == b"host"]
    if len(hosts) != 1:
        raise UnfitError("an HTTP request without one Host")
    host = _place(hosts[0])
    _check_target(request[2], host)
    return Asked(host.host, host.port)


def _field(line: bytes) -> tuple[bytes, bytes]:
    name, colon, value = line.partition(b":")
    if not colon or not _TOKEN.fullmatch(name) or _NEVER_IN_VALUE.search(value):
        raise UnfitError("an HTTP request with a malformed header")
    return name.lower(), value.strip(b" \t")


def _check_target(target: bytes, host: HostAndPort) -> None:
    if target.startswith(b"/") or target == b"*":
        return
    absolute = _ABSOLUTE.fullmatch(target)
    if absolute is None or _place(absolute[1]) != host:
        raise UnfitError("an HTTP request whose target is for another host than its Host")


def _place(authority: bytes) -> HostAndPort:
    parts = _AUTHORITY.fullmatch(authority)
    host = canonical_host(parts[1].decode("ascii", "replace")) if parts else None
    if parts is None or host is None:
        raise UnfitError("an HTTP request whose Host is no host")
    return HostAndPort(host, int(parts[2] or 80))
