"""Keys that are not enforced yet are refused, unless they ask for nothing."""

from __future__ import annotations

import pytest

from mcp_jail import config
from mcp_jail.config.later import LATER, idle_defaults, not_yet
from mcp_jail.errors import PolicyError


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("remote", "remote: {url: 'https://x'}"),
        ("sandbox", "sandbox: none"),
        ("network.private", "network: {private: ask}"),
        ("filesystem.hide", "filesystem: {hide: ['**/*.pem']}"),
        ("filesystem.autorun", "filesystem: {autorun: protect}"),
        ("filesystem.autorun", "filesystem: {autorun: report}"),
        ("sockets", "sockets: [x11]"),
        ("exec", "exec: {allow: [node]}"),
        ("limits.memory", "limits: {memory: 2GiB}"),
        ("limits.processes", "limits: {processes: 9}"),
        ("limits.open_files", "limits: {open_files: 99}"),
        ("limits.file_size", "limits: {file_size: 1GiB}"),
        ("limits.tmp", "limits: {tmp: 1GiB}"),
        ("limits.call_timeout", "limits: {call_timeout: 9s}"),
        ("limits.weak", "limits: {weak: true}"),
    ],
)
def test_a_key_nobody_enforces_is_refused_where_it_stands(key: str, text: str) -> None:
    with pytest.raises(PolicyError) as caught:
        config.load(f"name: a\n{text}", "p.yaml")
    (problem,) = caught.value.problems
    assert problem.message == f"'{key}' is not enforced yet"
    assert problem.place.line == 2
    assert problem.hint.startswith("this waits for: ")


@pytest.mark.parametrize(
    "text",
    [
        "sandbox: auto",
        "network: {mode: none, allow: [], private: deny, tls: verify-name, via: gate}",
        "network: {mode: allowlist, allow: [a.b], private: allow, tls: any}",
        "network: {mode: host}",
        "network: {mode: allowlist, allow: [a.b], via: proxy}",
        "network: {upstream_proxy: null}",
        "network: {mode: allowlist, upstream_proxy: 'http://u:p@proxy.example:3128'}",
        "filesystem: {hide: [], autorun: allow, home: keep}",
        "sockets: []",
        "exec: {}",
        "exec: {allow: [], sha256: {}}",
        "limits: {}",
        "limits: {memory: null, weak: false}",
        "text: strip",
        "lock: {}",
        "lock: {enabled: false, first: review}",
        "ask: {channels: []}",
        "ask: {wait: 5s}",
        "tools: {rules: {t: {decision: allow, limit: 3/min}}}",
        "sampling: deny",
        "elicitation: ask",
        "elicitation: deny",
        "tools: {rules: {t: {decision: allow, limit: null}, limit: allow}}",
    ],
)
def test_a_value_that_asks_for_nothing_may_be_written(text: str) -> None:
    assert config.load(f"name: a\n{text}", "p.yaml").policy.name == "a"


def test_the_table_can_be_shown() -> None:
    assert len(not_yet()) == len(LATER)
    assert "network.private: ask" in not_yet()


def test_the_defaults_that_hold_nothing_are_known() -> None:
    assert set(idle_defaults()) == {"filesystem.autorun"}
