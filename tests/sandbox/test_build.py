"""The whole way from a spec to a plan keeps what we are made of."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mcp_jail.core.spec import JailSpec
from mcp_jail.errors import ShareError, UsageError
from mcp_jail.sandbox.build import build
from mcp_jail.sandbox.probe import Host
from sandbox.conftest import Planner


def test_a_command_is_started_where_it_was_found(host: Host) -> None:
    spec = JailSpec(name="t", command=("sh", "-c", "x"), cwd=None, shares=(), env={})
    plan = build(spec, host=host, environ={"PATH": "/usr/bin"})
    assert plan.command == ("/usr/bin/sh", "-c", "x")


def test_the_policys_path_finds_the_command(host: Host) -> None:
    spec = JailSpec(name="t", command=("sh",), cwd=None, shares=(), env={"PATH": "/nothing"})
    with pytest.raises(UsageError, match="not found"):
        build(spec, host=host, environ={"PATH": "/usr/bin"})


def test_the_python_we_run_on_cannot_be_written(make: Planner) -> None:
    place = Path(sys.prefix) / "lib"
    with pytest.raises(ShareError, match="cannot be"):
        make(write=(place,))
