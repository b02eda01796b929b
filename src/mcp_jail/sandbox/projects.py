"""How much a directory holds: one project, or too much to be shared without being named."""

from __future__ import annotations

import os
from typing import Final

from mcp_jail.sandbox.protected import lies_in, too_much

SHALLOWEST: Final = 2  # slashes in the shortest path that is shared unnamed: /opt/node, not /opt

# Below a home: drawers of many things, never one tool's or one project's.
BROAD: Final = (
    "", ".local", ".local/share", ".cargo", ".config", ".cache", ".var", "go", ".go", "Documents",
    "Desktop", "Downloads", "Music", "Pictures", "Videos", "Public", "Templates", "Library",
    "projects", "Projects", "src", "code", "Code", "work", "dev", "Developer", "repos", "git",
    "workspace", "workspaces", "tmp", "bin", "Dropbox", "OneDrive", "Nextcloud",
)  # fmt: skip
PROJECT_SIGNS: Final = (
    "package.json", "pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "go.mod",
    "Cargo.toml", "deno.json", "deno.jsonc", "composer.json", "Gemfile", "pom.xml",
    "build.gradle", "mix.exs", ".git",
)  # fmt: skip


class Breadth:
    """The judgement for these homes."""

    def __init__(self, homes: tuple[str, ...]) -> None:
        self._homes = homes
        drawers = (os.path.join(home, name) for home in homes for name in BROAD)
        self._drawers = frozenset(map(os.path.normpath, drawers))

    def narrow(self, directory: str) -> bool:
        """Whether a directory is small enough to be shared without being named."""
        return not any(
            self.holds_a_home(place) or place.count("/") < SHALLOWEST or place in self._drawers
            for place in (directory, os.path.realpath(directory))
        )

    def holds_a_home(self, place: str) -> bool:
        """Whether a directory is, or holds, what is never shared as a whole."""
        return too_much(place) is not None or any(lies_in(home, place) for home in self._homes)

    def project(self, place: str) -> str | None:
        """The nearest directory around a place that has the sign of a project, if it is narrow."""
        directory = place if os.path.isdir(place) else os.path.dirname(place)
        while self.narrow(directory):
            if any(os.path.lexists(os.path.join(directory, sign)) for sign in PROJECT_SIGNS):
                return directory
            directory = os.path.dirname(directory)
        return None
