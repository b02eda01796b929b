"""The name in a TLS ClientHello (RFC 8446, 4.1.2; RFC 6066, 3). Pure.

Read as strictly as a server would at most: a hello with two readings is refused, because the server
behind might take the other one. Encrypted Client Hello is not looked into: its outer name is what
is judged, and without HTTPS records no program inside has another name to hide behind it.
"""

from __future__ import annotations

from typing import Final

from mcp_jail.core.rules.hosts import canonical_host, is_address
from mcp_jail.gate.first_bytes import Asked, NeedMoreError, UnfitError

# Bytes of a hello. With post-quantum keys they are about 1.8 KiB; OpenSSL reads up to 131,396.
HELLO_LIMIT: Final = 16 * 1024
# Records a hello may be cut into. Some programs send two or three; each costs us a look.
RECORDS_LIMIT: Final = 64
# Bytes that are ever needed: hello, and a header for each record.
BYTES_LIMIT: Final = HELLO_LIMIT + 5 * RECORDS_LIMIT

_HANDSHAKE: Final = 22
_CLIENT_HELLO: Final = 1
_RECORD_MAX: Final = 1 << 14
_MAJOR: Final = 3
_SERVER_NAME: Final = 0
_HOST_NAME: Final = 0


def read_hello(data: bytes) -> Asked:
    """The name a hello asks for, `Asked(None)` where it names none; NeedMoreError, UnfitError."""
    return Asked(_server_name(_message(data)))


def _message(data: bytes) -> bytes:
    """The first handshake message, put together from its records."""
    message = b""
    at = 0
    for _ in range(RECORDS_LIMIT):
        _check_header(data[at : at + 5])
        if len(data) < at + 5:
            raise NeedMoreError(at + 5)
        length = int.from_bytes(data[at + 3 : at + 5], "big")
        if len(message) + length > HELLO_LIMIT:
            raise UnfitError("a ClientHello that is too long")
        _check_start(message + data[at + 5 : at + 5 + min(4, length)])
        if len(data) < at + 5 + length:
            raise NeedMoreError(at + 5 + length)
        message += data[at + 5 : at + 5 + length]
        at += 5 + length
        size = 4 + int.from_bytes(message[1:4], "big")
        if len(message) >= 4 and len(message) >= size:  # noqa: PLR2004
            if len(message) > size:
                raise UnfitError("a record that goes on after the ClientHello")
            return message[4:]
    raise UnfitError("a ClientHello in too many pieces")


def _check_header(header: bytes) -> None:
    """Refuse what cannot be the header of a handshake record, from its first byte on."""
    if header[:1] not in {b"", bytes((_HANDSHAKE,))} or header[1:2] not in {b"", bytes((_MAJOR,))}:
        raise UnfitError("no TLS")
    if len(header) == 5:  # noqa: PLR2004
        length = int.from_bytes(header[3:], "big")
        if not 0 < length <= _RECORD_MAX or header[2] > 4:  # noqa: PLR2004
            raise UnfitError("no TLS")


def _check_start(message: bytes) -> None:
    """Refuse another message than a ClientHello, and one that is too long, from its start."""
    if message[:1] not in {b"", bytes((_CLIENT_HELLO,))}:
        raise UnfitError("TLS without a ClientHello")
    if len(message) >= 4 and 4 + int.from_bytes(message[1:4], "big") > HELLO_LIMIT:  # noqa: PLR2004
        raise UnfitError("a ClientHello that is too long")


def _server_name(hello: bytes) -> str | None:
    fields = _Fields(hello)
    fields.take(2 + 32)  # version, random
    if len(fields.vector(1)) > 32:  # noqa: PLR2004
        raise UnfitError("a malformed ClientHello")
    ciphers = fields.vector(2)
    if not ciphers or len(ciphers) % 2 or not fields.vector(1):  # then compression methods
        raise UnfitError("a malformed ClientHello")
    if fields.is_empty:
        return None  # TLS 1.0 without extensions
    extensions = _Fields(fields.vector(2))
    fields.check_end()
    seen: dict[int, bytes] = {}
    while not extensions.is_empty:
        kind = extensions.number(2)
        if kind in seen:
            raise UnfitError("a ClientHello with an extension twice")
        seen[kind] = extensions.vector(2)
    return _only_name(seen[_SERVER_NAME]) if _SERVER_NAME in seen else None


def _only_name(extension: bytes) -> str:
    outer = _Fields(extension)
    names = _Fields(outer.vector(2))
    outer.check_end()
    kind, name = names.number(1), names.vector(2)
    names.check_end()
    host = canonical_host(name.decode("ascii", "replace"))
    if kind != _HOST_NAME or host is None or is_address(host):
        raise UnfitError("a ClientHello whose name is no host name")
    return host


class _Fields:
    """Numbers and vectors out of some bytes, one after another; UnfitError beyond their end."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def is_empty(self) -> bool:
        return self._at == len(self._data)

    def take(self, count: int) -> bytes:
        part = self._data[self._at : self._at + count]
        if len(part) < count:
            raise UnfitError("a malformed ClientHello")
        self._at += count
        return part

    def number(self, width: int) -> int:
        return int.from_bytes(self.take(width), "big")

    def vector(self, width: int) -> bytes:
        return self.take(self.number(width))

    def check_end(self) -> None:
        if not self.is_empty:
            raise UnfitError("a malformed ClientHello")
