"""Which command a policy is for: the one it names, else the one that was approved or seen under it.

Words that hold a secret or that a client fills in are not compared: of a policy's own they are not
there, and of an entry they are not what is started.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from mcp_jail.config import load
from mcp_jail.config.command_line import in_words
from mcp_jail.core.command_shown import is_digested, without_secrets
from mcp_jail.core.lock import COMMAND, ItemKind, canonical, key_of
from mcp_jail.core.policy import Policy
from mcp_jail.core.sha256 import sha256
from mcp_jail.errors import JailError
from mcp_jail.store.locks import LockFiles, lock_files
from mcp_jail.store.places import Places

# Characters of a digest in a policy's text.
_DIGITS: Final = 16
_MARK: Final = "# It is for the command with the digest "
_MARKED: Final = re.compile(rf"^{_MARK}([0-9a-f]{{{_DIGITS}}})$", re.MULTILINE)
# What a client replaces in a word, in any of their ways.
_FILLED: Final = re.compile(r"[$%{]")


def marked(text: str, command: tuple[str, ...]) -> str:
    """The text of a new policy; one that may not spell its command says which by a digest."""
    server = load(text, "").policy.server
    if server is not None and server.command:
        return text
    return f"{text.rstrip()}\n\n{_MARK}{_digest(command)}\n"


def is_for(
    places: Places, home: str, text: str, policy: Policy, command: tuple[str, ...]
) -> bool | None:
    """Whether a policy is for a command; None where nothing says so yet."""
    named = () if policy.server is None else policy.server.command
    if named:
        return _words(named, home) == _words(command, home)
    mark = _MARKED.search(text)
    if mark is not None:
        return mark[1] == _digest(command)
    kept = next(_kept(lock_files(places, policy.name)), None)
    return None if kept is None else _is_same(kept, _words(command, home))


def _kept(files: LockFiles) -> Iterator[tuple[str, ...]]:
    """The words of the launch that was approved, and of the one that was seen last."""
    for read in (files.read, files.read_pending):
        try:
            lock = read()
        except JailError:
            continue  # a damaged one says nothing; a run refuses it
        for each in () if lock is None else lock.items.get(key_of(ItemKind.LAUNCH, COMMAND), ()):
            value = each.value if isinstance(each.value, dict) else {}
            words = value.get("for") or value.get("argv")
            if isinstance(words, list) and words and all(isinstance(w, str) for w in words):
                yield tuple(words)


def _is_same(kept: tuple[str, ...], command: tuple[str, ...]) -> bool:
    """Whether a launch that was seen is this command; PATH said where its program lies."""
    program = kept[0]
    if not command or len(kept) != len(command):
        return False
    is_one = os.path.isabs(command[0]) and command[0] != program
    if is_one or os.path.basename(program) != os.path.basename(command[0]):
        return False
    pairs = zip(without_secrets(kept)[1:], without_secrets(command)[1:], strict=True)
    return all(old == new or is_digested(old) or _FILLED.search(new) for old, new in pairs)


def _words(command: tuple[str, ...], home: str) -> tuple[str, ...]:
    with suppress(JailError):  # a line that only a shell could take apart: as it is
        command = in_words(command, os.path.exists)
    return tuple(
        home + word[1:] if word == "~" or word.startswith("~/") else word for word in command
    )


def _digest(command: tuple[str, ...]) -> str:
    return sha256(canonical(without_secrets(command))).hexdigest()[:_DIGITS]
