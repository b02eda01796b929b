"""What the policy opens, in the form the relay asks: one matcher with the `host` of arguments.

Pure. A connection is asked about by the name or literal address the program used and the port, a
question for an address by the name alone.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

import msgspec

from mcp_jail.core.policy import HostEntry, Network, NetworkMode, Tls, Verdict
from mcp_jail.core.rules.hosts import (
    HostAndPort,
    HostRule,
    HostRules,
    allowing_rule,
    canonical_host,
    compile_hosts,
    host_allowed,
    is_address,
    read_rule,
)
from mcp_jail.core.rules.upstream import Upstream, read_upstream

DNS_PORT: Final = 53
HTTP_PORT: Final = 80
HTTPS_PORT: Final = 443

# No question is asked for this name (RFC 6761, 6.3): it is these addresses, written down.
LOCALHOST: Final = "localhost"
LOOPBACK: Final = ("127.0.0.1", "::1")

# Inside, addresses of 198.18.0.0/15 stand for names (`names`), so that none of them can be meant.
_OF_NAMES: Final = ("198.18.", "198.19.")

# Ports of one policy. Each is two listening sockets, and one message carries 253 descriptors.
PORTS_LIMIT: Final = 64


class Check(Enum):
    """What the first bytes of a connection must be before it is led on."""

    NONE = "nothing"  # whoever speaks first, at once
    TLS = "a ClientHello for the name"
    HTTP = "a request for the name"


class Opening(msgspec.Struct, frozen=True):
    """A rule that opens a connection: as the policy writes it, and what it asks for."""

    rule: str
    check: Check


class Allow(msgspec.Struct, frozen=True):
    """All that a policy opens. `ports` are those to listen on, `private` is network.private.

    `upstream` is the proxy by which the rest of the world is reached, where there is one, but for
    the names in `direct`.
    """

    rules: HostRules
    openings: dict[HostRule, Opening]
    ports: tuple[int, ...]
    private: bool = False
    upstream: Upstream | None = None
    direct: frozenset[str] = frozenset()

    def opening(self, host: str, port: int) -> Opening | None:
        """The rule that opens this name or literal address on this port, None where none does."""
        rule = allowing_rule(host, port, self.rules)
        return None if rule is None else self.openings.get(rule)

    def names(self, host: str) -> bool:
        """Whether some rule opens this name on some port: only such a name gets an address."""
        name = canonical_host(host)
        if name is None or is_address(name):
            return False
        return any(host_allowed(name, port, self.rules) for port in self.ports)

    def is_literal(self, address: str, port: int) -> bool:
        """Whether a rule writes down this very address, and so vouches for it."""
        host = canonical_host(address)
        return host is not None and HostAndPort(host, port) in self.rules.exact


NOTHING: Final = Allow(rules=compile_hosts(()), openings={}, ports=())


def compile_network(network: Network) -> Allow:
    """What a policy's `network` opens; ValueError, with the reason, for a rule no gate can keep.

    `network.mode: none` opens nothing, whatever else is written. Of two entries for one host and
    port the stricter check holds.
    """
    if network.mode is not NetworkMode.ALLOWLIST:
        return NOTHING
    openings: dict[HostRule, Opening] = {}
    for entry in network.allow:
        text = entry.host if isinstance(entry, HostEntry) else entry
        rule = read_rule(text)
        if rule.port == DNS_PORT:
            raise ValueError(f"'{text}': port {DNS_PORT} is answered by the gate's own name server")
        if rule.host.startswith(_OF_NAMES) and is_address(rule.host):
            raise ValueError(
                f"'{text}': inside, 198.18.0.0/15 stands for names; write the name that is meant"
            )
        opening = Opening(text, _check(entry, rule, network.tls))
        for meant in _meant(rule):
            known = openings.get(meant)
            if known is None or known.check is Check.NONE:
                openings[meant] = opening
    ports = {rule.port for rule in openings} | {HTTP_PORT, HTTPS_PORT}
    if len(ports) > PORTS_LIMIT:
        raise ValueError(f"{len(ports)} different ports, at most {PORTS_LIMIT} can be listened on")
    return Allow(
        rules=HostRules(
            exact=frozenset(HostAndPort(r.host, r.port) for r in openings if not r.below),
            below=frozenset(HostAndPort(r.host, r.port) for r in openings if r.below),
        ),
        openings=openings,
        ports=tuple(sorted(ports)),
        private=network.private is Verdict.ALLOW,
        upstream=None if network.upstream_proxy is None else read_upstream(network.upstream_proxy),
    )


def _meant(rule: HostRule) -> tuple[HostRule, ...]:
    """The rule; for `localhost` the addresses that a jail's own /etc/hosts gives it, too."""
    if rule.host != LOCALHOST or rule.below:
        return (rule,)
    return (rule, *(HostRule(address, rule.port, below=False) for address in LOOPBACK))


def _check(entry: str | HostEntry, rule: HostRule, written: Tls | None) -> Check:
    """What is written holds on every port; where nothing is, a port tells what is spoken on it."""
    tls = entry.tls if isinstance(entry, HostEntry) else written
    if tls is Tls.ANY:
        return Check.NONE
    if rule.port == HTTP_PORT:
        return Check.HTTP
    if rule.port == HTTPS_PORT or tls is Tls.VERIFY_NAME:
        return Check.TLS
    return Check.NONE
