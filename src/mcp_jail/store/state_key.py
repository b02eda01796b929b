"""The key of this installation: argument digests are HMACs under it, so none can be guessed."""

from __future__ import annotations

import os
from base64 import b32encode

from mcp_jail.core.sha256 import hmac_sha256
from mcp_jail.errors import AuditError
from mcp_jail.store.files import FileError, create_private, make_private_folder, read_private
from mcp_jail.store.places import Places

KEY_BYTES = 32

# Characters of the phrase that marks what we ask: 40 bits, and short enough to be compared.
PHRASE_CHARACTERS = 8


def state_key(places: Places) -> bytes:
    """The key, made at the first use; all who ask at once get the same one.

    AuditError if the file holds something else: a new key would make every digest so far
    incomparable, so it is not replaced.
    """
    try:
        key = _read_or_make(places)
    except FileError as error:
        raise AuditError(f"state key: {error.message}", hint=error.hint) from None
    if len(key) != KEY_BYTES:
        raise AuditError(
            f"'{places.state_key}' is not a key: expected {KEY_BYTES} bytes, found {len(key)}",
            hint="bring it back, or remove it: argument digests made so far then compare with none",
        )
    return key


def key_to_plan_with(places: Places) -> bytes:
    """The key, or one that may become it: nothing is written here, `keep_key` does that."""
    try:
        return read_private(places.state_key)
    except FileNotFoundError:
        return os.urandom(KEY_BYTES)


def keep_key(places: Places, key: bytes) -> None:
    """Make a planned key the key; AuditError where another has been made meanwhile."""
    if not os.path.lexists(places.state_key):
        make_private_folder(places.state)
        create_private(places.state_key, key)
    if state_key(places) != key:
        raise AuditError(f"'{places.state_key}' was made meanwhile", hint="do it again")


def phrase_of(key: bytes) -> str:
    """What marks our own questions among those of a server, which cannot know it."""
    digest = hmac_sha256(key, b"phrase")
    text = b32encode(digest)[:PHRASE_CHARACTERS].decode()
    return f"{text[: PHRASE_CHARACTERS // 2]}-{text[PHRASE_CHARACTERS // 2 :]}"


def _read_or_make(places: Places) -> bytes:
    try:
        return read_private(places.state_key)
    except FileNotFoundError:
        make_private_folder(places.state)
        create_private(places.state_key, os.urandom(KEY_BYTES))
        return read_private(places.state_key)
