"""Laws of decisions: order never matters, a deny never opens, exact names beat globs."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from imagined import HOME, Imagined
from mcp_jail.core.policy import (
    Additional,
    Constraint,
    Policy,
    ToolRule,
    Tools,
    Verdict,
    strictest,
)
from mcp_jail.core.rules.constraints import same_json
from mcp_jail.core.rules.decide import Decision, ToolCall, compile_rules, decide
from mcp_jail.core.rules.globs import glob_matches, globs_overlap
from mcp_jail.core.rules.hosts import host_of_argument
from mcp_jail.core.rules.outlook import MISSING, Seen, SeenKind
from mcp_jail.core.rules.paths import resolve

ALLOW, ASK, DENY = Verdict.ALLOW, Verdict.ASK, Verdict.DENY
OUTLOOK = Imagined({f"{HOME}/p/a": "file", f"{HOME}/p/l": "-> /etc", "/etc/x": "file"})

TOOLS = st.text("ab_", min_size=1, max_size=4)
GLOBS = st.text("ab_*?", min_size=1, max_size=4)
VERDICTS = st.sampled_from(Verdict)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["", "x", f"{HOME}/p/a", f"{HOME}/p/l/x", "/etc/x", "https://a.b"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("xyXY"), inner),
    max_leaves=4,
)
CONSTRAINTS = st.one_of(
    st.builds(Constraint, under=st.just(("~/p",)), required=st.booleans()),
    st.builds(Constraint, equals=VALUES, required=st.booleans()),
    st.builds(Constraint, max=st.integers()),
    st.builds(Constraint, matches=st.sampled_from(["x", ".*", "[a-z/]+"])),
    st.builds(Constraint, each=st.builds(Constraint, under=st.just(("~/p",)))),
    st.builds(Constraint, host=st.just(("a.b",))),
)
NAMES = st.sampled_from(["x", "y", "x.y"])
RULES = VERDICTS | st.builds(
    ToolRule,
    decision=VERDICTS,
    otherwise=VERDICTS,
    additional=st.sampled_from(Additional),
    args=st.dictionaries(NAMES, CONSTRAINTS, max_size=2),
)
BOOKS = st.dictionaries(GLOBS, RULES, max_size=6)
ARGUMENTS = st.dictionaries(st.sampled_from(["x", "y", "X", "x.y", "z"]), VALUES, max_size=3)


def judge(
    rules: dict[str, Verdict | ToolRule], default: Verdict, tool: str, arguments: dict[str, Any]
) -> Decision:
    policy = Policy(name="p", tools=Tools(default=default, rules=rules))
    book = compile_rules(policy, {}, home=HOME, cwd=None)
    return decide(ToolCall(tool, arguments, None), book, OUTLOOK)


@given(BOOKS, VERDICTS, TOOLS, ARGUMENTS, st.randoms(use_true_random=False))
def test_the_order_of_rules_and_constraints_never_matters(
    rules: dict[str, Verdict | ToolRule],
    default: Verdict,
    tool: str,
    arguments: dict[str, Any],
    random: Any,
) -> None:
    names = list(rules)
    random.shuffle(names)
    shuffled = {name: _reversed(rules[name]) for name in names}
    turned = dict(reversed(arguments.items()))
    assert judge(rules, default, tool, arguments) == judge(shuffled, default, tool, turned)


@given(BOOKS, VERDICTS, TOOLS, ARGUMENTS, GLOBS)
def test_a_deny_that_is_added_never_opens(
    rules: dict[str, Verdict | ToolRule],
    default: Verdict,
    tool: str,
    arguments: dict[str, Any],
    denied: str,
) -> None:
    before = judge(rules, default, tool, arguments).verdict
    after = judge({**rules, denied: DENY}, default, tool, arguments).verdict
    assert strictest(before, after) is after


@given(BOOKS, VERDICTS, TOOLS, ARGUMENTS, CONSTRAINTS, NAMES)
def test_a_constraint_that_is_added_never_opens(
    rules: dict[str, Verdict | ToolRule],
    default: Verdict,
    tool: str,
    arguments: dict[str, Any],
    constraint: Constraint,
    name: str,
) -> None:
    before = judge(rules | {tool: ToolRule(decision=ALLOW)}, default, tool, arguments).verdict
    held = ToolRule(decision=ALLOW, args={name: constraint})
    after = judge(rules | {tool: held}, default, tool, arguments).verdict
    assert strictest(before, after) is after


@given(RULES, VERDICTS, ARGUMENTS)
def test_a_rule_that_is_closed_never_opens(
    rule: Verdict | ToolRule, default: Verdict, arguments: dict[str, Any]
) -> None:
    if isinstance(rule, Verdict):
        rule = ToolRule(decision=rule)
    opened = msgspec.structs.replace(rule, additional=Additional.ALLOW)
    closed = msgspec.structs.replace(rule, additional=Additional.DENY)
    before = judge({"t": opened}, default, "t", arguments).verdict
    after = judge({"t": closed}, default, "t", arguments).verdict
    assert strictest(before, after) is after


@given(
    st.dictionaries(NAMES, VALUES, max_size=3),
    st.dictionaries(st.text("xyz.", max_size=3), VALUES, max_size=3),
)
def test_a_closed_rule_holds_for_no_other_names_than_it_says(
    wanted: dict[str, Any], arguments: dict[str, Any]
) -> None:
    args = {name: Constraint(equals=value) for name, value in wanted.items()}
    rule = ToolRule(decision=ALLOW, args=args, additional=Additional.DENY, otherwise=ASK)
    if judge({"t": rule}, DENY, "t", arguments).verdict is ALLOW:
        heads = {name.partition(".")[0] for name in wanted}
        assert {name.partition(".")[0] for name in arguments} <= heads


@given(BOOKS, VERDICTS, TOOLS, VERDICTS, ARGUMENTS)
def test_an_exact_name_decides_alone(
    rules: dict[str, Verdict | ToolRule],
    default: Verdict,
    tool: str,
    verdict: Verdict,
    arguments: dict[str, Any],
) -> None:
    assert judge(rules | {tool: verdict}, default, tool, arguments).verdict is verdict


@given(BOOKS, VERDICTS, TOOLS)
def test_a_tool_that_is_denied_always_is_denied_whatever_its_arguments(
    rules: dict[str, Verdict | ToolRule], default: Verdict, tool: str
) -> None:
    policy = Policy(name="p", tools=Tools(default=default, rules=rules))
    book = compile_rules(policy, {}, home=HOME, cwd=None)
    if book.denies_always(tool):
        for arguments in ({}, {"x": "x"}, {"x": f"{HOME}/p/a", "y": 1}):
            assert decide(ToolCall(tool, arguments, None), book, OUTLOOK).verdict is DENY


@given(st.text("ab*?", max_size=8), st.text("ab", max_size=8))
def test_a_glob_fits_what_its_regular_expression_fits(glob: str, name: str) -> None:
    pattern = "".join({"*": ".*", "?": "."}.get(one, re.escape(one)) for one in glob)
    assert glob_matches(glob, name) == (re.fullmatch(pattern, name) is not None)


@given(st.text("ab*?", max_size=5), st.text("ab*?", max_size=5), st.text("ab", max_size=7))
def test_two_globs_that_fit_one_name_overlap(one: str, other: str, name: str) -> None:
    if glob_matches(one, name) and glob_matches(other, name):
        assert globs_overlap(one, other)
    assert globs_overlap(one, other) == globs_overlap(other, one)


@given(VALUES, VALUES)
def test_equal_json_values_are_written_alike(one: Any, other: Any) -> None:
    assert same_json(one, one)
    assert same_json(one, other) == (_written(one) == _written(other))


HOSTS = st.sampled_from(["a.b", "good.com", "127.0.0.1", "[::1]", "evil.com", "xn--a.b"])
PIECES = st.sampled_from([*"@/?#:.\\%[]*-_ \t\n", "443", "http", "://", "user", "\u3002"])
URLS = st.lists(st.one_of(HOSTS, PIECES), max_size=6).map(lambda parts: "https://" + "".join(parts))


@given(URLS)
def test_a_url_that_is_taken_leads_another_parser_to_the_same_host(url: str) -> None:
    place = host_of_argument(url)
    if place is None:
        return
    split = urlsplit(url)
    assert (split.hostname or "").rstrip(".") == place.host
    assert (split.port or 443) == place.port
    assert split.username is None


@given(st.dictionaries(st.text("ab/.", max_size=6), st.text("ab/.", max_size=6)), st.text("ab/."))
def test_a_walk_always_ends(links: dict[str, str], path: str) -> None:
    def look(one: str) -> Seen:
        target = links.get(one.removeprefix("/"))
        return MISSING if target is None else Seen(SeenKind.LINK, target)

    end = resolve(path, look)
    assert end is None or all(part not in {"", ".", ".."} for part in end)


def _reversed(rule: Verdict | ToolRule) -> Verdict | ToolRule:
    if isinstance(rule, Verdict):
        return rule
    return ToolRule(
        decision=rule.decision,
        otherwise=rule.otherwise,
        additional=rule.additional,
        args=dict(reversed(rule.args.items())),
    )


def _written(value: Any) -> str:
    if isinstance(value, dict):
        return repr({key: _written(value[key]) for key in sorted(value)})
    if isinstance(value, list):
        return repr([_written(inner) for inner in value])
    # -0.0 and 0.0 are one number.
    return repr(value + 0.0) if isinstance(value, float) else repr(value)
