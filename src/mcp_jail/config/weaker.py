"""What of a policy is weaker than the default: each in a few words, with its key. Pure.

Such a policy is no mistake. It is told so that nobody has it without knowing: somebody else may
have written it, or it was meant for an afternoon.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mcp_jail.core.loaders import is_loader_variable
from mcp_jail.core.policy import (
    AuditArguments,
    Autorun,
    Home,
    HostEntry,
    LockFirst,
    NetworkMode,
    Policy,
    Sandbox,
    Scripts,
    Text,
    Tls,
    ToolRule,
    Verdict,
    Via,
)


def weaker_keys(policy: Policy) -> Iterator[tuple[str, str]]:
    """Each weakness and its key."""
    yield from ((message, key) for is_weak, message, key in _checks(policy) if is_weak)
    yield from _hosts(policy)
    yield from _any(policy.tools.rules, "every tool may be called", "tools.rules")
    yield from _any(policy.resources.rules, "every resource may be read", "resources.rules")
    for name in filter(is_loader_variable, policy.env.pass_):
        yield f"your {name} decides which code it runs", f"env.pass: {name}"


def needs_gate(policy: Policy) -> bool:
    """Whether its network is a gate's, as it is unless the policy takes something weaker."""
    return policy.network.mode is not NetworkMode.HOST and policy.network.via is Via.GATE


def _checks(policy: Policy) -> tuple[tuple[bool, str, str], ...]:
    network, lock, package, files = policy.network, policy.lock, policy.package, policy.filesystem
    unpinned = package is not None and package.unpinned
    scripts = package is not None and package.scripts is Scripts.ALLOW
    full = policy.audit.arguments is AuditArguments.FULL
    any_resource = policy.resources.default is Verdict.ALLOW
    return (
        (policy.sandbox is not Sandbox.AUTO, "its jail is a weaker one", "sandbox"),
        (network.mode is NetworkMode.HOST, "it has your whole network", "network.mode"),
        (network.private is not Verdict.DENY, "it reaches your own network", "network.private"),
        (network.tls is Tls.ANY, "the name in TLS is not looked at", "network.tls"),
        (network.via is Via.PROXY, "its network is a proxy's, no gate", "network.via"),
        (unpinned, "its package is of any version, fetched at each start", "package.unpinned"),
        (scripts, "install scripts of its package run", "package.scripts"),
        (files.home is Home.KEEP, "what it writes into HOME stays", "filesystem.home"),
        (files.autorun is Autorun.ALLOW, "it may write files that run later", "filesystem.autorun"),
        (not lock.enabled, "its words are not locked", "lock.enabled"),
        (lock.first is LockFirst.TRUST, "its first words are approved unread", "lock.first"),
        (policy.tools.default is Verdict.ALLOW, "every tool may be called", "tools.default"),
        (any_resource, "every resource may be read", "resources.default"),
        (policy.sampling is Verdict.ALLOW, "it may ask your model", "sampling"),
        (policy.elicitation is Verdict.ALLOW, "it may ask you, unasked by us", "elicitation"),
        (policy.text is Text.OFF, "hidden characters are not marked", "text"),
        (policy.limits.weak, "limits that cannot be held are let go", "limits.weak"),
        (full, "its audit keeps arguments with their secrets", "audit.arguments"),
    )


def _hosts(policy: Policy) -> Iterator[tuple[str, str]]:
    """Entries of the allowlist that open more than one site."""
    for entry in policy.network.allow:
        host = entry.host if isinstance(entry, HostEntry) else entry
        key = f"network.allow: {host}"
        if isinstance(entry, HostEntry) and entry.tls is Tls.ANY:
            yield f"the name in TLS is not looked at for {host}", f"{key}, tls"
        if host.startswith("*.") and "." not in host.removeprefix("*.").partition(":")[0]:
            yield f"it reaches every host below {host.removeprefix('*')}", key


def _any(
    rules: Mapping[str, Verdict | ToolRule] | Mapping[str, Verdict], message: str, key: str
) -> Iterator[tuple[str, str]]:
    """Rules for any name that allow whatever comes."""
    for name, rule in rules.items():
        if name.strip("*"):
            continue
        is_allowed = rule is Verdict.ALLOW
        if isinstance(rule, ToolRule):
            is_allowed = rule.decision is Verdict.ALLOW and not (rule.args or rule.limit)
        if is_allowed:
            yield message, f'{key}: "{name}"'
