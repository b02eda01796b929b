"""Somebody on the machine with a registry, who installs and runs one server."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from driver import Home
from net.publishing import NAME, THIEF, Release, publish

if TYPE_CHECKING:
    from net.conftest import Machine

HOST: Final = "files.example.com"
COMMAND: Final = ("npx", "-y", NAME)


class User:
    """Somebody with a registry, who installs and runs one server."""

    def __init__(self, machine: Machine, home: Home, registry: str) -> None:
        self.machine = machine
        self.home = home
        self.folder = machine.folder / registry
        self.url = f"https://{HOST}/{registry}"
        self.packages = home.path / ".local/share/mcp-jail/packages"
        self.policy()

    def policy(self, more: str = "", command: tuple[str, ...] = COMMAND) -> None:
        """A policy for the server as clients name it."""
        words = json.dumps(list(command))
        self.home.write_policy(f"server: {{command: {words}}}\ntools: {{default: allow}}\n{more}")

    def publish(self, tags: Mapping[str, str] | None = None, **releases: Release) -> None:
        """Put versions into the registry: `v1_0_0=Release()`, `v2_0_0_b1` for 2.0.0-b1."""
        named = {_version(name): each for name, each in releases.items()}
        publish(self.folder, self.url, named, tags=tags)

    def words(self, *arguments: str) -> tuple[list[str], dict[str, str]]:
        """A command of ours on the machine, and its environment."""
        env = self.home.environ(**self.machine.trusting)
        return self.machine.words(*arguments), env

    def does(
        self, *arguments: str, cwd: Path | None = None, **env: str
    ) -> subprocess.CompletedProcess[str]:
        """Do something on the machine."""
        words, own = self.words(*arguments)
        given = {"npm_config_registry": f"{self.url}/"} | own | env
        given = {name: value for name, value in given.items() if value}
        cwd = cwd or self.home.path
        return subprocess.run(
            words, env=given, cwd=cwd, text=True, capture_output=True, check=False
        )

    def install(self, **env: str) -> dict[str, Any]:
        """Install, and what is told of it."""
        done = self.does("install", "fs", "--json", cwd=None, **env)
        assert done.returncode == 0, done.stderr
        facts: dict[str, Any] = json.loads(done.stdout)
        return facts

    def tree(self, version: str = "1.0.0") -> Path:
        """What the server sees of a version."""
        return self.packages / "npm" / f"{NAME}@{version}" / "tree"

    def own(self, file: str, version: str = "1.0.0") -> Path:
        """A file of the package itself."""
        return self.tree(version) / "node_modules" / NAME / file

    @property
    def mark(self) -> str:
        """A path that only this user's thief asks for."""
        return f"stolen-{self.folder.name}"

    def asked(self) -> list[str]:
        """The requests that got to any web server for this registry or with this home's secrets."""
        lines = self.machine.log("requests").splitlines()
        return [line for line in lines if f"/{self.folder.name}/" in line]


def _version(name: str) -> str:
    parts = name[1:].split("_")
    return "-".join([".".join(parts[:3]), *parts[3:]])


def thief(user: User) -> str:
    return THIEF.replace("OUTSIDE", json.dumps(str(user.home.path))).replace("MARK", user.mark)


def plant_secrets(user: User) -> None:
    """What a thief is after: a token of the registry, beside the key that every home here has."""
    registry = user.url[user.url.index("//") :]
    text = f"registry={user.url}/\n{registry}/:_authToken=TOKEN-CANARY\n"
    (user.home.path / ".npmrc").write_text(text)


def told_to_evil(user: User) -> list[str]:
    lines = user.machine.log("requests").splitlines()
    return [line for line in lines if user.mark in line]


def drafts(user: User) -> list[Path]:
    return [*user.packages.glob(".draft-*"), *user.packages.glob(".gone-*")]
