"""Version managers put a small program under a tool's name; this finds the tool behind it.

By reading their files, never by running them: what the manager's program does with a project's
settings is code outside the jail. Where the files do not say which version, the manager's whole
tree is shared and the shim decides inside.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import Final

import msgspec

from mcp_jail.core.spec import Value

SETTINGS_LIMIT: Final = 64 * 1024  # bytes of a manager's settings file


class Shim(Value, frozen=True):
    """What stands behind a shim: the program, or the manager's tree where it cannot be told."""

    manager: str
    program: str | None
    root: str | None


def behind_shim(place: str, *, cwd: str, homes: tuple[str, ...]) -> Shim | None:
    """The tool behind a shim, None for a program that is none."""
    directory, name = os.path.split(place)
    root, kind = os.path.split(directory)
    if kind == "shims" and os.path.isdir(os.path.join(root, "versions")):
        return _shim("pyenv", root, _pyenv(root, name, cwd))
    if kind == "shims" and os.path.isdir(os.path.join(root, "installs")):
        target = os.path.basename(os.path.realpath(place))
        manager = "mise" if target == "mise" else "asdf"
        return _shim(manager, root, _installed(root, name, cwd, homes))
    if kind == "bin" and os.path.basename(os.path.realpath(place)) == "volta-shim":
        return _shim("volta", root, _volta(root, name))
    return None


def _shim(manager: str, root: str, program: str | None) -> Shim:
    return Shim(manager=manager, program=program, root=None if program else root)


def _pyenv(root: str, name: str, cwd: str) -> str | None:
    """pyenv(1): the nearest .python-version above the working directory, else the global one."""
    settings = [*_upwards(cwd, ".python-version"), os.path.join(root, "version")]
    for version in (word for text in map(_read, settings) for word in text.split()):
        for exact in (version, *_newest_first(_listed(f"{root}/versions"), f"{version}.")):
            program = os.path.join(root, "versions", exact, "bin", name)
            if os.path.isfile(program):
                return program
    return None


def _installed(root: str, name: str, cwd: str, homes: tuple[str, ...]) -> str | None:
    """For asdf and mise: installs/TOOL/VERSION/bin/NAME for the version the settings ask for."""
    wanted = _wanted(cwd, homes)
    installs = os.path.join(root, "installs")
    candidates: list[str] = []
    for tool in _listed(installs):
        versions = _listed(os.path.join(installs, tool))
        asked = wanted.get(tool) or wanted.get(_ALIASES.get(tool, ""))
        order = [asked, *_newest_first(versions, f"{asked}.")] if asked else []
        for version in order:
            program = os.path.join(installs, tool, version, "bin", name)
            if os.path.isfile(program):
                return program
        real = {os.path.realpath(os.path.join(installs, tool, v)) for v in versions}
        candidates += [p for v in real if os.path.isfile(p := os.path.join(v, "bin", name))]
    return candidates[0] if len(candidates) == 1 else None


_ALIASES: Final = {"nodejs": "node", "node": "nodejs", "golang": "go", "go": "golang"}


def _wanted(cwd: str, homes: tuple[str, ...]) -> dict[str, str]:
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
    node = _text_at(platform, "node", "runtime")
    places = [
        f"{images}/packages/{_text_at(_json(f'{root}/tools/user/bins/{name}.json'), 'package')}"
    ]
    if name in {"npm", "npx"}:
        places.append(f"{images}/npm/{_text_at(platform, 'node', 'npm')}")
    places.append(f"{images}/node/{node}")
    for place in places:
        program = os.path.join(place, "bin", name)
        if os.path.isfile(program):
            return program
    return None


def _json(path: str) -> object:
    try:
        return msgspec.json.decode(_read(path))
    except msgspec.DecodeError:
        return None


def _text_at(value: object, *keys: str) -> str:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, str) and "/" not in value.removeprefix("@") else "?"


def _upwards(directory: str, name: str) -> Iterable[str]:
    while True:
        yield os.path.join(directory, name)
        if directory == "/":
            return
        directory = os.path.dirname(directory)


def _read(path: str) -> str:
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
