"""How values are read by the type that is expected."""

from __future__ import annotations

from typing import Any, get_args

import msgspec
import pytest
from msgspec import UNSET, Meta

from mcp_jail import config
from mcp_jail.core import policy as types
from mcp_jail.core.policy import Constraint, ToolRule
from mcp_jail.errors import PolicyError


def problem(text: str) -> str:
    """The one complaint of a load, with its hint."""
    with pytest.raises(PolicyError) as caught:
        config.load(f"name: a\n{text}", "p.yaml")
    assert len(caught.value.problems) == 1
    found = caught.value.problems[0]
    return f"{found.message} | {found.hint}"


def constraint(text: str) -> Constraint:
    source = f"name: a\ntools: {{rules: {{t: {{decision: allow, args: {{x: {text}}}}}}}}}"
    rule = config.load(source, "p.yaml").policy.tools.rules["t"]
    assert isinstance(rule, ToolRule)
    return rule.args["x"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("tool: {}", "unknown key 'tool' | did you mean 'tools'?"),
        ("filesystem: {zzz: 1}", "unknown key 'zzz' | known here: read_only, read_write, tmp"),
        ("filesystem: {read_only: ~/p}", "'read_only' must be a list, found '~/p' | write [~/p]"),
        (
            "server: {command: npx -y}",
            "'command' must be a list, found 'npx -y' | write program and",
        ),
        ("server: {command: {a: b}}", "'command' must be a list, found a mapping | a list is"),
        ("server: {command: [[a]]}", "'command' must be a text, found a list | "),
        ("server: []", "'server' must be a mapping of keys, found a list | "),
        ("tools:", "'tools' must be a mapping of keys, found nothing | "),
        ("tools: {rules: }", "'rules' must be a mapping of keys, found nothing | "),
        ("tools: {rules: {x: }}", "unknown decision '' (allow, ask or deny) | known here:"),
        ("tools: {default: Allow}", "unknown decision 'Allow' (allow, ask or deny) | did you"),
        ("tools: {default: true}", "unknown decision 'true' (allow, ask or deny) | known"),
        ("tools: {default: [allow]}", "'default' must be one word, found a list | "),
        ("tools: {hide_denied: yes}", "'hide_denied' must be true or false, found 'yes' | "),
        ('tools: {hide_denied: "true"}', "'hide_denied' must be true or false, found the text"),
        ("roots: none", "unknown value of 'roots' 'none' (policy or deny) | known here:"),
        ("env: {set: {A: }}", "'A' must be a text, found nothing | an empty text is written"),
        ("env: {set: {A: [1]}}", "'A' must be a text, found a list | "),
        ('env: {set: {A: "x\\0"}}', "'A' has the character U+0000 | "),
        ('env: {set: {"A=B": x}}', "'key' must be the name of one environment variable, found"),
        ("env: {pass: [GITHUB_*]}", "'pass' must be the name of one environment variable, found"),
        ('tools: {rules: {"a\\nb": allow}}', "'key' has the character U+000A | "),
        ('filesystem: {read_only: ["/a\\n(allow network*)"]}', "'read_only' has the character U+"),
        ('server: {cwd: "/a\\e"}', "'cwd' has the character U+001B | "),
        ('audit: {path: "/a\\u2028b"}', "'path' has the character U+2028 | "),
    ],
)
def test_a_value_of_another_type_is_refused_in_words(text: str, words: str) -> None:
    assert problem(text).startswith(words)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name: Filesystem", "'name' must be lower-case letters, digits, '.', '_' and '-', found"),
        ("name: ../x", "'name' must be lower-case"),
        ("name: 'a\n\n  b'", "'name' has the character U+000A"),
        (f"name: {'a' * 65}", "'name' may have 64 characters, found 65"),
        ("name:", "'name' must be a text, found nothing"),
        ("name: [a]", "'name' must be a text, found a list"),
    ],
)
def test_a_name_is_plain(text: str, words: str) -> None:
    with pytest.raises(PolicyError) as caught:
        config.load(text, "p.yaml")
    assert caught.value.problems[0].message.startswith(words)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{min: '5'}", "'min' must be a number, found the text '5'"),
        ("{max: five}", "'max' must be a number, found 'five'"),
        ("{max: .inf}", "'max': .inf is no JSON value"),
        ("{equals: .nan}", "'equals': .nan is no JSON value"),
        ("{one_of: [1, [.inf]]}", "'one_of': .inf is no JSON value"),
        ("{max_length: 1.5}", "'max_length' must be a whole number, found '1.5'"),
        ("{max_length: -1}", "'max_length' must be at least 0, found -1"),
        ("{each: []}", "'each' must be a mapping of keys, found a list"),
        ("{matches: [a]}", "'matches' must be a text, found a list"),
        ("{unter: [~/x]}", "unknown key 'unter'"),
        ("allow", "'x' must be a mapping of keys, found 'allow'"),
    ],
)
def test_a_constraint_of_another_type_is_refused(text: str, words: str) -> None:
    assert problem(f"tools: {{rules: {{t: {{decision: allow, args: {{x: {text}}}}}}}}}").startswith(
        words
    )


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{equals: 1}", 1),
        ("{equals: 1.0}", 1.0),
        ("{equals: '1'}", "1"),
        ("{equals: null}", None),
        ("{equals: ~}", None),
        ("{equals: yes}", "yes"),
        ("{equals: [1, {a: true}]}", [1, {"a": True}]),
        ('{equals: "a\\nb"}', "a\nb"),
    ],
)
def test_json_values_are_read_as_yaml_1_2(text: str, value: Any) -> None:
    found = constraint(text).equals
    assert (type(found), found) == (type(value), value)


def test_what_is_not_written_is_unset() -> None:
    found = constraint("{}")
    assert found.equals is UNSET
    assert found.required


def test_a_tilde_is_home_where_a_path_is_wanted_and_null_is_nothing() -> None:
    assert _server("cwd: ~") == "~"
    assert _server("cwd: null") is None
    assert _server('cwd: "/null"') == "/null"
    assert config.load(
        "name: a\nfilesystem: {read_only: [~]}", "p"
    ).policy.filesystem.read_only == ("~",)


def test_the_value_of_a_variable_may_have_lines() -> None:
    policy = config.load("name: a\nenv: {set: {KEY: \"a\\nb\", EMPTY: ''}}", "p").policy
    assert policy.env.set == {"KEY": "a\nb", "EMPTY": ""}


def test_every_annotation_of_the_types_is_one_the_reader_keeps() -> None:
    unkept = ("gt", "le", "lt", "min_length", "multiple_of", "tz")
    metas = [meta for struct in _structs() for meta in _metas(struct)]
    assert metas
    assert [meta for meta in metas for name in unkept if getattr(meta, name) is not None] == []


def _server(line: str) -> str | None:
    server = config.load(f"name: a\nserver: {{{line}}}", "p").policy.server
    assert server is not None
    return server.cwd


def _structs() -> list[type[msgspec.Struct]]:
    return [
        value
        for value in vars(types).values()
        if isinstance(value, type) and issubclass(value, types.Closed)
    ]


def _metas(struct: type[msgspec.Struct]) -> list[Meta]:
    found: list[Meta] = []
    waiting: list[Any] = [field.type for field in msgspec.structs.fields(struct)]
    while waiting:
        kind = waiting.pop()
        found += [one for one in get_args(kind) if isinstance(one, Meta)]
        waiting += get_args(kind)
    return found
