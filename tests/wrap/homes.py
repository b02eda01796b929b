"""A throw-away home with files of clients, and the commands' own plans carried out in it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from mcp_jail.clients.applying import apply_notes, apply_unwrap, apply_wrap
from mcp_jail.clients.planning import Circumstances, plan_wrap
from mcp_jail.clients.plans import FilePlan, Group, Outcome
from mcp_jail.clients.policy_names import Names
from mcp_jail.clients.targets import Ground, Target, named
from mcp_jail.clients.unplanning import plan_unwrap
from mcp_jail.store.places import Places, find_places
from mcp_jail.store.state_key import keep_key, key_to_plan_with
from wrap.sampled import PROGRAM, SAMPLES

CURSOR = ".cursor/mcp.json"


class ClientHome(NamedTuple):
    """A home; nothing of the one who runs the tests is read."""

    path: Path

    @property
    def environ(self) -> dict[str, str]:
        return {"HOME": str(self.path), "PATH": os.defpath}

    @property
    def places(self) -> Places:
        return find_places(self.environ)

    def write(self, name: str, content: str | bytes, mode: int = 0o600) -> Path:
        """A file of a client."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        path.chmod(mode)
        return path

    def sample(self, sample: str, name: str) -> Path:
        """A sample in its client's place."""
        return self.write(name, (SAMPLES / sample).read_bytes())

    def circumstances(self, *only: str, root: str = "/nowhere") -> Circumstances:
        ground = Ground(str(self.path), str(self.path), self.environ)
        key = key_to_plan_with(self.places)
        return Circumstances(self.places, ground, PROGRAM, frozenset(only), root, key)

    def target(self, path: Path, client: str | None = None) -> Target:
        return named(self.circumstances().ground, str(path), client)

    def plan(
        self, path: Path, *only: str, client: str | None = None, root: str = "/nowhere"
    ) -> FilePlan:
        """What `wrap` would do to a file."""
        given = self.circumstances(*only, root=root)
        return plan_wrap(given, self.target(path, client), Names(self.places, str(self.path)))

    def wrap(
        self, path: Path, *only: str, client: str | None = None, is_all: bool = False
    ) -> FilePlan:
        """`wrap` of a file, or of this one among all."""
        given = self.circumstances(*only)
        names = Names(self.places, str(self.path))
        plan = plan_wrap(given, self.target(path, client), names)
        if plan.changes:
            keep_key(self.places, given.key)
        apply_wrap(self.places, plan)
        apply_notes(self.places, plan, given.key, is_all=is_all)
        return plan

    def unwrap(self, path: Path, *only: str, client: str | None = None) -> FilePlan:
        """`unwrap` of a file."""
        plan = plan_unwrap(self.circumstances(*only), self.target(path, client))
        apply_unwrap(self.places, plan)
        return plan


def made(tmp_path: Path) -> ClientHome:
    """An empty home."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    return ClientHome(home)


def of(plan: FilePlan, group: Group) -> dict[str, Outcome]:
    """The outcomes of a group by the names of their servers."""
    return {each.server: each for each in plan.outcomes if each.group is group}
