"""Writes a policy that was read and changed: the user's own, and only while nobody else did.

Root's policies are not changed by any command, so that nothing that runs as the user can widen
them. A file elsewhere is someone's to commit and the user's to trust again.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import assert_never

from mcp_jail.errors import JailError
from mcp_jail.store.files import replace_unchanged, unusable
from mcp_jail.store.policies import PolicyFile, PolicyKind


class PolicyEditError(JailError):
    """A policy that no command of ours changes; nothing was written."""


class PolicyChangedError(PolicyEditError):
    """The policy is another one than was read; nothing was written, and it can be read again."""


def replace_policy(file: PolicyFile, text: str, *, by_hand: str = "") -> None:
    """Put another text in a policy's place, whole or not at all, if it still is what was read.

    `by_hand` is what the hint gives a person to add where no command may. Links, shared files and
    directories are refused as at reading (FileError). Commands at the same time wait for each
    other, and the second is told that the file has changed.
    """
    refuse_foreign_policy(file, by_hand)
    with _alone(os.path.dirname(file.path)):
        if not replace_unchanged(file.path, file.text.encode(), text.encode()):
            raise PolicyChangedError(
                f"policy file '{file.path}' has changed meanwhile; nothing was written",
                hint="do it again",
            )


def refuse_foreign_policy(file: PolicyFile, by_hand: str = "") -> None:
    """Refuse a policy that is not the user's own to change."""
    match file.kind:
        case PolicyKind.OWN:
            return
        case PolicyKind.SYSTEM:
            why, hint = "is root's, which no command changes", "as root, add"
        case PolicyKind.TRUSTED:
            why = "lies outside of our own directory, where no command changes anything"
            hint = f"run 'mcp-jail trust {file.path}' after you added"
        case _:
            assert_never(file.kind)
    hint = f"{hint}:\n{by_hand}" if by_hand else ""
    raise PolicyEditError(f"policy file '{file.path}' {why}", hint=hint)


@contextmanager
def _alone(folder: str) -> Iterator[None]:
    """Keep other commands from writing policies; the kernel takes the lock back from who dies."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise unusable(folder, "cannot be opened", error) from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
