"""Which URLs and hosts a rule covers; what is refused because parsers differ."""

from __future__ import annotations

import pytest

from mcp_jail.core.rules.hosts import (
    HostRule,
    allowing_rule,
    canonical_host,
    compile_hosts,
    host_allowed,
    host_of_argument,
    is_address,
    is_near,
    read_rule,
)

RULES = compile_hosts(
    ["api.github.com", "*.githubusercontent.com", "db.internal:5432", "127.0.0.1:5432", "[::1]:80"]
)


def allowed(argument: str) -> bool:
    place = host_of_argument(argument)
    return place is not None and host_allowed(*place, RULES)


@pytest.mark.parametrize(
    "argument",
    [
        "https://good.com@evil.com",
        "https://api.github.com@evil.com/",
        "https://api.github.com:443@evil.com/",
        "https://api.github.com.evil.com/",
        "https://evil.com#api.github.com",
        "https://evil.com?api.github.com",
        "https://evil.com/api.github.com",
        "https://api.github.com#@evil.com/",
        "https://api.github.com?@evil.com/",
        "https://api.github.com\\@evil.com",
        "https:\\\\api.github.com",
        "https://api.github.com\t.evil.com",
        "https://api.github.com\n.evil.com",
        " https://api.github.com",
        "https://api.github.com/ x",
        "https://api.github.com\x00.evil.com",
        "https:///api.github.com",
        "https:api.github.com",
        "//api.github.com",
        "data:text/html,api.github.com",
        "javascript:api.github.com",
        "ftp://api.github.com",
        "file://api.github.com/",
        "https://api.github.com../",
        "https://api..github.com",
        "https://.api.github.com",
        "https://api.github.com%2eevil.com",
        "https://\uff41pi.github.com",
        "https://api\u3002github.com",
        "https://api.g\u0456thub.com",
        "https://evilapi.github.com",
        "https://githubusercontent.com",
        "https://xgithubusercontent.com",
        "https://-.githubusercontent.com",
        "https://a_b.githubusercontent.com",
        "api.github.com/path",
        "api.github.com:80",
        "api.github.com:0",
        "api.github.com:65979",
        "api.github.com:443x",
        "api.github.com:",
        "api.github.com:0443",
        "http://api.github.com",
        "https://api.github.com:8443",
        "https://api.github.com\ud800",
        "",
        "https://",
        "*.githubusercontent.com",
        "https://*.githubusercontent.com",
        "https://" + "a." * 130 + "githubusercontent.com",
        "https://api.github.com/" + "x" * 9000,
    ],
)
def test_a_url_that_leads_elsewhere_or_may_is_refused(argument: str) -> None:
    assert not allowed(argument)


@pytest.mark.parametrize(
    "argument",
    [
        "127.1:5432",
        "0x7f000001:5432",
        "0x7f.1:5432",
        "2130706433:5432",
        "0177.0.0.1:5432",
        "127.0.0.01:5432",
        "127.0.0.1.:5432x",
        "[::ffff:127.0.0.1]:5432",
        "[::ffff:7f00:1]:5432",
        "[::1%eth0]:80",
        "::1:80",
        "[2002:7f00:1::]:5432",
        "127.0.0.256:5432",
        "1.127.0.0.1:5432",
        "localhost:5432",
        "\u066127.0.0.1:5432",
    ],
)
def test_an_address_in_disguise_is_refused(argument: str) -> None:
    assert not allowed(argument)


@pytest.mark.parametrize(
    "argument",
    [
        "https://api.github.com",
        "https://api.github.com/repos?q=a@b#c",
        "HTTPS://API.GitHub.com/",
        "https://api.github.com:443/x",
        "wss://api.github.com",
        "https://api.github.com./x",
        "api.github.com",
        "api.github.com:443",
        "http://api.github.com:443/",
        "https://raw.githubusercontent.com/a",
        "a.b.githubusercontent.com",
        "https://xn--bcher-kva.githubusercontent.com",
        "db.internal:5432",
        "127.0.0.1:5432",
        "http://[::1]/",
        "http://[0:0:0:0:0:0:0:1]:80",
    ],
)
def test_a_url_or_host_that_a_rule_names_is_allowed(argument: str) -> None:
    assert allowed(argument)


def test_a_wildcard_never_covers_addresses() -> None:
    rules = compile_hosts(["*.0.0.1.example"])
    assert not host_allowed("127.0.0.1", 443, rules)
    with pytest.raises(ValueError, match="not an address"):
        compile_hosts(["*.10.0.0.1"])


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("https://api.github.com", "not a URL"),
        ("api.github.com/x", "not a URL"),
        ("me@host", "not a URL"),
        ("api.*.com", "first labels"),
        ("*", "first labels"),
        ("*.*.com", "first labels"),
        ("127.1", "four decimal numbers"),
        ("010.0.0.1", "four decimal numbers"),
        ("b\u00fccher.de", "A-labels: 'xn--bcher-kva.de'"),
        ("*.b\u00fccher.de:8443", "A-labels: 'xn--bcher-kva.de'"),
        ("stra\u00dfe.de", "as its owner does"),
        ("::1", "brackets"),
        ("host:99999", "1 to 65535"),
        ("host:https", "1 to 65535"),
        ("", "not a host name"),
        ("a b", "not a host name"),
        ("[::ffff:1.2.3.4]", "not a host name"),
    ],
)
def test_a_rule_that_cannot_be_read_says_why(rule: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        compile_hosts([rule])


def test_a_rule_without_a_port_means_443() -> None:
    rules = compile_hosts(["example.com"])
    assert host_allowed("example.com", 443, rules)
    assert not host_allowed("example.com", 80, rules)


def test_the_matcher_takes_a_name_as_the_resolver_hands_it() -> None:
    assert host_allowed("API.GITHUB.COM.", 443, RULES)
    assert not host_allowed("api.github.com..", 443, RULES)
    assert not host_allowed("", 443, RULES)


def test_an_international_name_in_an_argument_does_not_hold_though_its_a_labels_are_allowed() -> (
    None
):
    rules = compile_hosts(["xn--mnchen-3ya.example"])
    for text in ("m\u00fcnchen.example", "https://m\u00fcnchen.example/", "//m\u00fcnchen.example"):
        assert host_of_argument(text) is None
        assert not host_allowed("m\u00fcnchen.example", 443, rules)
    assert host_of_argument("https://XN--MNCHEN-3ya.example") in rules.exact


def test_a_host_has_one_form() -> None:
    assert canonical_host("Example.COM.") == "example.com"
    assert canonical_host("[2001:DB8::0:1]") == "2001:db8::1"
    assert canonical_host("a" * 64 + ".com") is None
    assert canonical_host("-a.com") is None


def test_the_rule_that_allows_is_the_nearest_one() -> None:
    texts = ["*.example.com", "*.b.example.com", "a.b.example.com", "*.example.com:80"]
    rules = compile_hosts(texts)
    assert allowing_rule("a.b.example.com", 443, rules) == read_rule("a.b.example.com")
    assert allowing_rule("x.y.b.example.com", 443, rules) == read_rule("*.b.example.com")
    assert allowing_rule("b.example.com", 443, rules) == HostRule("example.com", 443, below=True)
    assert allowing_rule("b.example.com", 80, rules) == read_rule("*.example.com:80")
    assert allowing_rule("example.com", 443, rules) is None


def test_an_address_is_told_from_a_name() -> None:
    assert [is_address(host) for host in ("127.0.0.1", "::1", "10.example", "a.0x7f")] == [
        True,
        True,
        False,
        True,
    ]


@pytest.mark.parametrize(
    "host",
    "localhost a.localhost printer.local metadata.google.internal nas.lan router.home.arpa wiki "
    "a.corp 10.0.0.1.nip.io x.lvh.me a.onion fritz.box nas.fritz.box redis.default.svc "
    "api.kube-system.svc.cluster.local db.service.consul speedport.ip laptop.tail1.ts.net "
    "a.alt x.mail router.asus.com 10-0-0-1.abc.plex.direct svc".split(),
)
def test_names_of_this_machine_and_its_network_are_known(host: str) -> None:
    assert is_near(host)


@pytest.mark.parametrize(
    "host",
    "example.com local.example notlocal.example mylan.example nip.io.example "
    "box.example a.box notfritz.box mysvc.example asus.com ip.example gmail.com".split(),
)
def test_public_names_are_not_taken_for_near_ones(host: str) -> None:
    assert not is_near(host)
