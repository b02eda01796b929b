"""Each weaker mode of a policy is told with its key, and the default has none."""

from __future__ import annotations

import pytest

from mcp_jail.config import load
from mcp_jail.config.weaker import weaker_keys

WEAKER = {
    "network: {mode: host}": "network.mode",
    "network: {private: allow}": "network.private",
    "network: {tls: any}": "network.tls",
    "network: {via: proxy}": "network.via",
    "network: {mode: allowlist, allow: [{host: a.example, tls: any}]}": (
        "network.allow: a.example, tls"
    ),
    'network: {mode: allowlist, allow: ["*.com"]}': "network.allow: *.com",
    "package: {npm: x, unpinned: true}": "package.unpinned",
    "package: {npm: x, version: 1.0.0, scripts: allow}": "package.scripts",
    "filesystem: {home: keep}": "filesystem.home",
    "filesystem: {autorun: allow}": "filesystem.autorun",
    "env: {pass: [LD_PRELOAD, LEVEL]}": "env.pass: LD_PRELOAD",
    "lock: {enabled: false}": "lock.enabled",
    "lock: {first: trust}": "lock.first",
    "tools: {default: allow}": "tools.default",
    'tools: {rules: {"*": allow}}': 'tools.rules: "*"',
    'tools: {rules: {"*": {decision: allow}}}': 'tools.rules: "*"',
    "resources: {default: allow}": "resources.default",
    'resources: {rules: {"**": allow}}': 'resources.rules: "**"',
    "sampling: allow": "sampling",
    "elicitation: allow": "elicitation",
    "text: off": "text",  # yaml's false, which the loader takes as the word
    "audit: {arguments: full}": "audit.arguments",
}


@pytest.mark.parametrize("text", WEAKER)
def test_a_weaker_mode_is_told_with_its_key(text: str) -> None:
    policy = load(f"name: w\n{text}\n", "w.yaml").policy
    assert [key for _, key in weaker_keys(policy)] == [WEAKER[text]]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "network: {mode: allowlist, allow: [a.example, '*.a.example', 'b.example:5432']}",
        "filesystem: {read_only: [~/projects], read_write: [~/scratch]}",
        'tools: {default: deny, rules: {"read_*": allow, "*": ask}}',
        'tools: {rules: {"*": {decision: allow, limit: 30/min}}}',
        "env: {pass: [LEVEL, PYTHONUNBUFFERED], set: {NODE_OPTIONS: --no-warnings}}",
        "sampling: ask\nelicitation: deny",
    ],
)
def test_what_is_no_weaker_is_not_told(text: str) -> None:
    assert [*weaker_keys(load(f"name: w\n{text}\n", "w.yaml").policy)] == []


@pytest.mark.parametrize("text", WEAKER)
def test_a_weakness_fits_a_terminals_line(text: str) -> None:
    policy = load(f"name: w\n{text}\n", "w.yaml").policy
    assert all(len(message) < 60 for message, _ in weaker_keys(policy))
