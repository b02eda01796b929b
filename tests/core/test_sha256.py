"""SHA-256 and HMAC without OpenSSL give what everybody else's do."""

from __future__ import annotations

import hashlib
import hmac

from hypothesis import given
from hypothesis import strategies as st

from mcp_jail.core.sha256 import LARGE_BYTES, hmac_sha256, sha256


@given(st.binary(max_size=300), st.binary(max_size=300))
def test_an_hmac_is_the_one_of_rfc_2104(key: bytes, message: bytes) -> None:
    assert hmac_sha256(key, message) == hmac.digest(key, message, "sha256")


@given(st.binary(max_size=300))
def test_a_hash_is_the_one_of_hashlib(message: bytes) -> None:
    assert sha256(message).digest() == hashlib.sha256(message).digest()


def test_a_large_message_has_the_same_hmac() -> None:
    message = b"x" * (LARGE_BYTES + 1)
    assert hmac_sha256(b"k", message) == hmac.digest(b"k", message, "sha256")
