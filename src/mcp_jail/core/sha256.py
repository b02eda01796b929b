"""SHA-256 and HMAC-SHA-256 without OpenSSL.

`hashlib` loads libcrypto, 4 ms of every start; the interpreter brings the same function as a small
module of its own. Only code that hashes megabytes should import `hashlib` instead.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from hashlib import sha256
else:
    try:
        from _sha256 import sha256  # Python 3.11
    except ImportError:
        try:
            from _sha2 import sha256  # Python 3.12 and later
        except ImportError:
            from hashlib import sha256


__all__ = ["Hash", "hmac_sha256", "quick_sha256", "sha256"]

# From here OpenSSL's code, six times as fast, wins back what loading it costs.
LARGE_BYTES = 1024 * 1024
BLOCK_BYTES = 64  # SHA-256's block (RFC 2104: longer keys are hashed first, shorter ones padded)
_INNER = bytes(byte ^ 0x36 for byte in range(256))
_OUTER = bytes(byte ^ 0x5C for byte in range(256))


class Hash(Protocol):
    """A hash over some bytes."""

    def update(self, data: bytes, /) -> None:
        """Take more bytes."""

    def digest(self) -> bytes:
        """The hash, 32 bytes."""


def hmac_sha256(key: bytes, message: bytes) -> bytes:
    """The HMAC-SHA-256 of a message, 32 bytes (RFC 2104)."""
    inner_pad, begun_inner, begun_outer = _begun(key)
    if len(message) > LARGE_BYTES:
        digest = _of_large(inner_pad + message)
    else:
        inner = begun_inner.copy()
        inner.update(message)
        digest = inner.digest()
    outer = begun_outer.copy()
    outer.update(digest)
    found: bytes = outer.digest()
    return found


@lru_cache(maxsize=4)
def _begun(key: bytes) -> tuple[bytes, Any, Any]:
    """The key's inner pad, and both hashes with their pads already in; a process has one key."""
    if len(key) > BLOCK_BYTES:
        key = sha256(key).digest()
    key = key.ljust(BLOCK_BYTES, b"\0")
    inner_pad, outer_pad = key.translate(_INNER), key.translate(_OUTER)
    return inner_pad, sha256(inner_pad), sha256(outer_pad)


def quick_sha256() -> Callable[[bytes], Hash]:
    """OpenSSL's function, loaded now (4 ms, 3 MB); ours where a closed-in guard cannot load it.

    Three times as fast for 400 bytes.
    """
    try:
        import hashlib  # noqa: PLC0415 - most runs hash little
    except (ImportError, OSError):
        return sha256
    return hashlib.sha256


def _of_large(message: bytes) -> bytes:
    return quick_sha256()(message).digest()
