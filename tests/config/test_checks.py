"""What a policy's types cannot say: paths, hosts, patterns, rules that open."""

from __future__ import annotations

import pytest

from mcp_jail import config
from mcp_jail.config.checks import DOTTED_LIMIT
from mcp_jail.errors import PolicyError


def problems(text: str) -> list[str]:
    with pytest.raises(PolicyError) as caught:
        config.load(f"name: a\n{text}", "p.yaml")
    return [
        f"{problem.place.line}:{problem.place.column} {problem.message}"
        for problem in caught.value.problems
    ]


def rule(text: str) -> list[str]:
    return problems(f"tools: {{rules: {{t: {text}}}}}")


@pytest.mark.parametrize(
    "path", ["projects", "./x", "~bob/x", "$HOME/x", "/a/$X", "/a/../b", "/a/*"]
)
@pytest.mark.parametrize("key", ["read_only", "read_write"])
def test_shared_directories_are_plain_absolute_paths(key: str, path: str) -> None:
    (found,) = problems(f"filesystem: {{{key}: [/ok, '{path}']}}")
    assert found.startswith(f"2:{len(key) + 22} '{path}' ")


@pytest.mark.parametrize("path", ["projects", "~bob", "${HOME}", "~/../x"])
def test_other_paths_are_absolute_too(path: str) -> None:
    assert len(problems(f"server: {{cwd: '{path}'}}")) == 1
    assert len(problems(f"audit: {{path: '{path}'}}")) == 1
    (found,) = rule(f"{{decision: allow, args: {{p: {{each: {{under: ['{path}']}}}}}}}}")
    assert f"'{path}'" in found


@pytest.mark.parametrize(
    "path",
    ["lock", "a.yaml", "~/.bashrc", "/a/Makefile", "../lock.json", "a/../b.json", "$HOME/l.json"],
)
def test_a_lock_file_is_json_and_lies_below_what_it_is_named_from(path: str) -> None:
    (found,) = problems(f"lock: {{file: '{path}'}}")
    assert f"'{path}'" in found
    for right in ("a/b.lock.json", "~/a/b.json", "/a/b.json"):
        assert config.load(f"name: a\nlock: {{file: {right}}}", "p.yaml").policy.lock.file == right


def test_a_policy_is_for_one_server() -> None:
    found = problems("server: {command: [x]}\nremote: {url: 'https://x'}")
    assert "3:9 a policy has either 'server' or 'remote', not both" in found
    found = problems("package: {npm: x, pypi: y}")
    assert "2:10 a package is either 'npm' or 'pypi', not both" in found


def test_a_package_is_one_version_of_one_package() -> None:
    assert problems("package: {npm: x}") == ["2:10 'package' names no version"]
    assert problems("package: {npm: x, version: latest}") == [
        "2:28 'latest' is not one exact version"
    ]
    assert problems("package: {npm: ../x, version: 1.0.0}") == [
        "2:16 '../x' is not the name of a package"
    ]
    assert config.load("name: a\npackage: {pypi: x, version: 1.0}", "p.yaml").policy.package
    assert problems("remote: {url: 'https://x'}\npackage: {pypi: x, version: 1.0}")[-1:] == [
        "3:10 a server that is reached over HTTP has no package here"
    ]


def test_a_variable_is_passed_or_set_and_not_both() -> None:
    assert problems("env: {pass: [A], set: {A: x}}") == ["2:27 'A' stands in 'pass' and in 'set'"]


def test_a_variable_that_is_a_secret_comes_from_one_place() -> None:
    found = problems("env: {pass: [A], set: {B: x}, secret: {A: keyring:x, B: file:/x}}")
    assert found == [
        "2:43 'A' stands in 'pass' and in 'secret'",
        "2:57 'B' stands in 'set' and in 'secret'",
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ghp_0123", "'A' must be keyring:SERVICE/USER, file:PATH or command:WORDS, found"),
        ("secret:github", "'A' must be keyring:"),
        ("'keyring:'", "'A' must be keyring:"),
        ("keyring:/me", "'keyring:/me' names no entry of a keyring"),
        ("file:key", "'key' is not absolute"),
        ("file:~/../x", "'~/../x' goes up"),
        ("file:$HOME/x", "'$HOME/x' has a variable"),
        ("command:./key", "'command:./key' names the program './key' by a relative path"),
        ('"command:pass \'x"', '"command:pass \'x" cannot be split into words'),
    ],
)
def test_a_secret_says_where_it_comes_from(text: str, words: str) -> None:
    (found,) = problems(f"env: {{secret: {{A: {text}}}}}")
    assert found.startswith(f"2:19 {words}")


@pytest.mark.parametrize("time", ["1s", "1000ms", "15m", "24h"])
def test_an_answer_may_hold_so_long(time: str) -> None:
    assert config.load(f"name: a\nask: {{remember: {time}}}", "p.yaml").policy.ask.remember == time


@pytest.mark.parametrize("time", ["0s", "0h", "999ms", "25h", "1441m", "999999999h"])
def test_an_answer_holds_for_a_moment_at_least_and_no_longer_than_it_can_be_asked_for(
    time: str,
) -> None:
    assert problems(f"ask: {{remember: {time}}}") == [
        f"2:17 '{time}' is no time that an answer can hold: from 1s to 24h"
    ]


@pytest.mark.parametrize("key", ["wait", "remember"])
def test_a_time_has_no_more_digits_than_a_number_can_take(key: str) -> None:
    (found,) = problems(f"ask: {{{key}: {'9' * 5_000}h}}")
    assert found.startswith("2:")


def test_otherwise_may_not_open_what_the_decision_closes() -> None:
    for decision, otherwise in (("deny", "allow"), ("deny", "ask"), ("ask", "allow")):
        (found,) = rule(f"{{decision: {decision}, otherwise: {otherwise}}}")
        assert found.endswith(f"'otherwise: {otherwise}' is looser than 'decision: {decision}'")
    config.load("name: a\ntools: {rules: {t: {decision: allow, otherwise: ask}}}", "p")


@pytest.mark.parametrize(
    ("constraint", "words"),
    [
        ("{host: api.github.com}", "'host' must be 'allowlist' or a list"),
        ("{host: [https://x.y]}", "'https://x.y': write host or host:port, not a URL"),
        ("{host: [ok.com, 127.1]}", "'127.1': an IPv4 address has four decimal numbers"),
        ("{matches: '('}", "'(' is no regular expression: missing )"),
        ("{matches: '(?P<x>a)(?P<x>b)'}", "'(?P<x>a)(?P<x>b)' is no regular expression: redef"),
        ("{matches: 'a{99999999999}'}", "'a{99999999999}' is no regular expression"),
        ("{min: 2, max: 1}", "'max' 1 is below 'min' 2"),
        ("{each: {each: {min: 2, max: 1}}}", "'max' 1 is below 'min' 2"),
    ],
)
def test_a_constraint_that_cannot_be_asked_is_refused(constraint: str, words: str) -> None:
    (found,) = rule(f"{{decision: allow, args: {{x: {constraint}}}}}")
    assert words in found


def test_a_name_with_too_many_dots_is_refused() -> None:
    name = ".".join("a" * (DOTTED_LIMIT + 1))
    (found,) = rule(f"{{decision: allow, args: {{{name}: {{}}}}}}")
    assert "more than 8 parts" in found


def test_hosts_of_the_network_are_read_too() -> None:
    found = problems("network: {allow: [ok.com, {host: 'a/b'}, '*']}")
    assert [one for one in found if "not enforced" not in one] == [
        "2:27 'a/b': write host or host:port, not a URL",
        "2:42 '*': '*' may only stand for the first labels: '*.example.com'",
    ]


@pytest.mark.parametrize(
    ("ignored", "words"),
    [
        ("{'tool/*': [description]}", "'tool/*' is a glob"),
        ("{'tool/get_?': [description]}", "'tool/get_?' is a glob"),
        ("{'resource/x://*': [title]}", "'resource/x://*' is a glob"),
        ("{get_time: [description]}", "'get_time' is no item as `diff` names it: tool/..., "),
        ("{'tool/': [description]}", "'tool/' is no item"),
        ("{'server/info': [version]}", "'server/info' is no item"),
        ("{'launch/command': [argv]}", "'launch/command' is no item"),
        ("{tool/t: []}", "'tool/t' has no member here"),
        ("{tool/t: [name]}", "'name' is what the item goes by"),
        ("{tool/t: ['*']}", "'*' is a glob; members are named one by one"),
        ("{tool/t: [inputSchema..x]}", "'inputSchema..x' has an empty part"),
        ("{tool/t: ['']}", "'' has an empty part"),
        ("{tool/t: [a.a.a.a.a.a.a.a.a]}", "has more than 8 parts"),
    ],
)
def test_what_the_lock_ignores_is_named_one_by_one(ignored: str, words: str) -> None:
    (found,) = problems(f"lock: {{ignore: {ignored}}}")
    assert words in found


def test_marks_that_belong_to_a_uri_are_no_globs() -> None:
    text = "{'template/x://{+path*}{?q}': [title], 'resource/x://a?b': [title]}"
    assert config.load(f"name: a\nlock: {{ignore: {text}}}", "p").policy.lock.ignore
