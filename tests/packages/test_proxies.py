"""Which proxy a registry is reached by."""

from __future__ import annotations

import pytest

from mcp_jail.errors import PackageError
from mcp_jail.packages.proxies import proxy_for
from mcp_jail.packages.registries import Proxy, Reach

HOSTS = (Reach("a.example"), Reach("npm.b.example:8443"))
PROXY = "http://me:SECRET@proxy.example:3128"


@pytest.mark.parametrize(
    ("environ", "settings"),
    [
        ({"https_proxy": PROXY}, {}),
        ({"HTTPS_PROXY": PROXY}, {}),
        ({"ALL_PROXY": PROXY}, {}),
        ({"https_proxy": "http://other:1"}, {"https-proxy": PROXY}),
        ({}, {"proxy": PROXY, "https-proxy": "null"}),
    ],
)
def test_a_setting_or_a_variable_names_it(
    environ: dict[str, str], settings: dict[str, str]
) -> None:
    assert proxy_for(HOSTS, environ, settings) == Proxy(PROXY)


def test_a_registry_without_tls_has_its_own() -> None:
    environ = {"https_proxy": PROXY, "http_proxy": "http://plain.example:80"}
    assert proxy_for([Reach("a.example:80", is_tls=False)], environ, {}) == Proxy(
        "http://plain.example:80"
    )


@pytest.mark.parametrize(
    ("text", "meant"),
    [("p.example:3128", "http://p.example:3128"), ("http://p.example/", "http://p.example:80")],
)
def test_short_spellings_are_read(text: str, meant: str) -> None:
    assert proxy_for(HOSTS, {"https_proxy": text}, {}) == Proxy(meant)


@pytest.mark.parametrize(
    ("excepted", "direct"),
    [
        ("b.example", ("npm.b.example",)),
        (".b.example, other", ("npm.b.example",)),
        ("*.b.example:8443", ("npm.b.example",)),
        ("le,x.a.example", ()),
        ("example", None),
        ("*", None),
    ],
)
def test_hosts_may_be_excepted(excepted: str, direct: tuple[str, ...] | None) -> None:
    found = proxy_for(HOSTS, {"https_proxy": PROXY, "NO_PROXY": excepted}, {})
    assert found == (None if direct is None else Proxy(PROXY, direct))


def test_none_is_none() -> None:
    assert proxy_for(HOSTS, {"http_proxy": PROXY}, {}) is None


@pytest.mark.parametrize("text", ["socks5://me:SECRET@p:1", "https://me:SECRET@p:1", "http://"])
def test_one_that_cannot_be_spoken_to_is_told_without_its_password(text: str) -> None:
    with pytest.raises(PackageError, match="the proxy of https_proxy") as error:
        proxy_for(HOSTS, {"https_proxy": text}, {})
    assert "SECRET" not in error.value.message + error.value.hint
