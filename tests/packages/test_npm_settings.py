"""Which registries and logins of npm count, and what a jailed npm is given."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_jail.errors import PackageError
from mcp_jail.packages.npm_settings import REGISTRY, npm_source
from mcp_jail.packages.npmrc import read_npmrc
from mcp_jail.packages.registries import Reach, Source, reach

PUBLIC = reach(REGISTRY, "npm's registry")


def source(home: Path, text: str = "", **environ: str) -> Source:
    (home / ".npmrc").write_text(text)
    return npm_source(environ, str(home), nowhere)


def nowhere(_program: str) -> None:
    """The machine's own settings are no part of these tests."""


def test_without_settings_it_is_npms_own_registry(tmp_path: Path) -> None:
    found = npm_source({}, str(tmp_path), nowhere)
    assert found.urls == (REGISTRY,)
    assert found.hosts == (PUBLIC,)


def test_the_environment_goes_before_the_users_file(tmp_path: Path) -> None:
    text = "registry=https://a.example/npm/\n"
    assert source(tmp_path, text).hosts == (Reach("a.example"),)
    for name in ("npm_config_registry", "NPM_CONFIG_REGISTRY"):
        assert source(tmp_path, text, **{name: "http://b.example:4873/"}).hosts == (
            Reach("b.example:4873", is_tls=False),
        )


def test_registries_of_scopes_are_hosts_too(tmp_path: Path) -> None:
    found = source(tmp_path, "@mine:registry=https://npm.mine.example:8443/x/\n")
    assert found.hosts == (Reach("npm.mine.example:8443"), PUBLIC)
    assert b'@mine:registry="https://npm.mine.example:8443/x/"' in found.files[".npmrc"]


def test_logins_of_the_registries_are_kept_and_no_others(tmp_path: Path) -> None:
    text = """
        registry = https://a.example/npm/
        //a.example/npm/:_authToken=${MINE}
        //other.example/:_authToken=OTHER
        //public.example/:_authToken=PUBLISH
        _auth=OLD
        email = me@example.com
        script-shell=/tmp/evil
        node-options=--import=/tmp/evil.mjs
        ; a comment
        # another
    """
    given = source(tmp_path, text, MINE="TOKEN").files[".npmrc"].decode()
    assert read_npmrc(given, {}) == {
        "registry": "https://a.example/npm/",
        "//a.example/npm/:_authToken": "TOKEN",
    }


def test_only_certificates_of_a_file_are_handed_over(tmp_path: Path) -> None:
    certificate = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
    key = "-----BEGIN PRIVATE KEY-----\nSECRET\n-----END PRIVATE KEY-----\n"
    (tmp_path / "ca.pem").write_text(key + certificate + key)
    found = source(tmp_path, f"cafile={tmp_path}/ca.pem\n")
    (given,) = (text for name, text in found.files.items() if name.endswith(".pem"))
    assert given.decode().strip() == certificate.strip()


def test_certificates_that_are_missing_are_told(tmp_path: Path) -> None:
    with pytest.raises(PackageError, match="cannot be read"):
        source(tmp_path, "cafile=/nowhere.pem\n")


@pytest.mark.parametrize("url", ["file:///srv/npm", "a.example", "ssh://a.example/", "https://"])
def test_a_registry_that_no_network_reaches_is_told(url: str, tmp_path: Path) -> None:
    with pytest.raises(PackageError, match="npm's registry"):
        source(tmp_path, f"registry={url}\n")


def test_a_login_in_a_url_is_not_shown(tmp_path: Path) -> None:
    with pytest.raises(PackageError) as error:
        source(tmp_path, "registry=ftp://me:SECRET@a.example/\n")
    assert "SECRET" not in error.value.message
