"""What a policy opens: the same hosts as in arguments, with ports and what is checked on them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_jail.core.policy import HostEntry, Network, NetworkMode, Tls, Verdict
from mcp_jail.core.rules.hosts import compile_hosts, host_allowed
from mcp_jail.gate.allow import PORTS_LIMIT, Allow, Check, compile_network


def allowing(*entries: str | HostEntry, tls: Tls | None = None) -> Allow:
    return compile_network(Network(mode=NetworkMode.ALLOWLIST, allow=entries, tls=tls))


ALLOW = allowing("api.example.com", "*.files.example", "db.example:5432", "10.0.0.5:5432", "[::1]")


@pytest.mark.parametrize("network", [Network(), Network(mode=NetworkMode.ALLOWLIST)])
def test_an_empty_list_opens_nothing(network: Network) -> None:
    allow = compile_network(network)
    assert not allow.names("api.example.com")
    assert allow.opening("api.example.com", 443) is None
    assert allow.openings == {}


@pytest.mark.parametrize("mode", [NetworkMode.NONE, NetworkMode.HOST])
def test_a_list_without_its_mode_opens_nothing(mode: NetworkMode) -> None:
    allow = compile_network(Network(mode=mode, allow=("api.example.com",)))
    assert allow.opening("api.example.com", 443) is None
    assert allow.ports == ()


@pytest.mark.parametrize(
    ("host", "port", "rule"),
    [
        ("api.example.com", 443, "api.example.com"),
        ("API.example.com.", 443, "api.example.com"),
        ("a.files.example", 443, "*.files.example"),
        ("a.b.files.example", 443, "*.files.example"),
        ("db.example", 5432, "db.example:5432"),
        ("10.0.0.5", 5432, "10.0.0.5:5432"),
        ("::1", 443, "[::1]"),
        ("0:0:0:0:0:0:0:1", 443, "[::1]"),
    ],
)
def test_a_rule_opens_what_it_names(host: str, port: int, rule: str) -> None:
    opening = ALLOW.opening(host, port)
    assert opening is not None
    assert opening.rule == rule


@pytest.mark.parametrize(
    ("host", "port"),
    [
        ("api.example.com", 80),
        ("api.example.com", 9999),
        ("files.example", 443),
        ("xfiles.example", 443),
        ("api.example.com.evil.example", 443),
        ("evil-api.example.com", 443),
        ("db.example", 443),
        ("10.0.0.5", 443),
        ("10.0.0.6", 5432),
        ("::ffff:10.0.0.5", 5432),
        ("::2", 443),
        ("::1%1", 443),
        ("a\0.files.example", 443),
        ("a%00.files.example", 443),
        ("a#.files.example", 443),
        ("a@x.files.example", 443),
        ("a..files.example", 443),
        ("a" * 250 + ".files.example", 443),
        ("", 443),
    ],
)
def test_nothing_else_is_opened(host: str, port: int) -> None:
    assert ALLOW.opening(host, port) is None


def test_names_are_known_on_any_port_and_addresses_are_no_names() -> None:
    names = ["api.example.com", "x.files.example", "db.example"]
    assert all(ALLOW.names(name) for name in names)
    others = ["example.com", "files.example", "10.0.0.5", "::1", "1.files.0x7f", "", "_x.files"]
    assert not any(ALLOW.names(name) for name in others)


def test_an_address_that_a_rule_writes_down_is_vouched_for_on_its_port() -> None:
    assert ALLOW.is_literal("10.0.0.5", 5432)
    assert ALLOW.is_literal("::1", 443)
    assert not ALLOW.is_literal("10.0.0.5", 443)
    assert not ALLOW.is_literal("::ffff:10.0.0.5", 5432)
    assert not ALLOW.is_literal("api.example.com.", 80)


@pytest.mark.parametrize(
    ("entry", "port", "written", "check"),
    [
        ("a.example", 443, None, Check.TLS),
        ("a.example:80", 80, None, Check.HTTP),
        ("a.example:5432", 5432, None, Check.NONE),
        ("*.example:8443", 8443, Tls.VERIFY_NAME, Check.TLS),
        (HostEntry(host="a.example:5432", tls=Tls.ANY), 5432, Tls.VERIFY_NAME, Check.NONE),
        ("a.example", 443, Tls.VERIFY_NAME, Check.TLS),
        ("a.example:80", 80, Tls.VERIFY_NAME, Check.HTTP),
        ("a.example:5432", 5432, Tls.VERIFY_NAME, Check.TLS),
        ("a.example", 443, Tls.ANY, Check.NONE),
        ("a.example:80", 80, Tls.ANY, Check.NONE),
        (HostEntry(host="a.example:8443"), 8443, Tls.ANY, Check.TLS),
        (HostEntry(host="a.example:80"), 80, Tls.VERIFY_NAME, Check.HTTP),
        (HostEntry(host="a.example", tls=Tls.ANY), 443, Tls.VERIFY_NAME, Check.NONE),
    ],
)
def test_what_is_checked_follows_from_the_port_and_the_entry(
    entry: str | HostEntry, port: int, written: Tls | None, check: Check
) -> None:
    opening = allowing(entry, tls=written).opening("a.example", port)
    assert opening is not None
    assert opening.check is check


@pytest.mark.parametrize("turned", [False, True])
def test_of_two_entries_for_one_host_the_stricter_holds(turned: bool) -> None:
    entries = ("a.example", HostEntry(host="A.example:443", tls=Tls.ANY))
    opening = allowing(*(reversed(entries) if turned else entries)).opening("a.example", 443)
    assert opening is not None
    assert opening.check is Check.TLS


def test_the_ports_are_those_of_the_rules_and_of_the_web() -> None:
    assert ALLOW.ports == (80, 443, 5432)


def test_what_the_gate_cannot_keep_is_refused() -> None:
    with pytest.raises(ValueError, match="port 53"):
        allowing("dns.example:53")
    for address in ("198.18.0.1", "198.19.255.255:80"):
        with pytest.raises(ValueError, match="stands for names"):
            allowing(address)
    assert allowing("198.18.example", "198.20.0.1", "198.17.0.1").openings
    with pytest.raises(ValueError, match="different ports"):
        allowing(*(f"a.example:{port}" for port in range(1000, 1000 + PORTS_LIMIT)))
    with pytest.raises(ValueError, match="not a host name"):
        allowing("a b")


@pytest.mark.parametrize(("private", "opens"), [("allow", True), ("ask", False), ("deny", False)])
def test_private_addresses_are_opened_by_allow_alone(private: str, opens: bool) -> None:
    network = Network(mode=NetworkMode.ALLOWLIST, private=Verdict(private))
    assert compile_network(network).private is opens


hosts = st.lists(st.sampled_from(["a", "b", "example", "10", "0", "*"]), min_size=1, max_size=4)
rules = st.builds(lambda parts, port: ".".join(parts) + port, hosts, st.sampled_from(["", ":80"]))


@given(st.lists(rules, max_size=5), hosts, st.sampled_from([80, 443]))
def test_an_argument_and_a_connection_are_judged_alike(
    texts: list[str], parts: list[str], port: int
) -> None:
    try:
        allow = allowing(*texts)
    except ValueError:
        return
    host = ".".join(parts)
    allowed = host_allowed(host, port, compile_hosts(texts))
    assert (allow.opening(host, port) is not None) == allowed


def test_localhost_is_the_loopback_addresses_written_down() -> None:
    allow = allowing("localhost:5432")
    assert allow.opening("127.0.0.1", 5432) == allow.opening("::1", 5432)
    assert allow.is_literal("127.0.0.1", 5432)
    assert allow.opening("127.0.0.1", 5433) is None
    assert allow.opening("127.0.0.2", 5432) is None
    assert allowing("*.localhost:5432").opening("127.0.0.1", 5432) is None
