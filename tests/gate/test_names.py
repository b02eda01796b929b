"""Each name has an address of its own for a whole run; no address leads to two names."""

from __future__ import annotations

from ipaddress import ip_address, ip_network

import pytest

from mcp_jail.gate.names import NAMES_LIMIT, Names


def test_a_name_keeps_its_address_and_an_address_its_name() -> None:
    names = Names()
    first, second = names.address_of("a.example"), names.address_of("b.example")
    assert first == names.address_of("a.example") == "198.18.0.1"
    assert second is not None
    assert names.name_of("198.18.0.1") == "a.example"
    assert names.name_of(second) == "b.example"


def test_as_many_names_as_fit_all_differ_and_then_no_more_are_given() -> None:
    names = Names()
    given = [names.address_of(f"n{number}.example") for number in range(NAMES_LIMIT)]
    addresses = {address for address in given if address is not None}
    assert len(addresses) == NAMES_LIMIT > 10_000
    assert all(ip_address(a) in ip_network("198.18.0.0/15") for a in addresses)
    assert names.address_of("one.too.many") is None
    assert names.address_of("n0.example") == "198.18.0.1"
    assert all(names.name_of(a) == f"n{i}.example" for i, a in enumerate(given) if a is not None)


@pytest.mark.parametrize(
    "address",
    [
        *("198.18.0.0", "198.18.0.2", "198.17.255.255", "0.0.0.1", "198.18.0.257", "198.18.256.1"),
        *("198.18.0.01", "198.18.1", "::1", "", "a.b.c.d", "198.18.0.1.0", "454.18.0.1"),
    ],
)
def test_an_address_that_was_not_given_out_has_no_name(address: str) -> None:
    names = Names()
    names.address_of("a.example")
    assert names.name_of(address) is None
