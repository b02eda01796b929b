"""A command on one line for people to read, without what looks like a secret. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from mcp_jail.core.sha256 import hmac_sha256
from mcp_jail.core.text.telling import is_telling, is_telling_flag, shape_spans

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


def without_secrets(words: Sequence[str], *, has_code: bool = False) -> list[str]:
    """The words, with `[secret]` for what follows an option such as `--token` or looks like one.

    Of a command that `has_code` in its words, whoever approves it has to see all of that: there
    only plain values are left out, in which no code can stand.
    """
    shown: list[str] = []
    for word in words:
        is_value = bool(shown) and is_telling_flag(words[len(shown) - 1])
        option, given, value = word.partition("=")
        if given and (is_telling_flag(option) or is_telling(option)):
            shown.append(
                f"{option}={SECRET}"
                if _is_value(option, value, has_code=has_code)
                else _in_code(word)
            )
        elif is_value and not word.startswith("-") and (not has_code or _is_no_code(word)):
            shown.append(SECRET)
        else:
            shown.append(_in_code(word) if has_code else without_secret(word))
    return shown


def digested(words: Sequence[str], key: bytes, *, has_code: bool = False) -> list[str]:
    """The words as they are kept: one that holds a secret with its HMAC in the secret's place."""
    shown = without_secrets(words, has_code=has_code)
    return [
        word if word == said else f"{said} {hmac_sha256(key, _bytes(word))[:DIGEST_BYTES].hex()}"
        for word, said in zip(words, shown, strict=True)
    ]


def is_digested(word: str) -> bool:
    """Whether a word was kept without its secret, so that nothing can be started by it."""
    return _DIGESTED.search(word) is not None


def launch_shown(launch: Any, has_code: Callable[[tuple[str, ...]], bool]) -> Any:
    """A launch identity as people may read it; its words are those of a command."""
    if not isinstance(launch, dict):
        return launch
    return {
        key: _words(value, has_code) if key in _COMMANDS else value for key, value in launch.items()
    }


_COMMANDS: Final = frozenset({"argv", "for"})


def _words(value: Any, has_code: Callable[[tuple[str, ...]], bool]) -> Any:
    is_command = isinstance(value, list) and all(isinstance(word, str) for word in value)
    return without_secrets(value, has_code=has_code(tuple(value))) if is_command else value


# Characters of tokens: a text of these alone is no code that acts, and no path of any.
_NO_CODE: Final = re.compile(r"[\w.+=~-]*")


def _is_value(option: str, value: str, *, has_code: bool) -> bool:
    """Whether what stands behind a telling name is its value and nothing else."""
    if has_code:
        return _is_no_code(value)
    return option.startswith("-") or not any(map(str.isspace, value))


def _is_no_code(text: str) -> bool:
    return _NO_CODE.fullmatch(text) is not None


def _in_code(text: str) -> str:
    """A text without those secrets that no code can stand in."""
    return _cut(text, [span for span in shape_spans(text) if _is_no_code(text[span[0] : span[1]])])


def _bytes(word: str) -> bytes:
    return word.encode("utf-8", "surrogateescape")


def without_secret(text: str) -> str:
    """A text without what has the shape of a secret, such as the password in a URL."""
    return _cut(text, shape_spans(text))


def _cut(text: str, spans: Iterable[tuple[int, int]]) -> str:
    kept, at = "", 0
    for begin, end in sorted(spans):
        if begin >= at:
            kept += text[at:begin] + SECRET
        at = max(at, end)
    return kept + text[at:]
