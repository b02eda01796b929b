"""A policy from elsewhere runs nothing outside the jail."""

from __future__ import annotations

import pytest

from mcp_jail import config
from mcp_jail.config.strangers import load_strangers
from mcp_jail.errors import PolicyError

TEXT = """\
name: a
env:
  secret:
    A: command:cat /etc/hostname
    B: file:~/x
    C: command:id
"""


@pytest.mark.parametrize("text", [TEXT, TEXT.encode(), f"\ufeff{TEXT}"], ids=["text", "raw", "bom"])
def test_a_strangers_policy_names_no_command(text: str | bytes) -> None:
    with pytest.raises(PolicyError) as caught:
        load_strangers(text, "p.yaml")
    told = [f"{p.place.line}:{p.place.column} {p.message}" for p in caught.value.problems]
    assert told == [
        "4:5 'A' would run a command outside the jail",
        "6:5 'C' would run a command outside the jail",
    ]
    assert config.load(text, "p.yaml").policy.env.secret["A"] == "command:cat /etc/hostname"


@pytest.mark.parametrize(
    "path", ["/home/me/shop/lock.json", "~/.local/state/mcp-jail/locks/fs.json", "~me/lock.json"]
)
def test_a_strangers_policy_names_a_lock_file_beside_it_alone(path: str) -> None:
    text = f"name: a\nlock: {{file: {path}}}"
    with pytest.raises(PolicyError, match=r"from beside the policy file|not absolute"):
        load_strangers(text, "p.yaml")
    beside = "name: a\nlock: {file: ci/mcp-jail.lock.json}"
    assert load_strangers(beside, "p").policy.lock.file == "ci/mcp-jail.lock.json"


def test_a_strangers_policy_does_not_say_where_an_audit_is_written() -> None:
    text = "name: a\naudit: {path: ~/.local/state/mcp-jail/fs.jsonl}"
    assert config.load(text, "p.yaml").policy.audit.path is not None
    with pytest.raises(PolicyError, match="only your own policies say where"):
        load_strangers(text, "p.yaml")


def test_what_else_a_policy_says_is_read_as_usual() -> None:
    text = "name: a\nenv: {secret: {A: keyring:x, B: file:~/x}}"
    assert load_strangers(text, "p").policy == config.load(text, "p").policy
    with pytest.raises(PolicyError, match="unknown key"):
        load_strangers("name: a\nwhat: 1", "p")
