"""Warnings: each of them on a policy that is valid and probably not meant."""

from __future__ import annotations

import pytest

from mcp_jail import config
from mcp_jail.config.jailspec import jail_spec
from mcp_jail.config.lint import Lint, lint


def lints(text: str) -> list[Lint]:
    loaded = config.load(f"name: a\n{text}", "p.yaml")
    spec = jail_spec(loaded.policy, ("x",), home="/home/me", environ={}, client_cwd="/")
    return list(lint(loaded.policy, loaded.places, spec))


def messages(text: str) -> list[str]:
    return [one.message for one in lints(text)]


def test_a_policy_that_agrees_with_itself_has_no_warnings() -> None:
    text = """\
server: {cwd: ~/p}
filesystem: {read_only: [~/p], read_write: [~/p/out]}
env: {pass: [GITHUB_TOKEN], set: {NODE_ENV: production}}
tools:
  default: ask
  rules:
    "*": ask
    "read_*": allow
    "delete_*": deny
    write_file:
      decision: allow
      args: {path: {under: [~/p/out/x, /home/me/p/out]}, sql: {matches: "SELECT .*"}}
    read_file: {decision: allow, args: {path: {under: [~/p]}}}
"""
    assert messages(text) == []


@pytest.mark.parametrize(("wait", "is_long"), [("50s", False), ("56s", True), ("2m", True)])
def test_a_call_that_is_held_for_longer_than_clients_wait_is_told(wait: str, is_long: bool) -> None:
    assert bool(messages(f"ask: {{wait: {wait}}}")) is is_long


@pytest.mark.parametrize("name", ["write_file", "createDirectory", "file-edit", "fs.move"])
def test_a_writing_tool_needs_a_writable_directory(name: str) -> None:
    text = f"""\
filesystem: {{read_only: [~/p]}}
tools: {{rules: {{{name}: {{decision: allow, args: {{path: {{under: [~/p]}}}}}}}}}}
"""
    (one,) = lints(text)
    assert one.message == "'~/p' is allowed here, but the server cannot write there"
    assert one.hint == "add it to filesystem.read_write: [~/p]"
    assert one.place is not None
    assert one.place.line == 3
    assert str(one).startswith("p.yaml:3:")


def test_an_allowed_directory_must_be_shared() -> None:
    rule = "{decision: allow, args: {path: {under: [~/pq, /srv]}}}"
    text = f"filesystem: {{read_only: [~/p]}}\ntools: {{rules: {{get: {rule}}}}}"
    assert messages(text) == [
        "'~/pq' is allowed here, but the server cannot see it",
        "'/srv' is allowed here, but the server cannot see it",
    ]
    assert messages(f"tools: {{rules: {{get: {rule}}}}}")[0].startswith("'~/pq'")


def test_a_denying_rule_needs_no_shared_directory() -> None:
    assert messages("tools: {rules: {x: {decision: deny, args: {p: {under: [/srv]}}}}}") == []


def test_globs_of_equal_weight_that_meet_are_told() -> None:
    text = 'tools: {rules: {"read_*": allow, "*_file": deny, "x_*": deny}}'
    assert messages(text) == ["'*_file' and 'read_*' may match the same name, with equal weight"]
    assert messages('tools: {rules: {"read_*": allow, "*_file": allow}}') == []
    assert messages('resources: {rules: {"a*": allow, "*a": deny}}') != []


def test_an_exact_name_that_passes_by_a_denying_glob_is_told() -> None:
    text = 'tools: {rules: {"delete_*": deny, delete_tmp: allow}}'
    assert messages(text) == ["'delete_tmp: allow' goes before 'delete_*: deny'"]


def test_a_rule_that_can_never_match_is_told() -> None:
    assert messages('tools: {rules: {"read_file ": allow}}') == [
        "'read_file ' never matches: such names are always denied"
    ]


@pytest.mark.parametrize(
    ("constraint", "words"),
    [
        ("{matches: '^SELECT'}", "must fit the whole text"),
        ("{matches: 'SELECT$'}", "must fit the whole text"),
        ("{matches: '(a+)+'}", "can take very long"),
        ("{matches: '(a*)*b'}", "can take very long"),
        ("{under: []}", "an empty 'under' never holds"),
        ("{one_of: []}", "an empty 'one_of' never holds"),
        ("{each: {host: []}}", "an empty 'host' never holds"),
        ("{host: allowlist}", "network.allow is empty"),
    ],
)
def test_a_constraint_that_hardly_ever_holds_is_told(constraint: str, words: str) -> None:
    (found,) = messages(f"tools: {{rules: {{t: {{decision: allow, args: {{x: {constraint}}}}}}}}}")
    assert words in found


def test_variables_that_load_code_are_told() -> None:
    found = messages("env: {pass: [LD_PRELOAD], set: {NODE_OPTIONS: x}}")
    assert [one.split()[0] for one in found] == ["'LD_PRELOAD'", "'NODE_OPTIONS'"]


def test_a_command_that_needs_the_network_at_each_start_is_told() -> None:
    loaded = config.load("name: n\nserver: {command: [npx, -y, a]}\n", "n.yaml")
    command = ("npx", "-y", "a")
    spec = jail_spec(loaded.policy, command, home="/home/me", environ={}, client_cwd="/")
    (found,) = lint(loaded.policy, loaded.places, spec)
    assert found.place == ("n.yaml", 2, 10)
    assert "'npx' looks the package up at each start" in found.message
    assert "mcp-jail install n" in found.hint


def test_a_command_whose_package_is_pinned_needs_no_network() -> None:
    text = "name: n\nserver: {command: [npx, -y, a]}\npackage: {npm: a, version: 1.0.0}\n"
    loaded = config.load(text, "n.yaml")
    spec = jail_spec(loaded.policy, ("npx",), home="/home/me", environ={}, client_cwd="/")
    assert lint(loaded.policy, loaded.places, spec) == ()


def test_a_package_that_may_change_is_told() -> None:
    (found,) = messages("package: {npm: a, unpinned: true}")
    assert "each start runs whatever the registry has then" in found


def test_an_empty_constraint_is_told() -> None:
    (found,) = lints("tools: {rules: {a: {decision: allow, args: {path: {}}}}}")
    assert "'path: {}' asks for nothing" in found.message


def test_a_thousand_globs_are_compared_in_order() -> None:
    rules = "\n".join(
        f'    "tool_{number}_*": {"allow" if number % 2 else "deny"}' for number in range(1000)
    )
    assert messages(f"tools:\n  rules:\n{rules}") == []


def test_a_closed_rule_that_ends_the_same_either_way_is_told() -> None:
    text = "tools: {rules: {get: {decision: ask, additional: deny, otherwise: ask}}}"
    (one,) = lints(text)
    assert one.message == "'additional: deny' changes nothing: both ways end in ask"
    assert one.place is not None
    assert one.place.column == text.index("additional") + 1
    assert messages(text.replace("otherwise: ask", "otherwise: deny")) == []
