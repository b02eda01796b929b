"""A home of a test's own, and plans built on it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
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


# Forks and namespaces are tried in a process of their own: the one that runs the tests has threads.
PREAMBLE = """
import json, os, signal, sys, time
from mcp_jail.core.spec import Access, JailSpec, Share
from mcp_jail.errors import JailBuildError
from mcp_jail.sandbox import keeper, launch
from mcp_jail.sandbox.build import build
from mcp_jail.sandbox.probe import probe

HOME = sys.argv[1]

def plan(*command, env=None, **shares):
    given = [Share(path=p, access=Access.READ_ONLY, why="t") for p in shares.get("read", ())]
    given += [Share(path=p, access=Access.READ_WRITE, why="t") for p in shares.get("write", ())]
    spec = JailSpec(name="t", command=command, cwd=None, shares=tuple(given), env=env or {})
    return build(spec, host=probe({"HOME": HOME}))

def output(fd):
    text = b""
    while more := os.read(fd, 65536):
        text += more
    return text.decode()

def tell(value):
    print(json.dumps(value), flush=True)
"""


@pytest.fixture
def run_code(home: Path) -> Callable[..., Any]:
    """Run lines after the preamble; what they `tell`."""

    def run(code: str, *arguments: str, timeout: int = 60) -> Any:
        source = Path(__file__).parent.parent.parent / "src"
        paths = [str(source), *(p for p in sys.path if p.endswith("site-packages"))]
        done = subprocess.run(
            [sys.executable, "-c", PREAMBLE + textwrap.dedent(code), str(home), *arguments],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run
