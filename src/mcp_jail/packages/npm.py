"""npm's packages: asked for, fetched and unpacked by npm in a jail, without install scripts.

Where a policy allows scripts they run afterwards, in a second jail without a network and without
the registry's tokens: by then everything is there.
"""

from __future__ import annotations

import os
import stat
from typing import Any, Final

import msgspec

from mcp_jail.core.packages import PackageKind, Pinned, is_version
from mcp_jail.errors import PackageError
from mcp_jail.packages.installing import Fetched, Jails, Phase, Ran, Step, Tell
from mcp_jail.packages.registries import Source

MODULES: Final = "node_modules"
MANIFEST_LIMIT: Final = 4 << 20  # bytes of a package.json or npm's own list of a whole tree

# Nothing of npm's that asks somebody else, waits for an answer, or writes for people.
_QUIET: Final = {
    "npm_config_update_notifier": "false",
    "npm_config_audit": "false",
    "npm_config_fund": "false",
    "npm_config_progress": "false",
    "npm_config_loglevel": "error",
    "npm_config_yes": "false",
    "npm_config_fetch_retries": "1",
}
_NO_SCRIPTS: Final = {"npm_config_ignore_scripts": "true"}


class Npm(msgspec.Struct, frozen=True):
    """A maker of npm's packages."""

    jails: Jails
    source: Source

    def newest(self, name: str, spec: str) -> str:
        """The version that a spec means now: the newest of a range, what a tag says, or latest."""
        wanted = f"{name}@{spec or 'latest'}"
        env = _QUIET | _NO_SCRIPTS | self.source.env
        words = (self._npm(), "view", "--json", "--", wanted, "version")
        ran = self.jails.run(
            Step(command=words, env=env, files=self.source.files, hosts=self.source.hosts)
        )
        version = _last(ran.out) if ran.code == 0 else None
        if version is None or not is_version(PackageKind.NPM, version):
            raise failed(f"npm '{wanted}' is not found", ran, self.source)
        return version

    def make(self, package: Pinned, folder: str, place: str, tell: Tell) -> Fetched:
        """Have npm make the tree of a package and all it needs."""
        tell(Phase.FETCHING)
        manifest = {"private": True, "dependencies": {package.name: package.version}}
        with open(os.path.join(folder, "package.json"), "xb") as file:
            file.write(msgspec.json.encode(manifest))
        words = (self._npm(), "install", "--omit=dev", "--install-strategy=hoisted")
        fetch = Step(
            command=words,
            env=_QUIET | _NO_SCRIPTS | self.source.env,
            files=self.source.files,
            folder=folder,
            place=place,
            hosts=self.source.hosts,
        )
        ran = self.jails.run(fetch)
        if ran.code != 0:
            raise failed(f"{package} could not be fetched", ran, self.source)
        if package.scripts:
            self._run_scripts(package, folder, place, tell)
        return _fetched(package, folder)

    def _run_scripts(self, package: Pinned, folder: str, place: str, tell: Tell) -> None:
        tell(Phase.SCRIPTS)
        words = (self._npm(), "rebuild", "--foreground-scripts", "--ignore-scripts=false")
        env = _QUIET
        ran = self.jails.run(Step(command=words, env=env, folder=folder, place=place))
        if ran.code != 0:
            hint = "install scripts have no network; what they would fetch cannot be pinned"
            raise failed(f"an install script of {package} failed", ran, self.source, hint=hint)

    def _npm(self) -> str:
        found = self.jails.find("npm")
        if found is None:
            raise PackageError("npm is not installed here", hint="install Node.js, which brings it")
        return found


# Lines of a program's error stream that an error repeats.
SAID: Final = 8


def failed(message: str, ran: Ran, source: Source, *, hint: str = "") -> PackageError:
    """The error of a step that did not do what it was to do, with what the program said."""
    if ran.refused:
        asked = ", ".join(ascii(host) for host in ran.refused)
        own = ", ".join(reach.host for reach in source.hosts)
        hint = hint or f"it asked for {asked}, and may only reach the user's registries: {own}"
    error = PackageError(message, hint=hint or "what the program said:")
    error.said = tuple(ran.errors.splitlines()[-SAID:])
    return error


def _last(out: bytes) -> str | None:
    """The version that `npm view --json` prints: a text, or a list with the newest last."""
    try:
        said = msgspec.json.decode(out)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    if isinstance(said, list) and said:
        said = said[-1]
    return said if isinstance(said, str) else None


def _fetched(package: Pinned, folder: str) -> Fetched:
    own = os.path.join(MODULES, package.name)
    manifest = read_json(folder, os.path.join(own, "package.json"))
    version = manifest.get("version")
    if version != package.version:
        raise PackageError(f"npm fetched version {version!r} of {package}")
    programs = _programs(package.name, manifest.get("bin"))
    found = {name: os.path.normpath(os.path.join(own, path)) for name, path in programs.items()}
    inside = {n: p for n, p in found.items() if p.startswith(own + "/") and _is_file(folder, p)}
    if not inside:
        raise PackageError(f"{package} brings no program that could be started")
    listed = read_json(folder, os.path.join(MODULES, ".package-lock.json")).get("packages", {})
    entry = listed.get(f"{MODULES}/{package.name}", {}) if isinstance(listed, dict) else {}
    integrity = entry.get("integrity") if isinstance(entry, dict) else None
    return Fetched(programs=inside, integrity=integrity if isinstance(integrity, str) else "")


def _programs(name: str, said: Any) -> dict[str, str]:
    """A package.json's `bin`: one path, or paths by name."""
    if isinstance(said, str):
        return {name.rpartition("/")[2]: said}
    if not isinstance(said, dict):
        return {}
    return {key: path for key, path in said.items() if isinstance(path, str) and "/" not in key}


def read_json(folder: str, path: str) -> dict[str, Any]:
    """A mapping in a file of a tree that a stranger made; PackageError where there is none."""
    try:
        if not _is_file(folder, path):
            raise PackageError(f"the package has no file '{path}'")
        with open(os.path.join(folder, path), "rb") as file:
            found = msgspec.json.decode(file.read(MANIFEST_LIMIT))
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
