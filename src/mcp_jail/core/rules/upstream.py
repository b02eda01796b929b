"""The proxy a machine needs to reach the internet, as a policy writes it down. Pure.

`http://[user[:password]@]host:port`, names and passwords percent-encoded where they must be. No
reason of a refusal repeats the text: there may be a password in it.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from mcp_jail.core.rules.hosts import read_rule


class Upstream(msgspec.Struct, frozen=True):
    """Where the proxy is, and what it wants to hear: `user:password`, empty for nothing."""

    host: str
    port: int
    credentials: bytes = b""

    @property
    def place(self) -> str:
        """Host and port, for people and the audit."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    @property
    def authorization(self) -> bytes:
        """The value of Proxy-Authorization (RFC 7617), empty for none."""
        if not self.credentials:
            return b""
        import binascii  # noqa: PLC0415  # hardly any policy needs it

        return b"Basic " + binascii.b2a_base64(self.credentials, newline=False)

    @property
    def secrets(self) -> tuple[str, ...]:
        """What is never to be repeated."""
        password = self.credentials.partition(b":")[2].decode(errors="replace")
        return tuple(text for text in (password, self.authorization[6:].decode()) if text)

    def __repr__(self) -> str:
        return f"Upstream({self.place})"


def read_upstream(text: str) -> Upstream:
    """A proxy as it is written; ValueError with the reason where it is none."""
    parts = _URL.fullmatch(text)
    if parts is None:
        raise ValueError("write http://host:port or http://user:password@host:port")
    if parts["scheme"].lower() != "http":
        raise ValueError("a proxy is spoken to in plain HTTP: write http://")
    rule = read_rule(f"{parts['host']}:{parts['port']}")
    if rule.below:
        raise ValueError("a proxy is one host")
    user = (parts["user"] or "").encode()
    credentials = _ENCODED.sub(lambda found: bytes([int(found[1], 16)]), user)
    if any(byte < 0x20 or byte == 0x7F for byte in credentials):  # noqa: PLR2004
        raise ValueError("control characters in a user's name or password")
    if credentials and b":" not in credentials:
        credentials += b":"
    return Upstream(rule.host, rule.port, credentials)


_URL: Final = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?:(?P<user>[^@/?#\s]*)@)?"
    r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^:/?#@\[\]\s]+):(?P<port>[0-9]+)/?"
)
_ENCODED: Final = re.compile(rb"%([0-9A-Fa-f]{2})")
