"""Which command a policy is for: the one it names, else the one that was approved or seen under it.

What was approved or seen counts for the user's own entries alone. Of a word that the client fills
in what stands around that is compared, of every other all of it. Words that mean another thing in
each directory are held to theirs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from mcp_jail.clients.started_in import leans_on
from mcp_jail.config import load
from mcp_jail.config.carried_code import has_code
from mcp_jail.config.command_line import at_home, in_words
from mcp_jail.core.approved.lock import COMMAND, ItemKind, canonical, key_of
from mcp_jail.core.policy import Policy
from mcp_jail.core.sha256 import hmac_sha256
from mcp_jail.core.text.command_shown import digested
from mcp_jail.errors import JailError
from mcp_jail.store.locks import LockFiles, lock_files
from mcp_jail.store.places import Places
from mcp_jail.store.state_key import state_key

# Characters of a digest in a policy's text.
_DIGITS: Final = 16
_MARK: Final = "# It is for the command with the digest "
_MARKED: Final = re.compile(rf"^{_MARK}([0-9a-f]{{{_DIGITS}}})$", re.MULTILINE)
_PLACE: Final = "# It is for the directory with the digest "
_PLACED: Final = re.compile(rf"^{_PLACE}([0-9a-f]{{{_DIGITS}}})$", re.MULTILINE)
# What a client replaces in a word, in any of their ways.
_FILLED: Final = re.compile(
    r"\$\{[^}]*\}|\$[A-Za-z_]\w*|\{\{.*?\}\}|\{(?:env|file|input):[^}]*\}|%[A-Za-z_]\w*%"
)


def marked(text: str, command: tuple[str, ...], cwd: str = "", *, key: bytes) -> str:
    """The text of a new policy; what it may not spell of its command it says by an HMAC.

    So it does with the directory `cwd`, where the command means something else in another one.
    """
    server = load(text, "").policy.server
    marks = ""
    if server is None or not server.command:
        marks += f"{_MARK}{_digest(command, key)}\n"
    if cwd and leans_on(command, cwd):
        marks += f"{_PLACE}{_digest((cwd,), key)}\n"
    return f"{text.rstrip()}\n\n{marks}" if marks else text


def is_digested(text: str) -> bool:
    """Whether a policy says by a digest what it is for, so that only our key can tell."""
    return bool(_MARKED.search(text) or _PLACED.search(text))


def is_for(
    places: Places,
    home: str,
    text: str,
    policy: Policy,
    command: tuple[str, ...],
    *,
    cwd: str = "",
    is_strangers: bool = False,
) -> bool | None:
    """Whether a policy is for a command; None where nothing says so yet.

    `cwd` is where the client starts it, if that is known. What a stranger wrote is no policy's that
    only was approved or seen for the like: who wrote it chose name and words.
    """
    if not _is_at_home(places, text, command, cwd, is_strangers=is_strangers):
        return False
    named = () if policy.server is None else policy.server.command
    if named:
        return _words(named, home) == _words(command, home)
    mark = _MARKED.search(text)
    if mark is not None:
        return mark[1] == _digest(command, state_key(places))
    if is_strangers:
        return None
    kept = next(_kept(lock_files(places, policy.name)), None)
    if kept is None:
        return None
    return _is_same(kept, _words(command, home), cwd, state_key(places))


def _is_at_home(
    places: Places, text: str, command: tuple[str, ...], cwd: str, *, is_strangers: bool
) -> bool:
    """Whether a command that leans on its directory stands in the policy's own."""
    mark = _PLACED.search(text)
    if mark is None:
        return not (is_strangers and leans_on(command, cwd))
    return bool(cwd) and mark[1] == _digest((cwd,), state_key(places))


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


def _is_same(kept: tuple[str, ...], command: tuple[str, ...], cwd: str, key: bytes) -> bool:
    """Whether a launch that was seen is this command; for a bare name PATH said where it lies."""
    if not command or len(kept) != len(command):
        return False
    program = os.path.basename(kept[0])
    if os.sep in command[0]:
        program = kept[0]
        if not os.path.isabs(command[0]):
            command = (os.path.normpath(os.path.join(cwd, command[0])), *command[1:])
    hidden = digested(command, key, has_code=has_code(command))
    each = zip(kept[1:], command[1:], hidden[1:], strict=True)
    return program == command[0] and all(
        old in {word, secret} or is_filled(old, word) for old, word, secret in each
    )


def is_filled(old: str, new: str) -> bool:
    """Whether a word is what a client made of another one that it fills in."""
    around = _FILLED.split(new)
    pattern = ".*".join(map(re.escape, around))
    return len(around) > 1 and re.fullmatch(pattern, old, re.DOTALL) is not None


def _words(command: tuple[str, ...], home: str) -> tuple[str, ...]:
    with suppress(JailError):  # a line that only a shell could take apart: as it is
        command = in_words(command, os.path.exists)
    return at_home(command, home)


def _digest(words: tuple[str, ...], key: bytes) -> str:
    """Of whole words, secrets too; nobody gets one out of it without the key."""
    return hmac_sha256(key, canonical(list(words))).hex()[:_DIGITS]
