"""A command on one line for people to read, without what looks like a secret. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from mcp_jail.core.sha256 import hmac_sha256
from mcp_jail.core.telling import is_telling, is_telling_flag, shape_spans

# What stands in a secret's place.
SECRET: Final = "[secret]"  # noqa: S105

# Bytes of an HMAC that are kept: enough to tell two secrets of one command apart.
DIGEST_BYTES: Final = 8
_DIGESTED: Final = re.compile(rf"{re.escape(SECRET)}.* [0-9a-f]{{{2 * DIGEST_BYTES}}}\Z", re.DOTALL)


def shown_command(words: Sequence[str]) -> str:
    """The words on one line; what is not plain text is quoted, so that no line can end in one."""
    return " ".join(
        word if word.isprintable() and word.split() == [word] else repr(word)
        for word in without_secrets(words)
    )


def without_secrets(words: Sequence[str]) -> list[str]:
    """The words, with `[secret]` for what follows an option such as `--token` or looks like one."""
    shown: list[str] = []
    for word in words:
        is_value = bool(shown) and is_telling_flag(words[len(shown) - 1])
        option, given, _ = word.partition("=")
        if given and (is_telling_flag(option) or is_telling(option)):
            shown.append(f"{option}={SECRET}")
        elif is_value and not word.startswith("-"):
            shown.append(SECRET)
        else:
            shown.append(without_secret(word))
    return shown


def digested(words: Sequence[str], key: bytes) -> list[str]:
    """The words as they are kept: one that holds a secret with its HMAC in the secret's place."""
    return [
        word if word == shown else f"{shown} {hmac_sha256(key, _bytes(word))[:DIGEST_BYTES].hex()}"
        for word, shown in zip(words, without_secrets(words), strict=True)
    ]


def is_digested(word: str) -> bool:
    """Whether a word was kept without its secret, so that nothing can be started by it."""
    return _DIGESTED.search(word) is not None


def launch_shown(launch: Any) -> Any:
    """A launch identity as people may read it; its words are those of a command."""
    if not isinstance(launch, dict):
        return launch
    return {key: _words(value) if key in _COMMANDS else value for key, value in launch.items()}


_COMMANDS: Final = frozenset({"argv", "for"})


def _words(value: Any) -> Any:
    is_command = isinstance(value, list) and all(isinstance(word, str) for word in value)
    return without_secrets(value) if is_command else value


def _bytes(word: str) -> bytes:
    return word.encode("utf-8", "surrogateescape")


def without_secret(text: str) -> str:
    """A text without what has the shape of a secret, such as the password in a URL."""
    kept, at = "", 0
    for begin, end in sorted(shape_spans(text)):
        if begin >= at:
            kept += text[at:begin] + SECRET
        at = max(at, end)
    return kept + text[at:]
