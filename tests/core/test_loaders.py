"""Which variables decide what code runs."""

from __future__ import annotations

from mcp_jail.core.loaders import is_loader_variable


def test_variables_that_load_code_are_known() -> None:
    for name in ("LD_PRELOAD", "PYTHONPATH", "NODE_OPTIONS", "DYLD_INSERT_LIBRARIES", "BASH_ENV"):
        assert is_loader_variable(name)


def test_other_variables_are_left_alone() -> None:
    for name in ("PATH", "PYTHONUNBUFFERED", "NODE_ENV", "GITHUB_TOKEN", "PYTHON"[:4]):
        assert not is_loader_variable(name)
