"""What a program asks of an HTTP proxy, by the first request of its connection. Pure.

`CONNECT host:port` opens a way for any bytes (RFC 9110, 9.3.6). A request with a whole URL is to be
made in the program's stead (RFC 9112, 3.2.2): as it came, but for what concerns the proxy alone,
and told to be the last on its connection, since a next one might be for another host.
"""

from __future__ import annotations

from typing import Final

import msgspec

from mcp_jail.gate.first_bytes import UnfitError
from mcp_jail.gate.http_head import read_authority, read_head
from mcp_jail.gate.http_host import one_host, split_target


class Wanted(msgspec.Struct, frozen=True):
    """Where to, and the bytes that are for the other side already."""

    host: str
    port: int
    is_tunnel: bool
    first: bytes = b""


def read_request(data: bytes) -> Wanted:
    """What a request is for; NeedMoreError, UnfitError."""
    head = read_head(data)
    rest = data[head.size :]
    if head.method == b"CONNECT":
        place = read_authority(head.target, 0)
        if not place.port:
            raise UnfitError("a CONNECT without a port")
        return Wanted(place.host, place.port, is_tunnel=True, first=rest)
    if head.target.startswith(b"/") or head.target == b"*":
        raise UnfitError("a request to a proxy that names no host")
    host = one_host(head)
    path = split_target(head.target, host).partition(b"#")[0]
    kept = [b"%b: %b" % field for field in head.fields if field[0] not in _OUR_OWN]
    path = path if path.startswith(b"/") else b"/" + path
    request = b"%b %b %b" % (head.method, path, head.version)
    lines = [request, *kept, b"connection: close", b"", b""]
    return Wanted(host.host, host.port, is_tunnel=False, first=b"\r\n".join(lines) + rest)


# Headers for this proxy and for the connection to it (RFC 9110, 7.6.1).
_OUR_OWN: Final = frozenset(
    {b"connection", b"keep-alive", b"proxy-connection", b"proxy-authorization", b"upgrade"}
)
