"""What npm made of a package: its programs, and that all of it came from a registry.

The tree is a stranger's: nothing in it is followed or believed beyond what it says of itself.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from mcp_jail.core.packages import PackageKind, Pinned, is_name
from mcp_jail.errors import PackageError
from mcp_jail.packages.installing import Fetched
from mcp_jail.packages.registries import Source

MODULES: Final = "node_modules"
MANIFEST_LIMIT: Final = 4 << 20  # bytes of a package.json
LISTED_LIMIT: Final = 64 << 20  # of npm's own list of a whole tree; 1,000 packages take 0.5 MB

# Where npm finds what a package needs.
_NEEDS: Final = ("dependencies", "optionalDependencies", "peerDependencies")


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """Where a tree came from, as npm has just written it down."""

    integrity: str  # what the registry says of the package itself
    registries: dict[str, tuple[str, ...]]


def origin_of(package: Pinned, folder: str, source: Source) -> Origin:
    """Where a tree came from; PackageError for one that is not from registries alone.

    To be asked before any script of a package runs, which could write anything here.
    """
    listed = _listed(folder)
    elsewhere = next(_from_elsewhere(listed), None)
    if elsewhere is not None:
        name, spec = elsewhere
        raise PackageError(
            f"{package} needs {name!a} from elsewhere than a registry: {spec!a}",
            hint="only what a registry of yours has by name is installed",
        )
    integrity = str(listed.get(f"{MODULES}/{package.name}", {}).get("integrity"))
    return Origin(
        integrity=integrity if _INTEGRITY.fullmatch(integrity) else "",
        registries=_registries(listed, source),
    )


# Subresource Integrity, as registries have it.
_INTEGRITY: Final = re.compile(r"sha[0-9]{1,3}-[A-Za-z0-9+/]{20,100}={0,2}")


def fetched(package: Pinned, folder: str, origin: Origin) -> Fetched:
    """The tree of a package; PackageError for one of another version or without a program."""
    own = os.path.join(MODULES, package.name)
    manifest = _read_json(folder, os.path.join(own, "package.json"), limit=MANIFEST_LIMIT)
    version = manifest.get("version")
    if version != package.version:
        raise PackageError(f"npm fetched version {version!r} of {package}")
    programs = _programs(package.name, manifest.get("bin"))
    found = {name: os.path.normpath(os.path.join(own, path)) for name, path in programs.items()}
    inside = {n: p for n, p in found.items() if p.startswith(own + "/") and _is_file(folder, p)}
    if not inside:
        raise PackageError(f"{package} brings no program that could be started")
    return Fetched(programs=inside, integrity=origin.integrity, registries=origin.registries)


def _listed(folder: str) -> dict[str, dict[str, Any]]:
    """Npm's list of what it put where: entries by their path."""
    path = os.path.join(MODULES, ".package-lock.json")
    listed = _read_json(folder, path, limit=LISTED_LIMIT).get("packages")
    if not isinstance(listed, dict):
        raise PackageError(f"npm's list '{path}' names no packages")
    return {path: entry for path, entry in listed.items() if isinstance(entry, dict)}


def _registries(
    listed: Mapping[str, Mapping[str, Any]], source: Source
) -> dict[str, tuple[str, ...]]:
    """What came from where: npm asks the registry of a package's scope, else the one for all."""
    found: dict[str, set[str]] = {}
    for path, entry in listed.items():
        if not entry.get("inBundle"):
            name = str(entry.get("name") or path.rpartition(f"{MODULES}/")[2])
            url = source.scopes.get(name.partition("/")[0], source.urls[0])
            found.setdefault(url, set()).add(
                name if is_name(PackageKind.NPM, name) else ascii(name)
            )
    return {url: tuple(sorted(names)) for url, names in found.items()}


def _from_elsewhere(listed: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """What is in a tree because somebody asked for a repository, an address or a directory."""
    for path, entry in listed.items():
        for key in _NEEDS:
            needs = entry.get(key)
            for name, spec in needs.items() if isinstance(needs, dict) else ():
                found = _seen_from(listed, path, name)
                is_fetched = found is not None and not found.get("inBundle")
                if is_fetched and not _is_of_a_registry(str(spec)):
                    yield name, str(spec)


def _seen_from(
    listed: Mapping[str, Mapping[str, Any]], path: str, name: str
) -> Mapping[str, Any] | None:
    """What a package at this path gets by a name: its own, or one of those above it."""
    while path:
        found = listed.get(f"{path}/{MODULES}/{name}")
        if found is not None:
            return found
        path = path.rpartition(f"/{MODULES}/")[0]
    return listed.get(f"{MODULES}/{name}")


def _is_of_a_registry(spec: str) -> bool:
    """Whether it is a version, a range, a tag or another name (npm-package-arg)."""
    if spec.startswith("npm:"):
        return True
    return not any(sign in spec for sign in "/:\\") and not spec.startswith(("~/", "."))


def _programs(name: str, said: Any) -> dict[str, str]:
    """A package.json's `bin`: one path, or paths by name."""
    if isinstance(said, str):
        return {name.rpartition("/")[2]: said}
    if not isinstance(said, dict):
        return {}
    return {key: path for key, path in said.items() if isinstance(path, str) and "/" not in key}


def _read_json(folder: str, path: str, *, limit: int) -> dict[str, Any]:
    """A mapping in a file of a tree that a stranger made; PackageError where there is none."""
    try:
        if not _is_file(folder, path):
            raise PackageError(f"the package has no file '{path}'")
        with open(os.path.join(folder, path), "rb") as file:
            found = msgspec.json.decode(file.read(limit))
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise PackageError(f"'{path}' of the package cannot be read: {error}") from None
    if not isinstance(found, dict):
        raise PackageError(f"'{path}' of the package is no object")
    return found


def _is_file(folder: str, path: str) -> bool:
    """Whether a plain file lies there, without any link on the way to it."""
    place = folder
    *above, _ = parts = path.split("/")
    for number, part in enumerate(parts):
        place = os.path.join(place, part)
        try:
            mode = os.lstat(place).st_mode
        except OSError:
            return False
        if not (stat.S_ISDIR(mode) if number < len(above) else stat.S_ISREG(mode)):
            return False
    return True
