"""Commands that look a server's package up at each start, which cannot work without a network."""

from __future__ import annotations

import re
from typing import NamedTuple

from mcp_jail.config.program_options import STARTERS

_NPM = "npm install --global --prefix ~/.local PACKAGE"
_PINNED = "mcp-jail install"
_PIPX = "pipx install PACKAGE"
_DAEMON = "a daemon outside"

# The words such a command begins with, and how its packages are installed once.
LAUNCHERS = {
    ("npx",): _PINNED,
    ("npm", "exec"): _PINNED,
    ("npm", "x"): _PINNED,
    ("pnpx",): _NPM,
    ("pnpm", "dlx"): _NPM,
    ("yarn", "dlx"): _NPM,
    ("bunx",): _NPM,
    ("bun", "x"): _NPM,
    ("uvx",): _PINNED,
    ("uv", "tool", "run"): _PINNED,
    ("pipx", "run"): _PIPX,
    ("docker", "run"): _DAEMON,
    ("docker", "container", "run"): _DAEMON,
    ("podman", "run"): _DAEMON,
    ("nerdctl", "run"): _DAEMON,
}

# A container that another program or a shell's line starts in turn.
_CONTAINER = re.compile(r"(?:^|[\s;&|(/'\"])(docker|podman|nerdctl)(?:\s+container)?\s+run\b")
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "fish"})

# With one of these, only what is installed already is started.
OFFLINE = frozenset({"--no-install", "--no", "--offline"})


class Launcher(NamedTuple):
    """What is wrong with such a command, and what to start instead."""

    message: str
    hint: str


def look_up_at_start(
    command: tuple[str, ...], policy: str, *, is_named: bool = True
) -> Launcher | None:
    """What to say of a command that needs the network at each start; None for any other.

    `policy` is the name of its policy, and the command stands in there if it `is_named`.
    """
    words = without_env(command)
    if not words or OFFLINE.intersection(words):
        return None
    program, *rest = words
    plain = (program.rpartition("/")[2], *(word for word in rest if not word.startswith("-")))
    for name, install in LAUNCHERS.items():
        if plain[: len(name)] == name:
            cure = policy if is_named else f"{policy} -- COMMAND..."
            if install is _PINNED and _is_from_elsewhere(plain[len(name) :]):
                return Launcher(f"'{' '.join(name)}' {_ELSEWHERE}", unpinned_hint(name[0]))
            return _said(" ".join(name), install, cure)
    container = _container_behind(plain[0], rest)
    return None if container is None else _said(f"{container} run", _DAEMON, policy)


def _container_behind(program: str, rest: list[str]) -> str | None:
    """The program of containers that a line for a shell, or `sudo` and the like, starts."""
    options = [word for word in rest if re.fullmatch(r"-[a-z]*c", word)]
    if program not in STARTERS and not (program in _SHELLS and options):
        return None
    found = _CONTAINER.search(" ".join(rest))
    return None if found is None else found[1]


def unpinned_hint(program: str) -> str:
    """What to write for a command that no version can be pinned for."""
    registry = "pypi" if program.startswith("uv") else "npm"
    return (
        "install the server itself, and name its program; or, for a start that fetches anew each "
        f"time, write package: {{{registry}: NAME, unpinned: true}} into its policy, and what it "
        "reaches besides the registry into network.allow"
    )


_ELSEWHERE = "fetches at each start what is no package of a registry, and there is no network"


def _is_from_elsewhere(words: tuple[str, ...]) -> bool:
    """Whether what a launcher is given is an address, a repository or a directory."""
    first = words[0] if words else ""
    name = first.partition("/")[2] if first.startswith("@") else first  # behind its scope
    return ":" in first or "/" in name or first.startswith((".", "~"))


def without_env(command: tuple[str, ...]) -> tuple[str, ...]:
    """A command without `env`, its options and the variables it sets."""
    words = list(command)
    while words and words[0].rpartition("/")[2] == "env":
        del words[0]
        while words and (words[0].startswith("-") or "=" in words[0]):
            del words[0]
    return tuple(words)


def _said(name: str, install: str, cure: str) -> Launcher:
    if install is _DAEMON:
        return Launcher(
            f"'{name}' speaks to a daemon outside, and nothing in the jail can reach one",
            "install the server itself and name its program",
        )
    message = f"'{name}' looks the package up at each start, and there is no network in the jail"
    if install is _PINNED:
        return Launcher(message, f"{_PINNED} {cure} fetches it once, in a jail, and pins it")
    return Launcher(
        message,
        f"install it once: {install}; then name the program it brings",
    )
