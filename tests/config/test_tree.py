"""What of YAML is taken, and what is refused because people and programs read it differently."""

from __future__ import annotations

import pytest

from mcp_jail.config.problems import Problems
from mcp_jail.config.tree import DEPTH_LIMIT, Mapping, Scalar, Sequence, parse


def read(text: str) -> tuple[Mapping | None, list[str]]:
    problems = Problems("p.yaml", text)
    tree = parse(text, problems)
    return tree, [
        f"{problem.place.line}:{problem.place.column} {problem.message}"
        for problem in problems.in_order()
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: 1\na: 2", "2:1 the key 'a' stands here a second time (first in line 1)"),
        ('a: 1\n"a": 2', "2:1 the key 'a' stands here a second time (first in line 1)"),
        ("a: &x 1", "1:4 an anchor ('&name') is not allowed"),
        ("a: &x {b: 1}", "1:4 an anchor ('&name') is not allowed"),
        ("a: !!str 1", "1:4 a tag ('!name') is not allowed"),
        ("a: !x 1", "1:4 a tag ('!name') is not allowed"),
        ("a: ! 1", "1:4 a tag ('!name') is not allowed"),
        ("a: !!python/object/apply:os.system [id]", "1:4 a tag ('!name') is not allowed"),
        ("%TAG ! tag:x,2000:\n---\na: 1", "1:1 a %TAG directive is not allowed"),
        ("a: 1\n---\nb: 2", "2:1 a second document ('---') is not allowed"),
        ("a: 1\n...\n---\nb: 2", "3:1 a second document ('---') is not allowed"),
        ("<<: {a: 1}", "1:1 a merge key ('<<') is not allowed"),
        ("? [a]\n: 1", "1:3 a key must be a text, not a list or a mapping"),
        ("{a: 1}: 2", "1:1 a key must be a text, not a list or a mapping"),
        ("a: \x00", "1:4 the character U+0000 is not allowed here"),
        ("a: 1\n# \x1b[2J", "2:3 the character U+001B is not allowed here"),
        ("# hidden\u2028a: 1", "1:9 the character U+2028 is not allowed here"),
        ("# hidden\u0085a: 1", "1:9 the character U+0085 is not allowed here"),
        ("# hidden\ra: 1", "1:9 the character U+000D is not allowed here"),
        ("a: x\u202ey", "1:5 the character U+202E is not allowed here"),
        ("a: x\u200by", "1:5 the character U+200B is not allowed here"),
        ("a: \U000e0041", "1:4 the character U+E0041 is not allowed here"),
        ("a: b: c", "1:5 not YAML: mapping values are not allowed in this context"),
    ],
)
def test_yaml_that_hides_something_is_refused(text: str, problem: str) -> None:
    assert problem in read(text)[1]


def test_an_alias_is_refused_where_it_is_used() -> None:
    _, found = read("a: &x 1\nb: *x\n*x : 2")
    assert [one for one in found if "alias" in one] == [
        "2:4 an alias ('*name') is not allowed",
        "3:1 an alias ('*name') is not allowed",
    ]


def test_a_star_without_quotes_gets_the_hint_to_quote_it() -> None:
    for text in ("*_x: allow", "a: [*.pem]", "a: *"):
        problems = Problems("p", text)
        parse(text, problems)
        assert "into quotes" in problems.in_order()[0].hint


def test_tabs_get_the_hint_to_use_spaces() -> None:
    for text in ("a:\n\tb: 1", "a:\n  b:\n  \t- c\n", "a:\n  b: 1\n\tc: 2\n"):
        problems = Problems("p", text)
        assert parse(text, problems) is None
        assert problems.in_order()[0].hint == "indent with spaces, not with tabs"


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("name: n\na: [1, 2\nb: 3\n", "the '[' of line 2 is not closed before this"),
        ("a:\n  b: {c: 1\nd: 2\n", "the '{' of line 2 is not closed before this"),
    ],
)
def test_an_open_bracket_is_told_where_it_was_opened(text: str, hint: str) -> None:
    problems = Problems("p", text)
    assert parse(text, problems) is None
    assert problems.in_order()[0].hint == hint


@pytest.mark.parametrize("text", ["a: " + "[" * 5000, "a: " + "{a: " * 5000, "- " * 5000])
def test_bottomless_nesting_is_refused(text: str) -> None:
    assert read(text)[0] is None
    assert read(text)[1]


def test_nesting_is_taken_down_to_the_limit() -> None:
    depth = DEPTH_LIMIT - 1
    assert read("a: " + "[" * depth + "]" * depth)[1] == []
    assert read("a: " + "[" * (depth + 1) + "]" * (depth + 1))[1] != []


def test_many_aliases_do_not_grow() -> None:
    lines = ["a0: &a0 [x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30)]
    assert len(read("\n".join(lines))[1]) > 30


def test_scalars_keep_their_text_and_know_their_quotes() -> None:
    tree, found = read("a: off\nb: '1'\nc: |\n  x\n  y\nd: [~, \"\"]\ne: 1.10")
    assert found == []
    assert tree is not None
    values = [value for _, value in tree.pairs]
    texts = [(value.text, value.plain) for value in values if isinstance(value, Scalar)]
    assert texts == [("off", True), ("1", False), ("x\ny\n", False), ("1.10", True)]
    (items,) = [value.items for value in values if isinstance(value, Sequence)]
    assert [(item.text, item.plain) for item in items if isinstance(item, Scalar)] == [
        ("~", True),
        ("", False),
    ]
