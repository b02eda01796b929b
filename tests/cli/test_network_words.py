"""What a policy lets a server reach, in words."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from mcp_jail.cli.network_words import network_facts, network_words
from mcp_jail.core.policy import Policy
from mcp_jail.gate.allow import compile_network


def words(**network: Any) -> str:
    policy = msgspec.convert({"name": "x", "network": network}, Policy)
    return network_words(policy, compile_network(policy.network))


def test_no_network_is_said_to_be_watched() -> None:
    assert words().startswith("none: ")
    assert "written down" in words()


def test_the_hosts_own_network_is_said_aloud() -> None:
    assert words(mode="host").startswith("THE HOST'S OWN")


@pytest.mark.parametrize(
    ("entry", "check"),
    [
        ("api.example.com", "TLS, for that name"),
        ("api.example.com:80", "HTTP, its first request for that name"),
        ("db.example.com:5432", "anything that is said there"),
        ({"host": "api.example.com", "tls": "any"}, "anything that is said there"),
    ],
)
def test_each_host_is_named_with_what_is_held_there(entry: Any, check: str) -> None:
    name = entry if isinstance(entry, str) else entry["host"]
    assert f"{name} ({check})" in words(mode="allowlist", allow=[entry])


def test_private_addresses_are_told_of_unless_they_are_open() -> None:
    assert "private" in words(mode="allowlist", allow=["a.example"])
    assert "refused" not in words(mode="allowlist", allow=["a.example"], private="allow")


@pytest.mark.parametrize("proxy", [None, "http://proxy.example:3128"])
def test_that_names_may_lead_into_your_network_is_said_aloud(proxy: str | None) -> None:
    wide, narrow = (
        words(mode="allowlist", allow=["a.example"], private=private, upstream_proxy=proxy)
        for private in ("allow", "deny")
    )
    assert "PRIVATE ADDRESSES TOO (network.private: allow)" in wide
    assert "PRIVATE ADDRESSES" not in narrow
    policy = msgspec.convert({"name": "x", "network": {"private": "allow"}}, Policy)
    assert network_facts(policy)["private"] == "allow"


def test_a_name_that_is_held_on_every_port_is_said_to_be() -> None:
    allow = ["db.example.com:5432", {"host": "b.example.com:25", "tls": "any"}]
    said = words(mode="allowlist", allow=allow, tls="verify-name")
    assert "db.example.com:5432 (TLS, for that name)" in said
    assert "b.example.com:25 (anything that is said there)" in said


def test_a_list_without_hosts_opens_nothing() -> None:
    assert words(mode="allowlist").endswith("nothing")
