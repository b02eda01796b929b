"""Entries that start mcp-jail: how they are told from others, and what they start in turn.

What `wrap` writes is `PROGRAM run NAME -- COMMAND...`. Others (a policy's own command, `--policy
FILE`) are somebody's own work: known, and left. An entry counts as ours only where what would start
is this very program. One that starts something else of our name is told; one in which our name is
only a word is a server like any other.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Mapping

import msgspec

from mcp_jail.core.loaders import is_loader_variable

PROGRAM = "mcp-jail"

# Items of `args` before the server's own command.
HEAD = 3

# Whether a word starts this program: a path to it, or its bare name.
IsOurs = Callable[[str], bool]

# Where mcp-jail looks for its policies; in an entry, it would look elsewhere than `wrap` writes.
OUR_HOME = frozenset({"HOME", "MCP_JAIL_HOME"})


class Ours(msgspec.Struct, frozen=True):
    """What an entry that starts something of our name says.

    `command` is empty where `wrap` did not write it. `why_not` says why it is not this program.
    """

    program: str
    policy: str | None
    command: tuple[str, ...]
    why_not: str = ""


def wrapped_words(policy: str) -> tuple[str, ...]:
    """What stands before a server's own command once it is wrapped."""
    return ("run", policy, "--")


def ours_in(words: tuple[str, ...], variables: Iterable[str], is_ours: IsOurs) -> Ours | None:
    """What an entry says of mcp-jail, or None where it starts something else."""
    program, *rest = words
    if _basename(program) == PROGRAM:
        why_not = _why_not(program, frozenset(variables), is_ours)
        if not why_not and rest[:1] != ["run"]:
            why_not = f"it starts no server by '{PROGRAM} run'"
        match rest:
            case ["run", policy, "--", command, *more] if not policy.startswith("-"):
                return Ours(program, policy, (command, *more), why_not)
        return Ours(program, _policy(rest), (), why_not)
    for launcher in _LAUNCHERS:
        if words[: len(launcher)] == launcher and _is_our_package(words[len(launcher) :]):
            why_not = f"it has '{' '.join(launcher)}' start a package of our name"
            return Ours(program, _policy(list(words[len(launcher) + 1 :])), (), why_not)
    return None


def same_program(program: str, environ: Mapping[str, str]) -> IsOurs:
    """Whether a word starts `program`; a bare name that PATH does not find is taken at its word."""
    real = os.path.realpath(program)

    def is_ours(word: str) -> bool:
        if word == PROGRAM:
            found = shutil.which(word, path=environ.get("PATH"))
            return found is None or os.path.realpath(found) == real
        return os.path.isabs(word) and os.path.realpath(word) == real

    return is_ours


def _why_not(program: str, variables: frozenset[str], is_ours: IsOurs) -> str:
    if program != PROGRAM and not os.path.isabs(program):
        return f"it starts '{program}', which is another program in each directory"
    if not is_ours(program):
        return f"it starts '{program}', which is not this mcp-jail"
    if "PATH" in variables and program == PROGRAM:
        return "it sets PATH, so 'mcp-jail' may be any program"
    for name in sorted(variables):
        if is_loader_variable(name):
            return f"it sets {name}, which runs other code in mcp-jail itself"
        if name in OUR_HOME:
            return f"it sets {name}, so mcp-jail looks for its policy elsewhere"
    return ""


def _policy(rest: list[str]) -> str | None:
    match rest:
        case ["run", policy, *_] if not policy.startswith("-"):
            return policy
    return None


def _is_our_package(rest: tuple[str, ...]) -> bool:
    """Whether the first thing a launcher is given is a package of our name."""
    return bool(rest) and (
        rest[0] == PROGRAM or rest[0].startswith((f"{PROGRAM}@", f"{PROGRAM}=="))
    )


# What starts a package by its name. With options before the name, it starts what those say.
_LAUNCHERS = (("uvx",), ("uv", "tool", "run"), ("pipx", "run"))


def _basename(word: str) -> str:
    return word.replace("\\", "/").rpartition("/")[2]
