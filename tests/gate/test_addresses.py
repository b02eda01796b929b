"""An allowed name does not lead to this machine, its neighbours or a cloud's metadata."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_jail.gate.addresses import Kind, classify, refused

CLOSED = [
    "0.0.0.0",
    "0.1.2.3",
    "127.0.0.1",
    "127.255.255.254",
    "169.254.1.1",
    "169.254.169.254",
    "169.254.170.2",
    "100.100.100.200",
    "168.63.129.16",
    "192.0.0.192",
    "192.88.99.1",
    "224.0.0.251",
    "239.255.255.250",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::7f00:1",
    "::ffff:127.0.0.1",
    "::ffff:169.254.169.254",
    "::ffff:93.184.216.34",
    "::ffff:10.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b::a00:1",
    "64:ff9b:1::1",
    "2002:7f00:1::",
    "2002:a9fe:a9fe::1",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "2001:10::1",
    "100::1",
    "4000::1",
    "fd00:ec2::254",
    "fd20:ce::254",
    "fd00:42::42",
    "fe80::1",
    "fe80::1%eth0",
    "2606:4700::1%1",
    "fec0::1",
    "ff02::fb",
]
PRIVATE = [
    *("10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1", "198.18.0.1"),
    *("192.0.2.1", "198.51.100.7", "203.0.113.9", "fd12:3456::1", "fc00::1", "2001:db8::1"),
]
PUBLIC = [
    *("93.184.216.34", "1.1.1.1", "172.32.0.1", "100.128.0.1", "9.255.255.255", "223.255.255.255"),
    *("2606:4700:4700::1111", "2001:4860:4860::8888", "64:ff9b::5db8:d822", "2a00::1"),
]


@pytest.mark.parametrize("private", [True, False])
@pytest.mark.parametrize("address", CLOSED)
def test_no_setting_opens_what_only_a_literal_rule_may(address: str, private: bool) -> None:
    assert refused(address, private=private, is_own=False)


@pytest.mark.parametrize("address", PRIVATE)
def test_a_private_address_is_a_matter_of_the_policy(address: str) -> None:
    assert refused(address, private=False, is_own=False)
    assert refused(address, private=True, is_own=False) is None


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_may_be_dialled(address: str) -> None:
    assert refused(address, private=False, is_own=False) is None


@pytest.mark.parametrize("address", [*CLOSED, *PRIVATE, *PUBLIC])
def test_an_address_of_this_machine_is_refused_whatever_it_is(address: str) -> None:
    assert refused(address, private=True, is_own=True)


@pytest.mark.parametrize("text", ["", "localhost", "127.1", "0x7f000001", "2130706433", "1.2.3.4x"])
def test_what_is_no_address_is_refused(text: str) -> None:
    assert refused(text, private=True, is_own=False)


def test_a_refusal_says_what_the_address_is() -> None:
    why = refused("169.254.169.254", private=True, is_own=False)
    assert why == "169.254.169.254 is a cloud's metadata service"
    assert "this machine" in str(refused("93.184.216.34", private=True, is_own=True))


@given(st.integers(0, 2**32 - 1).map(IPv4Address) | st.integers(0, 2**128 - 1).map(IPv6Address))
def test_what_is_public_to_us_is_global_to_the_standard_library(
    address: IPv4Address | IPv6Address,
) -> None:
    if classify(address)[0] is Kind.PUBLIC:
        assert address.is_global
        assert not address.is_multicast


@given(st.integers(0, 2**32 - 1))
def test_an_address_inside_another_is_never_more_open_than_itself(number: int) -> None:
    inner = IPv4Address(number)
    nat64 = ip_address(f"64:ff9b::{number >> 16:x}:{number & 0xFFFF:x}")
    assert (classify(nat64)[0] is Kind.PUBLIC) == (classify(inner)[0] is Kind.PUBLIC)
    for outer in (f"::ffff:{inner}", f"2002:{number >> 16:x}:{number & 0xFFFF:x}::"):
        assert classify(ip_address(outer))[0] is Kind.CLOSED
