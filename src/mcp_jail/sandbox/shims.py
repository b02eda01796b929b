"""Version managers put a small program under a tool's name; this finds the tool behind it.

By reading their files, never by running them: what the manager's program does with a project's
settings is code outside the jail. Those files only choose among the versions that are installed:
a version is one plain name that stays in the manager's own tree, and no settings are read from
where a client happens to stand, for that may be somebody else's repository.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import Final

import msgspec

from mcp_jail.core.spec import Value

SETTINGS_LIMIT: Final = 64 * 1024  # bytes of a manager's settings file

# One component of a path, as versions, packages and their scopes are called.
_PLAIN: Final = re.compile(r"@?[A-Za-z0-9][A-Za-z0-9._+-]*")
_SYSTEM: Final = "system"  # pyenv(1) and its kin: the next program of that name in PATH
_VERSION_FILES: Final = {
    "rbenv": ".ruby-version",
    "nodenv": ".node-version",
    "goenv": ".go-version",
    "plenv": ".perl-version",
}


class Shim(Value, frozen=True):
    """What stands behind a shim; `program` is None where the manager's files do not tell it."""

    manager: str
    program: str | None
    root: str  # where the manager keeps its versions; a program lies in here
    passes: bool = False  # the manager would run the next program of that name in PATH


def behind_shim(place: str, *, cwd: str | None, homes: tuple[str, ...]) -> Shim | None:
    """The tool behind a shim, None for a program that is none.

    `cwd` is the directory that the policy itself names, if it does; settings there count.
    """
    directory, name = os.path.split(place)
    root, kind = os.path.split(directory)
    if kind == "shims" and os.path.isdir(os.path.join(root, "versions")):
        return _versioned(root, name, cwd, homes)
    if kind == "shims" and os.path.isdir(os.path.join(root, "installs")):
        target = os.path.basename(os.path.realpath(place))
        manager = "mise" if target == "mise" else "asdf"
        program = _installed(root, name, cwd, homes)
        return Shim(manager=manager, program=program, root=f"{root}/installs")
    if kind == "bin" and os.path.basename(os.path.realpath(place)) == "volta-shim":
        return Shim(manager="volta", program=_volta(root, name), root=f"{root}/tools/image")
    return None


def _versioned(root: str, name: str, cwd: str | None, homes: tuple[str, ...]) -> Shim:
    """pyenv(1), rbenv(1) and nodenv(1): the nearest version file, else the global one."""
    manager = os.path.basename(root).removeprefix(".")
    versions = os.path.join(root, "versions")
    file = _VERSION_FILES.get(manager, ".python-version")
    settings = [*_upwards(cwd, file), *(f"{home}/{file}" for home in homes), f"{root}/version"]
    words = [word for text in map(_read, settings) for word in text.split()]
    for version in words:
        for exact in (version, *_newest_first(_listed(versions), f"{version}.")):
            program = _inside(versions, (exact,), name)
            if program is not None:
                return Shim(manager=manager, program=program, root=versions)
        if version == _SYSTEM:
            break
    passes = not words or _SYSTEM in words
    return Shim(manager=manager, program=None, root=versions, passes=passes)


def _inside(tree: str, parts: tuple[str, ...], name: str) -> str | None:
    """TREE/PARTS/bin/NAME where the parts are plain names that do not lead out of the tree."""
    if not all(_PLAIN.fullmatch(part) for part in parts):
        return None
    place = os.path.join(tree, *parts)
    if not os.path.realpath(place).startswith(os.path.realpath(tree) + "/"):
        return None
    program = os.path.join(place, "bin", name)
    return program if os.path.isfile(program) else None


def _installed(root: str, name: str, cwd: str | None, homes: tuple[str, ...]) -> str | None:
    """For asdf and mise: installs/TOOL/VERSION/bin/NAME for the version the settings ask for."""
    wanted = _wanted(cwd, homes)
    installs = os.path.join(root, "installs")
    candidates: list[str] = []
    for tool in _listed(installs):
        own = os.path.join(installs, tool)
        versions = _listed(own)
        asked = wanted.get(tool) or wanted.get(_ALIASES.get(tool, ""))
        for version in [asked, *_newest_first(versions, f"{asked}.")] if asked else []:
            program = _inside(own, (version,), name)
            if program is not None:
                return program
        real = {os.path.basename(os.path.realpath(os.path.join(own, v))) for v in versions}
        candidates += [p for v in real if (p := _inside(own, (v,), name)) is not None]
    return candidates[0] if len(candidates) == 1 else None


_ALIASES: Final = {"nodejs": "node", "node": "nodejs", "golang": "go", "go": "golang"}


def _wanted(cwd: str | None, homes: tuple[str, ...]) -> dict[str, str]:
    """Tool to version, the nearest settings file first."""
    names = (".tool-versions", "mise.toml", ".mise.toml")
    files = [file for name in names for file in _upwards(cwd, name)]
    for home in homes:
        files += [
            f"{home}/.tool-versions",
            f"{home}/.config/mise/config.toml",
            f"{home}/.mise.toml",
        ]
    wanted: dict[str, str] = {}
    for file in files:
        pattern = r'^"?([\w-]+)"?\s*=\s*"([^"]+)"' if file.endswith(".toml") else r"^(\S+)\s+(\S+)"
        for tool, version in re.findall(pattern, _read(file), re.MULTILINE):
            wanted.setdefault(tool, version)
    return wanted


def _volta(root: str, name: str) -> str | None:
    """Volta's own record of the default platform and of installed packages."""
    images = os.path.join(root, "tools", "image")
    platform = _json(os.path.join(root, "tools", "user", "platform.json"))
    package = _text_at(_json(f"{root}/tools/user/bins/{name}.json"), "package")
    places = [("packages", *package.split("/"))]
    if name in {"npm", "npx"}:
        places.append(("npm", _text_at(platform, "node", "npm")))
    places.append(("node", _text_at(platform, "node", "runtime")))
    return next((p for parts in places if (p := _inside(images, parts, name)) is not None), None)


def _json(path: str) -> object:
    try:
        return msgspec.json.decode(_read(path))
    except msgspec.DecodeError:
        return None


def _text_at(value: object, *keys: str) -> str:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, str) else ""


def _upwards(directory: str | None, name: str) -> Iterable[str]:
    while directory is not None:
        yield os.path.join(directory, name)
        directory = None if directory == "/" else os.path.dirname(directory)


def _read(path: str) -> str:
    """A settings file's text; nothing for what is no file, a pipe that would never end included."""
    if not os.path.isfile(path):
        return ""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(SETTINGS_LIMIT)
    except OSError:
        return ""


def _listed(directory: str) -> list[str]:
    try:
        return sorted(os.listdir(directory))
    except OSError:
        return []


def _newest_first(versions: list[str], prefix: str) -> list[str]:
    def numbers(version: str) -> list[int]:
        return [int(number) for number in re.findall(r"\d+", version)]

    return sorted((v for v in versions if v.startswith(prefix)), key=numbers, reverse=True)
