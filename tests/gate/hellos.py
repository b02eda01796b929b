"""ClientHellos: real ones from OpenSSL, and ones put together field by field."""

from __future__ import annotations

import ssl
from itertools import pairwise


def real_hello(name: str | None) -> bytes:
    """What OpenSSL sends first when it connects to a name."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    connection = context.wrap_bio(incoming, outgoing, server_hostname=name)
    try:
        connection.do_handshake()
    except ssl.SSLWantReadError:
        return outgoing.read()
    raise AssertionError("a handshake without an answer")


def extension(kind: int, body: bytes) -> bytes:
    return kind.to_bytes(2, "big") + vector(2, body)


def vector(width: int, body: bytes) -> bytes:
    return len(body).to_bytes(width, "big") + body


def server_names(*names: bytes, kind: int = 0) -> bytes:
    """The extension that names hosts."""
    return extension(0, vector(2, b"".join(bytes((kind,)) + vector(2, name) for name in names)))


def hello(extensions: bytes | None, *, tail: bytes = b"", session: bytes = b"") -> bytes:
    """The handshake message; `tail` stands behind its last field."""
    body = b"\x03\x03" + bytes(32) + vector(1, session) + vector(2, b"\x13\x01") + vector(1, b"\0")
    if extensions is not None:
        body += vector(2, extensions)
    return b"\x01" + vector(3, body + tail)


def records(message: bytes, *cuts: int, kind: int = 22) -> bytes:
    """A message in TLS records, cut at these places."""
    parts = [message[start:end] for start, end in pairwise([0, *cuts, len(message)])]
    return b"".join(bytes((kind, 3, 1)) + vector(2, part) for part in parts)
