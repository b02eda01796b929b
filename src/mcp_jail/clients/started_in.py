"""The directory that a client starts an entry in, where the entry's words mean it."""

from __future__ import annotations

import os

from mcp_jail.clients.catalogue import Row, Scope
from mcp_jail.clients.launches import Launch


def started_in(path: str, row: Row, launch: Launch | None) -> str:
    """The client's working directory, as far as the entry or the place of its file says it."""
    base = _root(path, row) if row.scope is Scope.PROJECT else ""
    said = "" if launch is None else launch.cwd or ""
    return os.path.realpath(os.path.join(base, said)) if base or os.path.isabs(said) else ""


def leans_on(command: tuple[str, ...], cwd: str) -> bool:
    """Whether words name something of the directory, so that they mean another thing elsewhere."""
    if os.sep in command[0] and not _is_fixed(command[0]):
        return True
    module = command[command.index("-m") + 1 :][:1] if "-m" in command else ()
    words = [word.rpartition("=")[2] for word in command[1:]]
    return any(_is_named(cwd, word) for word in words) or any(
        _is_named(cwd, name.replace(".", os.sep) + ending)
        for name in module
        for ending in ("", ".py")
    )


def _is_named(cwd: str, word: str) -> bool:
    if not word or _is_fixed(word):
        return False
    if word.startswith(("./", "../")) or word in {".", ".."}:
        return True
    return bool(cwd) and "\0" not in word and os.path.lexists(os.path.join(cwd, word))


def _is_fixed(word: str) -> bool:
    return os.path.isabs(word) or word.startswith("~")


def _root(path: str, row: Row) -> str:
    """The project of a file, which lies below it as its client's row says."""
    real = os.path.abspath(path)
    for pattern in row.files:
        below = pattern.removeprefix(".")
        if pattern.startswith("./") and real.endswith(below):
            return real[: -len(below)] or os.sep
    return os.path.dirname(real)
