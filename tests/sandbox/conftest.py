"""A home of a test's own, and plans built on it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcp_jail.core.spec import Access, JailSpec, Plan, Share
from mcp_jail.sandbox.build import build
from mcp_jail.sandbox.probe import Host, probe
from mcp_jail.sandbox.protected import Ours

Planner = Callable[..., Plan]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    place = tmp_path / "home"
    place.mkdir()
    return place


@pytest.fixture
def host(home: Path) -> Host:
    return probe({"HOME": str(home)})


@pytest.fixture
def make(host: Host) -> Planner:
    """Build a plan from paths to read, paths to write and paths of ours."""

    def planned(
        *,
        read: tuple[Path | str, ...] = (),
        write: tuple[Path | str, ...] = (),
        ours: tuple[Ours, ...] = (),
        command: tuple[str, ...] = ("/bin/sh",),
        **more: Any,
    ) -> Plan:
        shares = [Share(path=str(p), access=Access.READ_ONLY, why="read_only") for p in read]
        shares += [Share(path=str(p), access=Access.READ_WRITE, why="read_write") for p in write]
        fields = {"cwd": None, "env": {}, **more}
        spec = JailSpec(name="test", command=command, shares=tuple(shares), **fields)
        return build(spec, ours, host=host)

    return planned
