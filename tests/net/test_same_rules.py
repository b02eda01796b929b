"""`host: allowlist` for an argument and the gate for a connection: one set of rules, one answer."""

from __future__ import annotations

from typing import Final

from hypothesis import event, given
from hypothesis import strategies as st

from imagined import HOME, Imagined
from mcp_jail.core.policy import (
    Constraint,
    HostEntry,
    Network,
    NetworkMode,
    Policy,
    Tls,
    ToolRule,
    Tools,
    Verdict,
)
from mcp_jail.core.rules.constraints import unmet
from mcp_jail.core.rules.decide import compile_rules
from mcp_jail.core.rules.hosts import canonical_host, read_rule
from mcp_jail.gate.allow import LOOPBACK, Allow, compile_network

NOTHING_THERE: Final = Imagined({})

labels = st.sampled_from(["a", "b", "example", "com", "localhost", "xn--a", "0x7f", "1", "A"])
names = st.lists(labels, min_size=1, max_size=4).map(".".join)
addresses = st.sampled_from(
    ["127.0.0.1", "10.0.0.5", "169.254.169.254", "[::1]", "[2001:db8::1]", "[::ffff:10.0.0.5]"]
)
hosts = names | addresses | names.map("*.".__add__) | names.map("{}.".format)
ports = st.sampled_from([80, 443, 5432, 8443])
rules = st.builds("{}:{}".format, hosts, ports) | hosts
entries = rules | st.builds(
    lambda rule, tls: HostEntry(host=rule, tls=tls), rules, st.sampled_from(Tls)
)


def holds(network: Network, argument: str) -> bool:
    """Whether a call may name this place."""
    checked: dict[str, Verdict | ToolRule] = {
        "t": ToolRule(decision=Verdict.ALLOW, args={"url": Constraint(host="allowlist")})
    }
    policy = Policy(name="p", tools=Tools(rules=checked), network=network)
    (rule,) = compile_rules(policy, {}, home=HOME, cwd=None).tools.for_name("t")
    return unmet(rule.checks[0], {"url": argument}, NOTHING_THERE) is None


def opens(allow: Allow, host: str, port: int) -> bool:
    """Whether a program in the jail gets there: by name it has to find it first."""
    canonical = canonical_host(host)
    if canonical is None or allow.opening(canonical, port) is None:
        return False
    return host.startswith("[") or canonical[0].isdigit() or allow.names(canonical)


def valid(entry: str | HostEntry) -> bool:
    """Whether a policy may have this entry."""
    try:
        read_rule(entry.host if isinstance(entry, HostEntry) else entry)
    except ValueError:
        return False
    return True


@given(st.lists(entries.filter(valid), max_size=5), hosts, ports, st.data())
def test_an_argument_and_a_connection_are_judged_alike(
    allowed: list[str | HostEntry], host: str, port: int, data: st.DataObject
) -> None:
    network = Network(mode=NetworkMode.ALLOWLIST, allow=tuple(allowed))
    allow = compile_network(network)
    rule = data.draw(st.sampled_from([None, *sorted(allow.openings)]))
    if rule is not None:
        host = f"[{rule.host}]" if ":" in rule.host else rule.host
        host, port = f"x.{host}" if rule.below else host, rule.port
    scheme = data.draw(st.sampled_from(["https://", "http://", "wss://", ""]))
    argument = f"{scheme}{host}:{port}{'/x' if scheme else ''}"
    may_be_named, is_opened = holds(network, argument), opens(allow, host, port)
    event(f"named {may_be_named}, opened {is_opened}")
    if canonical_host(host) in LOOPBACK:
        # A program that connects to localhost asks nobody where that is: a rule for it opens both.
        assert is_opened or not may_be_named
    else:
        assert is_opened == may_be_named
