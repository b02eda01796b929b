"""Which host and port a rule means, and which one an argument names: one strict grammar for both.

The gate asks the same `host_allowed` later, so that an argument and a connection cannot be judged
differently. What two URL parsers could read differently is refused, never guessed at: user names in
URLs, backslashes, white space, numbers that some resolver takes for an address (`127.1`,
`0x7f000001`, `2130706433`), IPv4 in IPv6. Names are letters, digits and hyphens (RFC 1123);
international names are given as A-labels (`xn--...`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

import msgspec

# The port of a rule and of a bare host in an argument, where none is written.
DEFAULT_PORT = 443
PORT_MAX = 65535

# RFC 1035, 2.3.4: characters of a name without its last dot, and of one label.
NAME_LIMIT = 253

# Characters of a URL argument. Longer ones are refused before they are looked at.
URL_LIMIT = 8192


class HostAndPort(NamedTuple):
    """A canonical host (lower case, no dot at the end, no brackets) and a port."""

    host: str
    port: int


class HostRule(NamedTuple):
    """One rule in its one form: this host, or with `below` every name below it and not it."""

    host: str
    port: int
    below: bool


class HostRules(msgspec.Struct, frozen=True):
    """Rules in a form whose look-up costs the same however many there are."""

    exact: frozenset[HostAndPort]
    below: frozenset[HostAndPort]  # of `*.x`, the x


def compile_hosts(rules: Iterable[str]) -> HostRules:
    """Rules of a policy as sets; raises ValueError with the reason for one that is not valid."""
    read = [read_rule(rule) for rule in rules]
    return HostRules(
        exact=frozenset(HostAndPort(r.host, r.port) for r in read if not r.below),
        below=frozenset(HostAndPort(r.host, r.port) for r in read if r.below),
    )


def read_rule(text: str) -> HostRule:
    """A rule of a policy; raises ValueError with the reason where it is not valid."""
    if "/" in text or "@" in text:
        raise ValueError("write host or host:port, not a URL")
    if text.startswith("*."):
        return HostRule(*_split(text[2:], names_only=True), below=True)
    return HostRule(*_split(text), below=False)


def host_allowed(host: str, port: int, rules: HostRules) -> bool:
    """Whether a rule names this host and port; `*.x` means names below x, never x itself."""
    return allowing_rule(host, port, rules) is not None


def allowing_rule(host: str, port: int, rules: HostRules) -> HostRule | None:
    """The rule that allows a host and port: the one that names it, else the nearest above it."""
    name = canonical_host(host)
    if name is None:
        return None
    if HostAndPort(name, port) in rules.exact:
        return HostRule(name, port, below=False)
    if is_address(name):
        return None
    labels = name.split(".")
    parents = (".".join(labels[start:]) for start in range(1, len(labels)))
    nearest = next((p for p in parents if HostAndPort(p, port) in rules.below), None)
    return None if nearest is None else HostRule(nearest, port, below=True)


def is_address(host: str) -> bool:
    """Whether a canonical host is an address and no name."""
    return ":" in host or _is_number(host)


# Names that only this machine or its network knows: special ones (RFC 6761, 6762 with its appendix
# G, 7686, 8375, 9476; ICANN's `internal`, below which clouds put their metadata, and the three it
# found in use everywhere), Kubernetes' and Consul's services, those by which makers of routers and
# of private networks have theirs called. Then public names that are there to lead to any address.
_NEAR: Final = (
    *("localhost", "localdomain", "local", "internal", "intranet", "lan", "home", "corp", "mail"),
    *("private", "test", "invalid", "onion", "arpa", "alt", "svc", "consul"),
    *("fritz.box", "speedport.ip", "easy.box", "routerlogin.net", "routerlogin.com"),
    *("tplinkwifi.net", "asusrouter.com", "router.asus.com", "ts.net"),
    *("nip.io", "sslip.io", "xip.io", "localtest.me", "lvh.me", "traefik.me", "plex.direct"),
    *("localhost.direct", "local-ip.co", "vcap.me", "lacolhost.com", "backname.io"),
)
_BELOW_NEAR: Final = tuple(f".{name}" for name in _NEAR)


def is_near(host: str) -> bool:
    """Whether a canonical name is one of this machine or its own network."""
    return "." not in host or f".{host}".endswith(_BELOW_NEAR)


def host_of_argument(text: str) -> HostAndPort | None:
    """Where a URL (http, https, ws, wss) or a bare `host[:port]` leads; None where in doubt."""
    if len(text) > URL_LIMIT or _NEVER_IN_URL.search(text):
        return None
    scheme, separator, rest = text.partition("://")
    if not separator:
        return _split_or_none(text, DEFAULT_PORT)
    default = _URL_PORTS.get(scheme.lower())
    if default is None:
        return None
    end = _AUTHORITY_END.search(rest)
    authority, tail = (rest[: end.start()], rest[end.start() :]) if end else (rest, "")
    # Parsers have differed on where the host of `good?@evil` and `good#@evil` is (CVE-2016-8624).
    if "@" in tail and not tail.startswith("/"):
        return None
    return _split_or_none(authority, default)


def canonical_host(text: str) -> str | None:
    """A host in its one form, or None where it is no host or has several readings."""
    if ":" in text or text.startswith("["):
        return _canonical_v6(text.removeprefix("[").removesuffix("]"))
    name = text.removesuffix(".").lower()
    if not name.isascii() or len(name) > NAME_LIMIT:
        return None
    if not all(_LABEL.fullmatch(label) for label in name.split(".")):
        return None
    if _is_number(name) and not _DOTTED_QUAD.fullmatch(name):
        return None
    return name


_URL_PORTS = {"http": 80, "ws": 80, "https": 443, "wss": 443}
_NEVER_IN_URL = re.compile(r"[\s\\\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_AUTHORITY_END = re.compile(r"[/?#]")
_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_PORT = re.compile(r"[1-9][0-9]{0,4}")
_OCTET = r"(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_DOTTED_QUAD = re.compile(rf"{_OCTET}(?:\.{_OCTET}){{3}}")
_BRACKETED = re.compile(r"(\[[0-9A-Fa-f:.]+\])(?::(.*))?", re.DOTALL)


def _split_or_none(text: str, default: int) -> HostAndPort | None:
    try:
        return _split(text, default)
    except ValueError:
        return None


def _split(text: str, default: int = DEFAULT_PORT, *, names_only: bool = False) -> HostAndPort:
    bracketed = _BRACKETED.fullmatch(text)
    if bracketed:
        written, port_text = bracketed[1], bracketed[2]
    else:
        written, colon, rest = text.partition(":")
        port_text = rest if colon else None
        if ":" in rest:
            raise ValueError("an IPv6 address stands in brackets: '[::1]:443'")
    host = canonical_host(written)
    if host is None:
        raise ValueError(_why_no_host(written))
    if names_only and (bracketed or _is_number(host)):
        raise ValueError("'*.' goes before a name, not an address")
    return HostAndPort(host, default if port_text is None else _port(port_text))


def _port(text: str) -> int:
    if not _PORT.fullmatch(text) or int(text) > PORT_MAX:
        raise ValueError(f"a port is a number from 1 to {PORT_MAX}")
    return int(text)


def _why_no_host(text: str) -> str:
    if "*" in text:
        return "'*' may only stand for the first labels: '*.example.com'"
    if not text.isascii():
        return _why_not_international(text)
    if _is_number(text.lower().removesuffix(".")):
        return "an IPv4 address has four decimal numbers without leading zeros"
    return "not a host name"


def _why_not_international(text: str) -> str:
    from mcp_jail.core.rules.international import a_labels  # noqa: PLC0415  # of use here only

    found = a_labels(text)
    if found is None or canonical_host(found) is None:
        return (
            "write an international name as A-labels ('xn--...'), as its owner does: which these "
            "are differs from program to program"
        )
    return f"write an international name as A-labels: '{found}'"


def _is_number(name: str) -> bool:
    """Whether a resolver takes the name for an IPv4 address: WHATWG URL, "ends in a number"."""
    last = name.rpartition(".")[2]
    return last.isdigit() or last.startswith("0x")


def _canonical_v6(text: str) -> str | None:
    if not re.fullmatch(r"[0-9A-Fa-f:]+", text):
        return None  # no zones, and no IPv4 notation inside
    from ipaddress import IPv6Address  # noqa: PLC0415  (4 ms, and hardly any rule needs it)

    try:
        address = IPv6Address(text)
    except ValueError:
        return None
    return None if address.ipv4_mapped else address.compressed
