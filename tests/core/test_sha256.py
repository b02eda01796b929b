"""SHA-256 and HMAC without OpenSSL give what everybody else's do."""

from __future__ import annotations

import hashlib
import hmac
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_jail.core.sha256 import LARGE_BYTES, hmac_sha256, quick_sha256, sha256


@given(st.binary(max_size=300), st.binary(max_size=300))
def test_an_hmac_is_the_one_of_rfc_2104(key: bytes, message: bytes) -> None:
    assert hmac_sha256(key, message) == hmac.digest(key, message, "sha256")


@given(st.binary(max_size=300))
def test_a_hash_is_the_one_of_hashlib(message: bytes) -> None:
    assert sha256(message).digest() == hashlib.sha256(message).digest()
    assert quick_sha256()(message).digest() == hashlib.sha256(message).digest()


@pytest.mark.parametrize("error", [ImportError, OSError])
def test_where_openssl_cannot_be_loaded_ours_is_taken(error: type[Exception]) -> None:
    class Refusing:
        def find_spec(self, name: str, *_: object) -> None:
            if name == "hashlib":
                raise error

    with pytest.MonkeyPatch.context() as patch:
        patch.delitem(sys.modules, "hashlib")
        patch.setattr(sys, "meta_path", [Refusing(), *sys.meta_path])
        assert quick_sha256() is sha256


def test_a_large_message_has_the_same_hmac() -> None:
    message = b"x" * (LARGE_BYTES + 1)
    assert hmac_sha256(b"k", message) == hmac.digest(b"k", message, "sha256")
