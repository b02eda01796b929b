"""Arguments as the audit may keep them: secrets blotted out, long texts cut, still JSON.

The exact arguments are told apart by an HMAC under a key of this machine; a plain hash of a short
secret could be guessed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from mcp_jail.core.policy import AuditArguments
from mcp_jail.core.sha256 import hmac_sha256
from mcp_jail.core.text.telling import (
    MIN_KNOWN_CHARS,
    encodings,
    hinted,
    is_telling,
    is_telling_flag,
    known_spans,
    shape_spans,
    short_encodings,
)

REDACTED = "[redacted]"
# What is kept of a text, in characters: a path, a query, the first lines of a file.
MAX_TEXT = 512
# How far past the cut a secret that begins before it is looked for, in characters.
MARGIN = 1024
# Values of one call that are looked at; the rest is counted. Bounds the work, not the result.
MAX_VALUES = 2000
# Characters of one call that are searched; further texts are only counted. Well beyond what
# MAX_ARGUMENTS_BYTES keeps, and some 20 ms of work.
MAX_SEARCHED = 32 * 1024
# Nesting that is looked into; the wire's own limit is not far above.
MAX_DEPTH = 64
# The redacted arguments of one entry, in bytes.
MAX_ARGUMENTS_BYTES = 16 * 1024
DIGEST_BYTES = 16


def arguments_digest(key: bytes, canonical: bytes) -> str:
    """The HMAC of a call's canonical arguments under the state key: SHA-256, 128 bits, in hex.

    Half of a keyed hash is as good as all of it (RFC 2104, 5), and lines stay shorter.
    """
    return hmac_sha256(key, canonical)[:DIGEST_BYTES].hex()


def known_values(shared: Mapping[str, str], secrets: Iterable[str]) -> tuple[str, ...]:
    """The values to look for: all `secrets`, and of the shared environment what may be one.

    A shared value that is a path, an address without userinfo or a plain word is no secret; hiding
    it everywhere would leave a log without paths. Its name (`API_KEY`) overrules that.
    """
    return (*secrets, *(value for name, value in shared.items() if _may_be_secret(name, value)))


class Redactor:
    """Turns the arguments of one run's calls into what its audit keeps."""

    def __init__(
        self,
        *,
        mode: AuditArguments = AuditArguments.REDACTED,
        known: Iterable[str],
        secrets: Iterable[str] = (),
        key: bytes,
    ) -> None:
        """Take the known secret values and the state key.

        Too short ones of `known` are left out, as they may be none; `secrets` are found at any
        length.
        """
        self._mode = mode
        self._key = key
        texts = {text for value in known for text in encodings(value)}
        for value in secrets:
            texts |= encodings(value) or short_encodings(value)
        self._needles = tuple(sorted(texts, key=len, reverse=True))
        escaped = {_escaped(text) for text in self._needles}
        self._escaped = tuple(escaped | set(self._needles))
        self._margin = max([MARGIN, *map(len, self._needles)])

    def arguments(self, value: Any, encoded: bytes | None = None) -> msgspec.Raw | None:
        """A call's arguments as JSON for its entry; None in mode `none`.

        `encoded` is the same value as msgspec (or canonical JSON) writes it, if at hand.
        """
        match self._mode:
            case AuditArguments.NONE:
                return None
            case AuditArguments.FULL:
                return msgspec.Raw(_ENCODER.encode(value) if encoded is None else encoded)
            case AuditArguments.REDACTED:
                return self._redacted(value, encoded)

    def finds_in(self, value: Any) -> bool:
        """Whether a call's arguments hold a secret, known or by its shape or name."""
        encoded = _ENCODER.encode(value).decode()
        if any(needle in encoded for needle in self._escaped):
            return True
        return hinted(encoded) and _ENCODER.encode(_Walk(self).value(value, 0)).decode().count(
            REDACTED
        ) > encoded.count(REDACTED)

    def text(self, text: str) -> str:
        """A text with its secrets blotted out, cut if it is long."""
        if len(text) <= MAX_TEXT and not self._suspect(text, self._needles):
            return text
        shown = self._blotted(text)
        if len(text) <= MAX_TEXT:
            return shown
        digest = hmac_sha256(self._key, text.encode("utf-8", "surrogatepass")).hex()[:16]
        return f"{shown}[cut: {len(text)} characters, hmac {digest}]"

    def known(self, text: str) -> str:
        """A text with the known values blotted out, and nothing else done to it."""
        for needle in self._needles:
            if needle in text:
                text = text.replace(needle, REDACTED)
        return text

    def number(self, value: float) -> Any:
        """A number, unless a secret of digits is in it."""
        text = str(value)
        return value if self.known(text) == text else REDACTED

    def _redacted(self, value: Any, encoded: bytes | None) -> msgspec.Raw:
        if encoded is None:
            encoded = _ENCODER.encode(value)
        if len(encoded) <= MAX_TEXT and not self._suspect(encoded.decode(), self._escaped):
            return msgspec.Raw(encoded)
        shown = _ENCODER.encode(_Walk(self).value(value, 0))
        if len(shown) > MAX_ARGUMENTS_BYTES:
            head = shown[: MAX_TEXT * 2].decode("utf-8", "ignore")
            shown = _ENCODER.encode({"cut": len(encoded), "begins": head})
        return msgspec.Raw(shown)

    def _suspect(self, text: str, needles: tuple[str, ...]) -> bool:
        """Whether a text may hold a secret; no is certain."""
        for needle in needles:
            if needle in text:
                return True
        return hinted(text)

    def _blotted(self, text: str) -> str:
        """The first MAX_TEXT characters with each secret that begins in them blotted out whole."""
        window = text[: MAX_TEXT + self._margin]
        spans = sorted(known_spans(window, self._needles) + shape_spans(window))
        parts: list[str] = []
        done = 0
        for begin, end in spans:
            if begin >= MAX_TEXT:
                break
            if begin >= done:
                parts += (window[done:begin], REDACTED)
            done = max(done, end)
        parts.append(window[done:MAX_TEXT])
        return "".join(parts)


class _Walk:
    """One pass over one call's arguments, which ends after MAX_VALUES values."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._left = MAX_VALUES
        self._chars = MAX_SEARCHED

    def value(self, value: Any, depth: int) -> Any:
        self._left -= 1
        match value:
            case str():
                return self._text(value)
            case dict() | list() if depth >= MAX_DEPTH:
                return "[cut: nested deeper]"
            case dict():
                return self._mapping(value, depth)
            case list():
                return self._sequence(value, depth)
            case int() | float() if not isinstance(value, bool):
                return self._redactor.number(value)
            case _:
                return value

    def _text(self, text: str) -> str:
        if self._chars <= 0:
            return f"[cut: {len(text)} characters]" if text else text
        self._chars -= min(len(text), MAX_TEXT + MARGIN)
        return self._redactor.text(text)

    def _mapping(self, mapping: dict[str, Any], depth: int) -> dict[str, Any]:
        named = any(
            isinstance(mapping.get(key), str) and is_telling(mapping[key]) for key in _NAME_KEYS
        )
        shown: dict[str, Any] = {}
        for key, value in mapping.items():
            if self._left <= 0:
                shown["[cut]"] = len(mapping) - len(shown)
                break
            hide = is_telling(key) or (named and key.lower() in _VALUE_KEYS)
            shown[self._text(key)] = _hidden(value) if hide else self.value(value, depth + 1)
        return shown

    def _sequence(self, sequence: list[Any], depth: int) -> list[Any]:
        shown: list[Any] = []
        hide = False
        for value in sequence:
            if self._left <= 0:
                shown.append(f"[cut: {len(sequence) - len(shown)} more]")
                break
            shown.append(_hidden(value) if hide else self.value(value, depth + 1))
            hide = isinstance(value, str) and is_telling_flag(value)
        return shown


_ENCODER = msgspec.json.Encoder()
# `{"name": "API_KEY", "value": "..."}`: a pair written as an object.
_NAME_KEYS = ("name", "key", "header", "field", "variable")
_VALUE_KEYS = ("value", "values", "val", "content", "data")


def _hidden(value: Any) -> Any:
    """What stands for a value under a telling name; nothing, true and false tell nothing."""
    return value if value is None or isinstance(value, bool) else REDACTED


def _escaped(text: str) -> str:
    """A needle as it stands in encoded JSON."""
    return _ENCODER.encode(text.encode("utf-8", "replace").decode())[1:-1].decode()


def _may_be_secret(name: str, value: str) -> bool:
    if len(value) < MIN_KNOWN_CHARS:
        return False
    if is_telling(name) or name.upper().endswith("KEY"):
        return True
    if shape_spans(value):
        return True
    plain = value.startswith(("/", "~", "./", "../")) or "://" in value or " " in value
    return not plain and any(c.isdigit() for c in value) and any(c.isalpha() for c in value)
