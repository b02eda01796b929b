"""What a policy lets a server reach, in words."""

from __future__ import annotations

from typing import Any

import msgspec

from mcp_jail.core.policy import NetworkMode, Policy, Via
from mcp_jail.core.rules.upstream import read_upstream
from mcp_jail.gate.allow import Allow, Check
from mcp_jail.proxy.gating import WEAKER


def network_words(policy: Policy, allow: Allow) -> str:
    """A few lines on what can be reached and how that is held."""
    by_proxy = policy.network.via is Via.PROXY
    match policy.network.mode:
        case NetworkMode.NONE if by_proxy:
            return (
                "none: no interface but the jail's own loopback, no name look-ups\n"
                "BY NO GATE (network.via: proxy): what is tried is not seen"
            )
        case NetworkMode.NONE:
            return (
                "none: no interface but the jail's own loopback, no name look-ups; "
                "what is tried is written down"
            )
        case NetworkMode.HOST:
            return (
                "THE HOST'S OWN: every host and service this machine reaches, and nothing is seen"
            )
        case NetworkMode.ALLOWLIST:
            rules = {opening.rule: opening.check for opening in allow.openings.values()}
            lines = [f"{rule} ({_CHECKS[check]})" for rule, check in sorted(rules.items())]
            private = (
                "\nPRIVATE ADDRESSES TOO (network.private: allow): "
                "a name may lead into your own network"
                if allow.private
                else "; names of private addresses are refused"
            )
            if allow.upstream is not None:
                private = (private if allow.private else "") + (
                    f"\nBY YOUR PROXY {allow.upstream.place}, which looks the names up: where they "
                    "lead is not judged here"
                )
            weaker = f"\nBY A PROXY, NO GATE, which is {WEAKER}" if by_proxy else ""
            return f"only what is named here{private}{weaker}\n" + "\n".join(lines or ["nothing"])


def network_facts(policy: Policy) -> dict[str, Any]:
    """The same for a program; of a proxy, nobody needs the password."""
    facts: dict[str, Any] = msgspec.to_builtins(policy.network)
    if policy.network.upstream_proxy is not None:
        facts["upstream_proxy"] = f"http://{read_upstream(policy.network.upstream_proxy).place}"
    return facts


_CHECKS = {
    Check.NONE: "anything that is said there",
    Check.TLS: "TLS, for that name",
    Check.HTTP: "HTTP, its first request for that name",
}
