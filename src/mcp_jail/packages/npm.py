"""npm's packages: asked for, fetched and unpacked by npm in a jail, without install scripts.

Where a policy allows scripts they run afterwards, in a second jail without a network and without
the registry's tokens: by then everything is there.
"""

from __future__ import annotations

import os
import re
from typing import Final

import msgspec

from mcp_jail.core.packages import PackageKind, Pinned, is_version
from mcp_jail.errors import PackageError
from mcp_jail.packages.failing import failed, not_had
from mcp_jail.packages.installing import Fetched, Jails, Phase, Ran, Step, Tell
from mcp_jail.packages.npm_tree import fetched, origin_of
from mcp_jail.packages.registries import Source

# Nothing of npm's that asks somebody else, waits for an answer, or writes for people.
_QUIET: Final = {
    "npm_config_update_notifier": "false",
    "npm_config_audit": "false",
    "npm_config_fund": "false",
    "npm_config_progress": "false",
    "npm_config_loglevel": "error",
    "npm_config_logs_max": "0",  # a log would be gone with the jail's HOME
    "npm_config_yes": "false",
    "npm_config_fetch_retries": "1",
    "npm_config_fetch_retry_mintimeout": "1000",  # milliseconds
}
_NO_SCRIPTS: Final = {"npm_config_ignore_scripts": "true"}
# Only what a registry has; older npm does not know these words, and cannot start git here either.
# No such word for addresses: it would refuse registries that keep archives beside their own path.
_NOTHING_ELSE: Final = {
    "npm_config_allow_git": "none",
    "npm_config_allow_file": "none",
    "npm_config_allow_directory": "none",
    "npm_config_git": "/nonexistent",
}


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
            Step(
                command=words,
                env=env,
                files=self.source.files,
                hosts=self.source.hosts,
                proxy=self.source.proxy,
                is_alone=True,
            )
        )
        version = _last(ran.out) if ran.code == 0 else None
        if version is None or not is_version(PackageKind.NPM, version):
            asked = self.source.scopes.get(name.partition("/")[0], self.source.urls[0])
            is_missing = _is_missing(ran)
            raise not_had(f"npm '{wanted}'", ran, self.source, asked, is_missing=is_missing)
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
            env=_QUIET | _NO_SCRIPTS | _NOTHING_ELSE | self.source.env,
            files=self.source.files,
            folder=folder,
            place=place,
            hosts=self.source.hosts,
            proxy=self.source.proxy,
            is_alone=True,
        )
        ran = self.jails.run(fetch)
        if ran.code != 0:
            raise failed(f"{package} could not be fetched", ran, self.source)
        origin = origin_of(package, folder, self.source)
        if package.scripts:
            self._run_scripts(package, folder, place, tell)
        return fetched(package, folder, origin)

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


def _is_missing(ran: Ran) -> bool:
    """Whether the registry answered, and has no such version."""
    return ran.code == 0 or _MISSING.search(ran.errors) is not None


_MISSING: Final = re.compile(r"code (E404|ETARGET|ENOVERSIONS)$", re.MULTILINE)


def _last(out: bytes) -> str | None:
    """The version that `npm view --json` prints: a text, or a list with the newest last."""
    try:
        said = msgspec.json.decode(out)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    if isinstance(said, list) and said:
        said = said[-1]
    return said if isinstance(said, str) else None
