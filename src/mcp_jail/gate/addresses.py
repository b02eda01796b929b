"""Where a name may lead: the address it resolved to, judged before it is dialled. Pure.

An allowed name is not a reason to reach this machine, its neighbours or a cloud's metadata service:
whoever owns the name chooses what it resolves to (DNS rebinding). Ranges are those of the IANA
special-purpose registries (RFC 6890 and its updates); beside global unicast everything is refused.
"""

from __future__ import annotations

from enum import Enum
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final

from mcp_jail.gate.allow import LOCALHOST

Address = IPv4Address | IPv6Address


class Kind(Enum):
    """What may be dialled: anything PUBLIC, PRIVATE by network.private, the rest by literal."""

    PUBLIC = 0
    PRIVATE = 1
    CLOSED = 2


def refused(text: str, *, private: bool, is_own: bool) -> str | None:
    """Why a resolved address is not dialled, in words; None where it may be.

    `private` is network.private, `is_own` the kernel's word that the address is this machine's. A
    rule that writes down the very address goes before all this, and is not asked here.
    """
    try:
        address = ip_address(text)
    except ValueError:
        return f"'{text[:64]}' is no address"
    kind, what = classify(address)
    if kind is Kind.PRIVATE and private and not is_own:
        return None
    if kind is Kind.PUBLIC and not is_own:
        return None
    return f"{text} is {what if kind is not Kind.PUBLIC else 'an address of this machine'}"


def is_near(host: str) -> bool:
    """Whether a host is an address that no proxy is asked for: of this machine or its network.

    Only a rule that writes it down leads there.
    """
    try:
        return classify(ip_address(host))[0] is not Kind.PUBLIC
    except ValueError:
        return host == LOCALHOST


def classify(address: Address) -> tuple[Kind, str]:
    """What an address is, and in words; the narrowest range that holds it decides."""
    if isinstance(address, IPv6Address) and address in _NAT64:
        # A network without IPv4 hands these out for every name; what counts is what is inside.
        kind, what = classify(IPv4Address(address.packed[12:]))
        return (kind, what) if kind is Kind.PUBLIC else (Kind.CLOSED, f"{what}, in a NAT64 address")
    if isinstance(address, IPv6Address) and address.scope_id is not None:
        return Kind.CLOSED, "link-local"
    for network, kind, what in _RANGES:
        if address in network:
            return kind, what
    return Kind.PUBLIC, "public"


_NAT64: Final = ip_network("64:ff9b::/96")

# Services that hand out credentials or settings to whoever asks, by cloud: AWS, GCP, Azure and most
# others on 169.254.169.254, which is link-local.
_METADATA: Final = (
    "169.254.169.254/32",
    "169.254.170.2/32",  # AWS ECS
    "169.254.170.23/32",  # AWS EKS
    "fd00:ec2::/32",  # AWS, over IPv6
    "fd20:ce::/32",  # GCP, over IPv6
    "fd00:42::/32",  # Scaleway, over IPv6
    "fd00:c1::/32",  # Oracle, over IPv6
    "100.100.100.200/32",  # Alibaba
    "168.63.129.16/32",  # Azure, a public address
    "192.0.0.192/32",  # Oracle
)

_RANGES_AS_WRITTEN: Final = (
    *((network, Kind.CLOSED, "a cloud's metadata service") for network in _METADATA),
    ("0.0.0.0/8", Kind.CLOSED, "unspecified"),
    ("127.0.0.0/8", Kind.CLOSED, "loopback"),
    ("169.254.0.0/16", Kind.CLOSED, "link-local"),
    ("192.0.0.0/24", Kind.CLOSED, "kept for protocols"),
    ("192.88.99.0/24", Kind.CLOSED, "a 6to4 relay"),
    ("224.0.0.0/4", Kind.CLOSED, "multicast"),
    ("240.0.0.0/4", Kind.CLOSED, "reserved"),
    ("10.0.0.0/8", Kind.PRIVATE, "private"),
    ("172.16.0.0/12", Kind.PRIVATE, "private"),
    ("192.168.0.0/16", Kind.PRIVATE, "private"),
    # Overlay networks (Tailscale) live here, and are as private as the ones above.
    ("100.64.0.0/10", Kind.PRIVATE, "shared by a provider's customers"),
    # Proxies that answer every name with an address of their own (Clash) live here.
    ("198.18.0.0/15", Kind.PRIVATE, "for benchmarks"),
    ("192.0.2.0/24", Kind.PRIVATE, "for documentation"),
    ("198.51.100.0/24", Kind.PRIVATE, "for documentation"),
    ("203.0.113.0/24", Kind.PRIVATE, "for documentation"),
    ("2001:db8::/32", Kind.PRIVATE, "for documentation"),
    ("3fff::/20", Kind.PRIVATE, "for documentation"),
    ("fc00::/7", Kind.PRIVATE, "private"),
    ("::1/128", Kind.CLOSED, "loopback"),
    ("::/128", Kind.CLOSED, "unspecified"),
    ("::ffff:0:0/96", Kind.CLOSED, "an IPv4 address in IPv6"),
    ("::/96", Kind.CLOSED, "an IPv4 address in IPv6"),
    ("64:ff9b:1::/48", Kind.CLOSED, "a NAT64 address"),
    ("2002::/16", Kind.CLOSED, "a 6to4 address"),
    ("2001::/32", Kind.CLOSED, "a Teredo address"),
    ("2001::/23", Kind.CLOSED, "kept for protocols"),
    ("fe80::/10", Kind.CLOSED, "link-local"),
    ("fec0::/10", Kind.CLOSED, "site-local"),
    ("ff00::/8", Kind.CLOSED, "multicast"),
    ("2000::/3", Kind.PUBLIC, "public"),
    ("::/0", Kind.CLOSED, "not in public use"),
)

# Narrowest first, within each family.
_RANGES: Final = tuple(
    sorted(
        ((ip_network(text), kind, what) for text, kind, what in _RANGES_AS_WRITTEN),
        key=lambda entry: -entry[0].prefixlen,
    )
)
