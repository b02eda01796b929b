"""A first policy: whatever a server says, it can be read, and it allows nothing."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_jail.cli.starter import first_policy
from mcp_jail.config import load
from mcp_jail.core.policy import Filesystem, NetworkMode, Policy, Verdict
from pins import lock_of, tool


def policy_of(*tools: dict[str, Any], command: tuple[str, ...] = ("server",)) -> Policy:
    return load(first_policy("fs", command, lock_of(*tools)).text, "fs.yaml").policy


def test_what_only_reads_is_asked_for_and_what_may_destroy_is_denied() -> None:
    policy = policy_of(
        tool("read", annotations={"readOnlyHint": True}),
        tool("drop", annotations={"destructiveHint": True}),
        tool("both", annotations={"destructiveHint": True, "readOnlyHint": True}),
        tool("silent"),
        tool("odd", annotations=[1]),
        tool("liar", annotations={"readOnlyHint": "yes"}),
    )
    rules = policy.tools.rules
    assert {name: rule for name, rule in rules.items() if rule is Verdict.DENY} == {
        "drop": Verdict.DENY,
        "both": Verdict.DENY,
    }
    assert policy.tools.default is Verdict.ASK
    assert Verdict.ALLOW not in rules.values()


def test_nothing_is_shared_and_the_command_is_the_one_that_was_tried() -> None:
    command = ("npx", "-y", 'a "b"', "~/x", "# c", "é", "")
    policy = policy_of(tool("echo"), command=command)
    assert policy.server is not None
    assert policy.server.command == command
    assert policy.filesystem == Filesystem()
    assert policy.network.mode is NetworkMode.NONE
    assert policy.name == "fs"


def test_it_begins_with_the_line_that_editors_read() -> None:
    text = first_policy("fs", ("server",), lock_of(tool("echo"))).text
    assert text.startswith("# yaml-language-server: $schema=./policy.schema.json\n")


@pytest.mark.parametrize("name", ["*", "read_*", "a?b", "**"])
def test_a_name_that_would_be_a_pattern_is_no_rule(name: str) -> None:
    policy = policy_of(tool(name), tool("echo"))
    assert dict(policy.tools.rules) == {"echo": Verdict.ASK}


@pytest.mark.parametrize(
    "name",
    [
        "yes",
        "null",
        "1e3",
        "a: b",
        "- a",
        "# a",
        '"',
        "'",
        "{",
        "&a",
        "!!x",
        "a\\",
        "é",
        "a b",
        "~",
    ],
)
def test_a_name_stays_what_it_is(name: str) -> None:
    assert dict(policy_of(tool(name)).tools.rules) == {name: Verdict.ASK}


@pytest.mark.parametrize("name", ["a\0b", "a\nb", "a\tb", "\x7f", "a\u2028b", "\x85"])
def test_a_name_that_no_rule_can_have_is_told_and_goes_by_the_default(name: str) -> None:
    first = first_policy("fs", ("server",), lock_of(tool("echo"), tool(name), tool("send")))
    assert first.left_out == (name,)
    policy = load(first.text, "fs.yaml").policy
    assert dict(policy.tools.rules) == {"echo": Verdict.ASK, "send": Verdict.ASK}
    assert policy.tools.default is Verdict.ASK


def test_a_long_name_moves_no_comment_but_its_own() -> None:
    text = first_policy("fs", ("server",), lock_of(tool("echo"), tool("x" * 500))).text
    assert [len(line) for line in text.splitlines() if "Does it." in line and "xx" not in line]
    assert all(len(line) <= 100 or "xx" in line for line in text.splitlines())
    assert set(load(text, "fs.yaml").policy.tools.rules) == {"echo", "x" * 500}


@given(st.lists(st.text(min_size=1, max_size=20), max_size=4), st.text(max_size=80))
def test_no_name_and_no_description_becomes_another_rule(names: list[str], said: str) -> None:
    first = first_policy("fs", ("server",), lock_of(*(tool(name, said) for name in names)))
    policy = load(first.text, "fs.yaml").policy
    wanted = {name for name in names if not {"*", "?"} & {*name}} - {*first.left_out}
    assert dict(policy.tools.rules) == dict.fromkeys(wanted, Verdict.ASK)
    assert policy.filesystem == Filesystem()


def test_a_description_cannot_leave_its_comment() -> None:
    said = 'x\ntools:\n  default: allow\n\u2028name: evil\u0085a: b\r"c": allow'
    policy = policy_of(tool("echo", said))
    assert dict(policy.tools.rules) == {"echo": Verdict.ASK}
    assert policy.tools.default is Verdict.ASK


def test_a_server_without_tools_has_a_policy_too() -> None:
    assert policy_of().tools.default is Verdict.ASK
