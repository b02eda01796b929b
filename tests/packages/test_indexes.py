"""Which Python indexes and logins count, and what a jailed uv is given."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_jail.errors import PackageError
from mcp_jail.packages.indexes import FILES, INDEX, python_source
from mcp_jail.packages.registries import Source, reach

HOSTS = tuple(sorted(reach(url, "PyPI") for url in (INDEX, FILES)))


def source(home: Path, **environ: str) -> Source:
    return python_source({"XDG_CONFIG_DIRS": "/nowhere"} | environ, str(home), with_logins=True)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_without_settings_it_is_pypi(tmp_path: Path) -> None:
    found = source(tmp_path)
    assert found.hosts == HOSTS
    assert found.env == {"UV_DEFAULT_INDEX": INDEX}


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
    write(tmp_path / ".config/pip/pip.conf", "index-url = x\n")
    with pytest.raises(PackageError, match="pip's settings"):
        source(tmp_path)


def test_an_index_by_name_has_the_login_that_variables_have_for_it(tmp_path: Path) -> None:
    login = {"UV_INDEX_MY_CORP_USERNAME": "me", "UV_INDEX_MY_CORP_PASSWORD": "s/ecret"}
    found = source(tmp_path, UV_INDEX="my-corp=https://n.example/simple", **login)
    assert found.env["UV_INDEX"] == "https://me:s%2Fecret@n.example/simple"
    assert found.urls == (INDEX, "https://n.example/simple")


def test_what_chooses_among_versions_is_handed_over(tmp_path: Path) -> None:
    write(tmp_path / ".config/uv/uv.toml", 'index-strategy = "unsafe-best-match"\n')
    assert source(tmp_path).env["UV_INDEX_STRATEGY"] == "unsafe-best-match"
    assert source(tmp_path, UV_EXCLUDE_NEWER="2026-01-01").env["UV_EXCLUDE_NEWER"] == "2026-01-01"
