"""The host of a connection's first plain HTTP request (RFC 9112, 3.2). Pure.

Refused beside what `http_head` refuses: two Hosts, a target that names another host. Later requests
on the same connection are not looked at: what they ask for goes to the same address.
"""

from __future__ import annotations

import re
from typing import Final

from mcp_jail.core.rules.hosts import HostAndPort
from mcp_jail.gate.allow import HTTP_PORT
from mcp_jail.gate.first_bytes import Asked, UnfitError
from mcp_jail.gate.http_head import Head, read_authority, read_head


def read_host(data: bytes) -> Asked:
    """The host a request is for; NeedMoreError, UnfitError."""
    head = read_head(data)
    if head.method == b"CONNECT":
        raise UnfitError("an HTTP request that is malformed, or of another version")
    host = one_host(head)
    if not (head.target.startswith(b"/") or head.target == b"*"):
        split_target(head.target, host)
    return Asked(host.host, host.port)


def one_host(head: Head) -> HostAndPort:
    """The one Host of a request; UnfitError."""
    hosts = head.all(b"host")
    if len(hosts) != 1:
        raise UnfitError("an HTTP request without one Host")
    return read_authority(hosts[0], HTTP_PORT)


def split_target(target: bytes, host: HostAndPort) -> bytes:
    """What a target that names a host asks it for; UnfitError where that is another host."""
    absolute = _ABSOLUTE.fullmatch(target)
    if absolute is None or read_authority(absolute[1], HTTP_PORT) != host:
        raise UnfitError("an HTTP request whose target is for another host than its Host")
    return absolute[2]


_ABSOLUTE: Final = re.compile(rb"http://([^/?#]*)((?:[/?#].*)?)", re.IGNORECASE)
