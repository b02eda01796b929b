"""Which Python of uv's own is taken."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_jail.packages.pythons import managed_python


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for name in (
        "cpython-3.9.20-linux-x86_64-gnu",
        "cpython-3.12.7-linux-x86_64-gnu",
        "cpython-3.12.11-linux-x86_64-gnu",
        "cpython-3.13.0rc2-linux-x86_64-gnu",
        "cpython-3.14.0+freethreaded-linux-x86_64-gnu",
        "pypy-3.10.14-linux-x86_64-gnu",
    ):
        program = tmp_path / ".local/share/uv/python" / name / "bin/python"
        program.parent.mkdir(parents=True)
        for each in ("3.9", "3.12", "3.13", "3.14", "3.10"):
            program.with_name(f"python{each}").touch(mode=0o755)
    return tmp_path


@pytest.mark.parametrize(
    ("version", "taken"),
    [("", "3.12.11"), ("3", "3.12.11"), ("3.9", "3.9.20"), ("3.12.7", "3.12.7")],
)
def test_the_newest_release_of_a_version_is_taken(version: str, taken: str, home: Path) -> None:
    found = managed_python({}, str(home), version)
    assert found is not None
    assert f"/cpython-{taken}-linux-x86_64-gnu/bin/python3." in found


def test_a_version_that_is_not_there_is_none(home: Path) -> None:
    for version in ("3.1", "3.11", "3.14", "4"):
        assert managed_python({}, str(home), version) is None


def test_uv_s_own_variables_count(home: Path, tmp_path: Path) -> None:
    for given in (
        {"UV_PYTHON_PREFERENCE": "only-system"},
        {"UV_NO_MANAGED_PYTHON": "1"},
        {"XDG_DATA_HOME": str(tmp_path / "none")},
        {"UV_PYTHON_INSTALL_DIR": str(tmp_path / "none")},
    ):
        assert managed_python(given, str(home), "3") is None
    own = {"UV_PYTHON_INSTALL_DIR": str(home / ".local/share/uv/python"), "XDG_DATA_HOME": "/no"}
    assert managed_python(own, "/nowhere", "3.9") is not None
