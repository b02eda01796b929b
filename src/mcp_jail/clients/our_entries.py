"""Entries that start mcp-jail: how they are told from others, and what they start in turn.

What `wrap` writes is `PROGRAM run NAME -- COMMAND...`. Others (a policy's own command, `--policy
FILE`, mcp-jail through uvx) are somebody's own work: known, and left.
"""

from __future__ import annotations

import msgspec

PROGRAM = "mcp-jail"

# Items of `args` before the server's own command.
HEAD = 3


class Ours(msgspec.Struct, frozen=True):
    """What an entry that starts mcp-jail says. `command` is empty where `wrap` did not write it."""

    program: str
    policy: str | None
    command: tuple[str, ...]


def wrapped_words(policy: str) -> tuple[str, ...]:
    """What stands before a server's own command once it is wrapped."""
    return ("run", policy, "--")


def ours_in(words: tuple[str, ...]) -> Ours | None:
    """What an entry says of mcp-jail, or None where it starts something else."""
    program, *rest = words
    if _basename(program) == PROGRAM:
        return _read(program, rest)
    launched = _launched(_basename(program), rest)
    return None if launched is None else Ours(program, _policy(launched), ())


def _read(program: str, rest: list[str]) -> Ours:
    match rest:
        case ["run", policy, "--", command, *more] if not policy.startswith("-"):
            return Ours(program, policy, (command, *more))
    return Ours(program, _policy(rest), ())


def _policy(rest: list[str]) -> str | None:
    match rest:
        case ["run", policy, *_] if not policy.startswith("-"):
            return policy
    return None


def _launched(launcher: str, rest: list[str]) -> list[str] | None:
    """The words behind our name where a launcher of Python programs starts us."""
    if launcher not in _LAUNCHERS:
        return None
    for index, word in enumerate(rest):
        if word == PROGRAM or word.startswith((f"{PROGRAM}@", f"{PROGRAM}==")):
            return rest[index + 1 :]
        if word == "--":
            return None
    return None


_LAUNCHERS = frozenset({"uvx", "uv", "pipx"})


def _basename(word: str) -> str:
    return word.replace("\\", "/").rpartition("/")[2]
