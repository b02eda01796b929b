"""Where tools are installed, by the layouts that everybody has: what may come without being named.

A file of a server (`#!`, `pyvenv.cfg`, a link) may name a program anywhere. Only one that really
lies in a tool's own installation is brought along for it; these are the installations.
"""

from __future__ import annotations

import os
import re
from typing import Final

from mcp_jail.sandbox.protected import lies_in
from mcp_jail.sandbox.system import DIRECTORIES, STORES

# Each is a whole installation. The path asked about is a real one, so a link cannot feign it.
_LAYOUTS: Final = (
    r".*/\.?nvm/versions/[^/]+/[^/]+",
    r".*/\.?fnm/node-versions/[^/]+/installation",
    r".*/\.volta/tools/image/(?:node|npm|pnpm|yarn)/[^/]+",
    r".*/\.volta/tools/image/packages/(?:@[^/]+/)?[^/]+",
    r".*/\.?(?:pyenv|rbenv|nodenv|goenv|plenv)/versions/[^/]+",
    r".*/(?:share/mise|\.asdf|share/asdf)/installs/[^/]+/[^/]+",
    r".*/share/uv/(?:python|tools)/[^/]+",
    r".*/(?:cpython|pypy|graalpy)-[0-9][^/]*",
    r".*/(?:share|\.local)/pipx/venvs/[^/]+",
    r".*/(?:mini|ana|mamba)(?:conda|forge|mamba)[0-9]*/envs/[^/]+",
    r".*/(?:mini|ana|mamba)(?:conda|forge|mamba)[0-9]*",
    r".*/(?:micromamba|\.conda)/envs/[^/]+",
    r".*/\.sdkman/candidates/[^/]+/[^/]+",
    r".*/\.(?:bun|deno)",
    r"/opt/(?:[^/]+/)*[^/]+(?=/s?bin/)",
    *(rf"{re.escape(store)}" for store in STORES),
)
_INSTALLATION: Final = re.compile(f"({'|'.join(_LAYOUTS)})(?=/)")

# What says that a prefix is the installation of an interpreter, wherever it was unpacked.
_NODE: Final = "lib/node_modules/npm/package.json"
_PYTHON: Final = re.compile(r"python3\.[0-9]+t?")
_GLOBAL_MODULES: Final = "/lib/node_modules/"

_ELF: Final = b"\x7fELF"


def of_the_system(place: str) -> bool:
    """Whether a path lies in what every jail has of the host's programs."""
    return any(lies_in(place, tree) for tree in DIRECTORIES)


def installation(real: str) -> str | None:
    """The known tool's installation that a real path lies in."""
    brew = homebrew(real)
    if brew is not None:
        return brew
    found = _INSTALLATION.match(real)
    return found[1] if found else None


def homebrew(place: str) -> str | None:
    """The whole of a Homebrew a file lies in: its programs are linked across it."""
    found = re.match(r"(.*/(?:\.linuxbrew|homebrew|linuxbrew/\.linuxbrew))/", place)
    return found[1] if found and os.path.isdir(os.path.join(found[1], "Cellar")) else None


def node_modules(place: str) -> str | None:
    """The topmost `node_modules` a file lies in."""
    before, found, _ = place.partition("/node_modules/")
    return f"{before}/node_modules" if found else None


def unpacked(real: str) -> str | None:
    """The Node, the Python, or Node's global modules, for a program that PATH leads to."""
    before, found, _ = real.partition(_GLOBAL_MODULES)
    if found:
        return before + _GLOBAL_MODULES.rstrip("/")
    directory = os.path.dirname(real)
    prefix = os.path.dirname(directory)
    if os.path.basename(directory) != "bin":
        return None
    return prefix if os.path.isfile(os.path.join(prefix, _NODE)) or _has_python(prefix) else None


def _has_python(prefix: str) -> bool:
    try:
        names = os.listdir(os.path.join(prefix, "lib"))
    except OSError:
        return False
    return any(
        _PYTHON.fullmatch(name) and os.path.isfile(os.path.join(prefix, "lib", name, "os.py"))
        for name in names
    )


def is_program(real: str) -> bool:
    """Whether a file is one that the kernel would run for us."""
    return os.path.isfile(real) and os.access(real, os.X_OK)


def is_binary(real: str) -> bool:
    """Whether a program is machine code, and so no text that somebody wrote for himself."""
    if not is_program(real):
        return False
    try:
        with open(real, "rb") as file:
            return file.read(len(_ELF)) == _ELF
    except OSError:
        return False
