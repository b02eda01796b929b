"""A policy's text to a policy, or everything that is wrong with it."""

from __future__ import annotations

import pytest

from mcp_jail import config
from mcp_jail.core.policy import Additional, AuditArguments, Constraint, Text, ToolRule, Verdict
from mcp_jail.errors import ExitCode, Place, PolicyError

SAMPLE = """\
name: filesystem
server:
  command: [npx, -y, "@modelcontextprotocol/server-filesystem", ~/projects]
  cwd: ~/projects
filesystem:
  read_only:  [~/projects]
  read_write: [~/projects/scratch]
  tmp: true
env: {pass: [GITHUB_TOKEN], set: {LOG_LEVEL: 1, VERSION: 1.10, AT: 1:30, FLAG: off}}
text: off
tools:
  default: ask
  additional: deny
  rules:
    "read_*":   allow
    write_file:
      decision: allow
      args: {path: {under: [~/projects/scratch]}}
      otherwise: ask
resources: {default: ask, rules: {"file://**": deny}}
prompts:   {default: allow}
sampling: deny
elicitation: ask
roots: policy
audit: {path: ~/.local/state/mcp-jail/filesystem.jsonl, arguments: redacted}
"""


def problems(text: str | bytes) -> list[str]:
    """What a load complains about, as `line:column message`."""
    with pytest.raises(PolicyError) as caught:
        config.load(text, "p.yaml")
    return [
        f"{problem.place.line}:{problem.place.column} {problem.message}"
        for problem in caught.value.problems
    ]


def test_a_sample_policy_reads_as_it_is_written() -> None:
    policy = config.load(SAMPLE, "filesystem.yaml").policy
    assert policy.name == "filesystem"
    assert policy.server is not None
    assert policy.server.command[-1] == "~/projects"
    assert policy.filesystem.read_write == ("~/projects/scratch",)
    assert policy.env.set == {"LOG_LEVEL": "1", "VERSION": "1.10", "AT": "1:30", "FLAG": "off"}
    assert policy.text is Text.OFF
    assert policy.tools.additional is Additional.DENY
    assert policy.tools.rules == {
        "read_*": Verdict.ALLOW,
        "write_file": ToolRule(
            decision=Verdict.ALLOW,
            args={"path": Constraint(under=("~/projects/scratch",))},
            otherwise=Verdict.ASK,
        ),
    }
    assert policy.audit.arguments is AuditArguments.REDACTED


def test_every_key_and_item_has_its_place() -> None:
    places = config.load(SAMPLE, "f.yaml").places
    assert places["name",] == Place("f.yaml", 1, 1)
    assert places["server", "command", "3"] == Place("f.yaml", 3, 65)
    assert places["tools", "rules", "write_file"] == Place("f.yaml", 16, 5)
    path = ("tools", "rules", "write_file", "args", "path")
    assert places[path] == Place("f.yaml", 18, 14)
    assert places[(*path, "under", "0")] == Place("f.yaml", 18, 29)


def test_bytes_and_a_byte_order_mark_are_taken() -> None:
    assert config.load(b"\xef\xbb\xbfname: a\r\n", "p").policy.name == "a"
    assert config.load("\ufeffname: a", "p").policy.name == "a"


def test_a_policy_needs_no_more_than_a_name() -> None:
    assert config.load("name: a", "p").policy.tools.default is Verdict.ASK


def test_all_problems_come_at_once_in_the_order_of_the_file() -> None:
    text = """\
tolls: {}
filesystem: {read_only: ~/projects}
tools:
  default: alow
  rules: {x: {args: {a: {under: [here]}}}}
"""
    assert problems(text) == [
        "1:1 unknown key 'tolls'",
        "1:1 'name' is missing",
        "2:25 'read_only' must be a list, found '~/projects'",
        "4:12 unknown decision 'alow' (allow, ask or deny)",
        "5:14 'decision' is missing",
        "5:34 'here' is not absolute; begin with '/' or '~/'",
    ]


def test_the_error_carries_words_place_source_and_hint() -> None:
    with pytest.raises(PolicyError) as caught:
        config.load("name: a\ntolls: {}\n", "p.yaml")
    error = caught.value
    assert error.exit_code is ExitCode.USAGE
    assert error.where == Place("p.yaml", 2, 1)
    assert error.message == "1 problem in 'p.yaml': unknown key 'tolls'"
    assert error.problems[0].hint == "did you mean 'tools'?"
    assert error.problems[0].source == "tolls: {}"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b"name: a\n# \xff", "2:3 not UTF-8: byte 0xff (invalid start byte)"),
        (b"name: \xc3\xa4\xed\xa0\x80", "1:8 not UTF-8: byte 0xed (invalid continuation byte)"),
        ("name: a\ud800", "1:8 the character U+D800 is not allowed here"),
        ("x" * (1024 * 1024 + 1), "1:1 the file is larger than 1048576 bytes"),
        ("", "1:1 the file is empty"),
        ("# only words\n", "1:1 the file is empty"),
        ("---\n", "1:1 the file is empty"),
        ("[name]", "1:1 a policy is a mapping of keys, such as 'name: filesystem'"),
        ("name", "1:1 a policy is a mapping of keys, such as 'name: filesystem'"),
    ],
)
def test_a_file_that_is_no_policy_at_all_is_refused(text: str | bytes, problem: str) -> None:
    assert problems(text) == [problem]
