"""Which Python indexes and logins count, and what a jailed uv is given."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_jail.errors import PackageError
from mcp_jail.packages.indexes import FILES, INDEX, python_source
from mcp_jail.packages.registries import Source, reach

HOSTS = tuple(sorted(reach(url, "PyPI") for url in (INDEX, FILES)))


def source(home: Path, **environ: str) -> Source:
    return python_source(environ, str(home), with_logins=True)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_without_settings_it_is_pypi(tmp_path: Path) -> None:
    found = source(tmp_path)
    assert found.hosts == HOSTS
    assert found.env == {"UV_DEFAULT_INDEX": INDEX}


def test_uvs_variables_go_before_its_file(tmp_path: Path) -> None:
    write(tmp_path / ".config/uv/uv.toml", 'index-url = "https://a.example/simple"\n')
    assert source(tmp_path).env["UV_DEFAULT_INDEX"] == "https://a.example/simple"
    for name in ("UV_DEFAULT_INDEX", "UV_INDEX_URL"):
        found = source(tmp_path, **{name: "https://b.example/simple"})
        assert found.env["UV_DEFAULT_INDEX"] == "https://b.example/simple"


def test_named_indexes_of_uv_are_hosts_too(tmp_path: Path) -> None:
    text = """
        [[index]]
        name = "corp"
        url = "https://corp.example/simple"
        [[index]]
        url = "https://main.example/simple"
        default = true
    """
    write(tmp_path / ".config/uv/uv.toml", text)
    found = source(tmp_path, UV_INDEX="x=https://x.example/simple https://y.example/simple")
    assert found.env["UV_DEFAULT_INDEX"] == "https://main.example/simple"
    assert found.env["UV_INDEX"].split() == [
        "https://x.example/simple",
        "https://y.example/simple",
        "https://corp.example/simple",
    ]
    assert {each.host for each in found.hosts} >= {"x.example", "corp.example", "main.example"}


@pytest.mark.parametrize("place", [".pip/pip.conf", ".config/pip/pip.conf"])
def test_pips_settings_stand_in_where_uv_has_none(place: str, tmp_path: Path) -> None:
    text = "[global]\nindex-url = https://p.example/simple\n"
    text += "extra-index-url = https://q.example/simple file:///srv/simple\n"
    write(tmp_path / place, text)
    found = source(tmp_path)
    assert found.env == {
        "UV_DEFAULT_INDEX": "https://p.example/simple",
        "UV_INDEX": "https://q.example/simple",
    }
    found = source(tmp_path, UV_DEFAULT_INDEX="https://u.example/simple")
    assert found.env == {"UV_DEFAULT_INDEX": "https://u.example/simple"}
    found = source(tmp_path, PIP_INDEX_URL="https://v.example/simple")
    assert found.env["UV_DEFAULT_INDEX"] == "https://v.example/simple"


def test_logins_are_found_and_left_out_where_they_must_be(tmp_path: Path) -> None:
    write(tmp_path / ".netrc", "machine n.example login me password s/ecret\n")
    url = "https://n.example/simple"
    assert source(tmp_path, UV_DEFAULT_INDEX=url).env["UV_DEFAULT_INDEX"] == (
        "https://me:s%2Fecret@n.example/simple"
    )
    for given in (url, "https://you:SECRET@n.example/simple"):
        found = python_source({"UV_DEFAULT_INDEX": given}, str(tmp_path), with_logins=False)
        assert found.env["UV_DEFAULT_INDEX"] == url
        assert found.urls == (url,)


def test_settings_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    write(tmp_path / ".config/uv/uv.toml", "index-url =\n")
    with pytest.raises(PackageError, match="uv's settings"):
        source(tmp_path)
    write(tmp_path / ".config/uv/uv.toml", "")
    write(tmp_path / ".config/pip/pip.conf", "index-url = x\n")
    with pytest.raises(PackageError, match="pip's settings"):
        source(tmp_path)
