"""What people install: the wheel holds all of the package and starts from where it is put."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Final

import pytest

import mcp_jail

ROOT: Final = Path(__file__).resolve().parent.parent
BUILD: Final = "import sys, flit_core.buildapi as b; print(b.build_wheel(sys.argv[1]))"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    done = subprocess.run(
        [sys.executable, "-c", BUILD, str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return folder / done.stdout.strip()


def test_the_wheel_holds_every_file_of_the_package(wheel: Path) -> None:
    held = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("mcp_jail/")}
    ours = {
        path.relative_to(ROOT / "src").as_posix()
        for path in (ROOT / "src" / "mcp_jail").rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    assert held == ours


def test_the_wheel_names_the_command_and_the_version(wheel: Path) -> None:
    stem = f"mcp_jail-{mcp_jail.__version__}"
    assert wheel.name == f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        points = archive.read(f"{stem}.dist-info/entry_points.txt").decode()
    assert "mcp-jail=mcp_jail.cli:main" in points.replace(" ", "")


def test_the_package_is_imported_from_the_wheel_alone(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "import mcp_jail; print(mcp_jail.__file__, mcp_jail.__version__)"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True
    )
    place = tmp_path / "mcp_jail" / "__init__.py"
    assert done.stdout.split() == [str(place), mcp_jail.__version__]
