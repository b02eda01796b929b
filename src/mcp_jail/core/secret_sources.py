"""Where the value of a secret variable comes from, as `env.secret` says it.

keyring:SERVICE/USER   an entry of the desktop's keyring; without USER, of the variable's name
file:PATH              a private file's content
command:WORDS          what a program prints; split as a shell would, but no shell is there
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from typing import Final

from mcp_jail.core.spec import Value

# A shorter one would be found, and blotted out, in half of all lines.
MIN_CHARS: Final = 4
# Bytes of one value; the kernel takes 128 KiB for one variable (execve(2)).
MAX_BYTES: Final = 64 * 1024

HOME: Final = "~/"


class Kind(Enum):
    """What has the value."""

    KEYRING = "keyring"
    FILE = "file"
    COMMAND = "command"


class Source(Value, frozen=True):
    """Where one value comes from: service and user, a path, or the words of a command."""

    kind: Kind
    words: tuple[str, ...]


class Wanted(Value, frozen=True):
    """A variable and where its value comes from; `~` is expanded."""

    name: str
    source: Source


class Found(Value, frozen=True, omit_defaults=True):
    """A variable's value, or why there is none; `said` is a program's own word on that."""

    name: str
    value: str = ""
    fault: str = ""
    hint: str = ""
    said: str = ""


def secret_source(text: str, variable: str) -> Source:
    """What a value of `env.secret` means; ValueError in words for one that means nothing."""
    kind, _, rest = text.partition(":")
    match kind:
        case Kind.KEYRING.value:
            return Source(kind=Kind.KEYRING, words=_entry(rest, variable))
        case Kind.FILE.value:
            return Source(kind=Kind.FILE, words=(rest,))
        case Kind.COMMAND.value:
            return Source(kind=Kind.COMMAND, words=_words(rest))
        case _:
            raise ValueError("is neither 'keyring:SERVICE/USER', 'file:PATH' nor 'command:WORDS'")


def at_home(source: Source, home: str) -> Source:
    """A source with `~/` of its paths and words expanded; what a keyring is asked for stays."""
    if source.kind is Kind.KEYRING:
        return source
    words = (home + word[1:] if word.startswith(HOME) else word for word in source.words)
    return Source(kind=source.kind, words=tuple(words))


def paths_of(source: Source, home: str) -> Iterator[str]:
    """The paths that decide what a value is: of a file, of a program, in all of its arguments.

    A word may be a line for a shell, or an option with a path behind it; a program is started in
    `/`, so that what is relative is meant from there. What is no path of anything does no harm.
    """
    if source.kind is Kind.KEYRING:
        return
    if source.kind is Kind.FILE:
        yield at_home(source, home).words[0]
        return
    for word in at_home(source, home).words:
        for piece in _PIECES.split(word):
            begin = piece.find("/")
            if begin < 0:
                continue
            head = piece[:begin]
            if head in _HOMES:
                path = home + piece[begin:]
            elif head.startswith("-") or not head:
                path = piece[begin:]
            else:
                path = "/" + piece
            if path.strip("/"):
                yield path


# What a path does not go on behind, in a line for a shell or in an option.
_PIECES: Final = re.compile(r"[\s=:,;'\"`()<>|&@+]+")
_HOMES: Final = frozenset({"~", "$HOME", "${HOME}"})


def _entry(text: str, variable: str) -> tuple[str, ...]:
    service, slash, user = text.rpartition("/")
    if not slash:
        service, user = text, variable
    if not service or not user:
        raise ValueError("names no entry of a keyring: 'keyring:SERVICE/USER'")
    return service, user


def _words(text: str) -> tuple[str, ...]:
    import shlex  # noqa: PLC0415  # 2 ms, and few policies have a command

    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise ValueError(f"cannot be split into words: {str(error).lower()}") from None
    if not words or not words[0]:
        raise ValueError("names no program: 'command:PROGRAM ARGUMENTS'")
    if "/" in words[0] and not words[0].startswith(("/", HOME)):
        raise ValueError(
            f"names the program {words[0]!r} by a relative path; begin with '/' or '~/'"
        )
    return words
