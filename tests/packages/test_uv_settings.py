"""Which indexes uv takes for a user, by what uv itself prints of its settings."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from mcp_jail.errors import PackageError
from mcp_jail.packages.uv_settings import UvSettings, uv_settings

UV = Path(sys.executable).parent / "uv"
NOT_THE_MACHINE = {"XDG_CONFIG_DIRS": "/nowhere"}
DEFAULT = 'index-url = "https://default.example/simple"\n'


def ours(home: Path, **environ: str) -> UvSettings:
    return uv_settings(NOT_THE_MACHINE | environ, str(home))


def urls(settings: UvSettings) -> tuple[str, ...]:
    return tuple(each.url for each in settings.others)


def uvx_says(home: Path, **environ: str) -> list[str]:
    """The hosts of the indexes that uvx finds in its settings, in its order."""
    words = [str(UV), "tool", "run", "--show-settings", "nothing"]
    env = {"HOME": str(home), "PATH": os.environ["PATH"]} | NOT_THE_MACHINE | environ
    said = subprocess.check_output(words, env=env, cwd=home, text=True)
    return list(dict.fromkeys(re.findall(r'given: Some\(\s*"https://([a-z]+)\.example', said)))


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_variables_go_before_the_file(tmp_path: Path) -> None:
    write(tmp_path / ".config/uv/uv.toml", DEFAULT)
    for environ in (
        {},
        {"UV_DEFAULT_INDEX": "https://b.example/simple"},
        {"UV_INDEX_URL": "https://b.example/simple"},
        {"UV_DEFAULT_INDEX": "named=https://b.example/simple"},
    ):
        found = ours(tmp_path, **environ).default
        assert found is not None
        assert found.url == f"https://{'b' if environ else 'default'}.example/simple"


def test_indexes_of_variables_and_files_are_all_asked(tmp_path: Path) -> None:
    text = """
        [[index]]
        name = "corp"
        url = "https://corp.example/simple"
        [[index]]
        url = "https://main.example/simple"
        default = true
    """
    write(tmp_path / ".config/uv/uv.toml", text)
    found = ours(tmp_path, UV_INDEX="x=https://x.example/simple https://y.example/simple")
    assert found.default is not None
    assert found.default.url == "https://main.example/simple"
    assert urls(found) == (
        "https://x.example/simple",
        "https://y.example/simple",
        "https://corp.example/simple",
    )


def test_an_index_for_projects_that_name_it_is_not_asked(tmp_path: Path) -> None:
    text = (
        DEFAULT
        + """
        [[index]]
        name = "corp"
        url = "https://corp.example/simple"
        explicit = true
    """
    )
    write(tmp_path / ".config/uv/uv.toml", text)
    assert urls(ours(tmp_path)) == ()


def test_the_first_of_two_indexes_of_a_name_counts(tmp_path: Path) -> None:
    text = '[[index]]\nname = "corp"\nurl = "https://{}.example/simple"\n'
    write(tmp_path / ".config/uv/uv.toml", text.format("mine"))
    write(tmp_path / "xdg/uv/uv.toml", text.format("machines"))
    found = ours(tmp_path, XDG_CONFIG_DIRS=str(tmp_path / "xdg"))
    assert urls(found) == ("https://mine.example/simple",)


def test_settings_lie_where_uv_looks_for_them(tmp_path: Path) -> None:
    for name, place in {
        "own": ".config/uv/uv.toml",
        "xdg": "xdg/uv/uv.toml",
        "machine": "etc/xdg/uv/uv.toml",
        "named": "mine.toml",
    }.items():
        write(tmp_path / place, f'index-url = "https://{name}.example/simple"\n')
    ways: dict[str, dict[str, str]] = {
        "own": {},
        "xdg": {"XDG_CONFIG_HOME": str(tmp_path / "xdg")},
        "machine": {
            "XDG_CONFIG_HOME": str(tmp_path / "none"),
            "XDG_CONFIG_DIRS": f"/nowhere:{tmp_path}/etc/xdg",
        },
        "named": {"UV_CONFIG_FILE": str(tmp_path / "mine.toml")},
    }
    for name, environ in ways.items():
        found = ours(tmp_path, **environ).default
        assert found is not None, name
        assert found.url == f"https://{name}.example/simple"
        assert uvx_says(tmp_path, **environ) == [name]
    assert ours(tmp_path, UV_NO_CONFIG="1").default is None


@pytest.mark.parametrize(
    "text",
    [
        'find-links = ["/srv/wheels"]\n',
        "no-index = true\n",
        '[[index]]\nname = "flat"\nurl = "https://f.example/"\nformat = "flat"\n',
    ],
)
def test_what_names_packages_that_no_index_lists_is_refused(text: str, tmp_path: Path) -> None:
    write(tmp_path / ".config/uv/uv.toml", text)
    with pytest.raises(PackageError, match="no index lists") as error:
        ours(tmp_path)
    assert "UV_NO_CONFIG=1" in error.value.hint
    assert ours(tmp_path, UV_NO_CONFIG="1").others == ()


@pytest.mark.parametrize("name", ["UV_FIND_LINKS", "UV_NO_INDEX"])
def test_a_variable_that_does_is_refused_too(name: str, tmp_path: Path) -> None:
    with pytest.raises(PackageError, match=name):
        ours(tmp_path, **{name: "1"})
    assert ours(tmp_path, **{name: ""}).default is None


def test_settings_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    write(tmp_path / ".config/uv/uv.toml", "index-url =\n")
    with pytest.raises(PackageError, match="uv's settings"):
        ours(tmp_path)
    with pytest.raises(PackageError, match="UV_CONFIG_FILE"):
        ours(tmp_path, UV_CONFIG_FILE=str(tmp_path / "missing"))
