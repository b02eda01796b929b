"""Laws of rules put into policies: any layout, any call; what is around stays, what comes holds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from imagined import HOME
from mcp_jail import config
from mcp_jail.config.rule_edit import with_rule
from mcp_jail.config.spans import Items, Keys, Span, Word, read_spans
from mcp_jail.config.yaml_text import value_text
from mcp_jail.core.policy import Verdict
from mcp_jail.core.rules.constraints import same_json
from mcp_jail.core.rules.decide import ToolCall, compile_rules, decide
from mcp_jail.core.rules.narrow import RuleEdit, Section, narrowest, narrowest_denial
from mcp_jail.core.rules.outlook import Blind

Tree = dict[str, Any]
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=4), inner)
    ),
    max_leaves=6,
)
ARGUMENTS = st.dictionaries(st.text("ab_ :#\"'-", max_size=4), VALUES, max_size=3)
VERDICTS = st.sampled_from(["allow", "ask", "deny"])
WORDS = st.dictionaries(st.sampled_from(["a", "b c", "t*", "t", "#", "x:y", "yes"]), VERDICTS)
RULES = st.dictionaries(
    st.sampled_from(["a", "b c", "u*", "#", "x:y"]),
    VERDICTS
    | st.fixed_dictionaries(
        {"decision": st.just("allow"), "args": st.just({"x": {"one_of": ["1", "2"]}})}
    ),
    max_size=3,
)
TREES = st.fixed_dictionaries(
    {"name": st.just("p")},
    optional={
        "roots": st.just("deny"),
        "tools": st.fixed_dictionaries(
            {}, optional={"hide_denied": st.just("true"), "default": st.just("ask"), "rules": RULES}
        ),
        "env": st.just({"set": {"A": "b", "C": "#d"}}),
        "filesystem": st.just({"read_only": ["/srv", "~/p"]}),
        "prompts": st.fixed_dictionaries({"default": st.just("ask")}, optional={"rules": WORDS}),
        "resources": st.fixed_dictionaries({}, optional={"rules": WORDS}),
    },
)


class Writer:
    """Writes a tree as YAML in a layout that is drawn, each comment with a number of its own."""

    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw
        self._step = draw(st.integers(1, 4))
        self._count = 0

    def text(self, tree: Tree) -> str:
        lines = [*self._comments(0)]
        if self._any():
            lines.append("---")
        if self._draw(st.integers(0, 5)) == 0:
            lines.append(self._row(tree))
        else:
            lines += self._lines(self._shuffled(tree), 0)
        lines += self._comments(0)
        if self._any():
            lines.append("...")
        newline = self._draw(st.sampled_from(["\n", "\r\n"]))
        end = newline if self._any() else ""
        mark = "\ufeff" if self._any() else ""
        return mark + newline.join(lines) + end

    def _lines(self, tree: Tree, column: int) -> Iterator[str]:
        for key, value in tree.items():
            yield from self._comments(column)
            head = f"{' ' * column}{self._word(key)}:"
            if isinstance(value, dict) and value and self._any():
                yield f"{head}{self._note()}"
                yield from self._lines(value, column + self._step)
            elif isinstance(value, dict) and value and self._any():
                yield f"{head} {{{self._note()}"
                yield from self._braces(value, column + self._step)
                yield f"{' ' * (column + self._draw(st.integers(1, 2)))}}}{self._note()}"
            elif isinstance(value, list) and self._any():
                yield f"{head}{self._note()}"
                yield from (f"{' ' * (column + 1)}- {self._word(item)}" for item in value)
            else:
                yield f"{head} {self._row(value)}{self._note()}"
        if column:
            yield from self._comments(column)

    def _braces(self, tree: Tree, column: int) -> Iterator[str]:
        for index, (key, value) in enumerate(tree.items()):
            comma = "," if index + 1 < len(tree) or self._any() else ""
            pair = f"{self._word(key)}: {self._row(value)}"
            yield f"{' ' * column}{pair}{comma}{self._note()}"

    def _row(self, value: Any) -> str:
        if isinstance(value, dict):
            pairs = [f"{self._word(key)}: {self._row(each)}" for key, each in value.items()]
            comma = "," if pairs and self._any() else ""
            return f"{{{', '.join(pairs)}{comma}}}"
        if isinstance(value, list):
            return f"[{', '.join(map(self._row, value))}]"
        return self._word(value)

    def _word(self, text: str) -> str:
        is_plain = re.fullmatch(r"[a-z_]+", text) and text != "yes"
        styles = [value_text(text), f"'{text}'"] + ([text, text] if is_plain else [])
        return text if text == "true" else self._draw(st.sampled_from(styles))

    def _comments(self, column: int) -> Iterator[str]:
        for _ in range(self._draw(st.sampled_from([0, 0, 0, 1, 2]))):
            blank = ["", "  "][self._draw(st.integers(0, 1))]
            yield blank if self._any() else f"{' ' * column}{self._note().strip() or '#'}"

    def _note(self) -> str:
        if self._draw(st.integers(0, 2)):
            return ""
        self._count += 1
        return f' # c{self._count}: it\'s "x" {{'

    def _shuffled(self, tree: Tree) -> Tree:
        return dict(self._draw(st.permutations([*tree.items()])))

    def _any(self) -> bool:
        return self._draw(st.booleans())


@st.composite
def policies(draw: st.DrawFn) -> str:
    return Writer(draw).text(draw(TREES))


def narrowed(text: str, section: Section, name: str, arguments: Tree) -> RuleEdit | None:
    loaded = config.load(text, "p.yaml")
    book = compile_rules(loaded.policy, loaded.places, home=HOME, cwd=None)
    found = narrowest(book, section, name, arguments)
    return found if isinstance(found, RuleEdit) else None


def verdict(text: str, arguments: Tree, tool: str = "t") -> Verdict:
    book = compile_rules(config.load(text, "p.yaml").policy, {}, home=HOME, cwd=None)
    return decide(ToolCall(tool, arguments, None), book, Blind()).verdict


def comments(text: str) -> list[str]:
    return re.findall(r"# c[0-9]+: it's \"x\" \{", text)


def holds_in_order(text: str, parts: str) -> bool:
    """Whether the characters of `parts` stand in a text in this order."""
    rest = iter(text)
    return all(character in rest for character in parts)


def check_around(before: str, after: str) -> None:
    """The old text is there whole, but for one `ask` or `{}`, in the same line ends."""
    assert comments(after) == comments(before)
    kept = [before, *(before[: one.start()] + before[one.end() :] for one in REPLACED(before))]
    assert any(holds_in_order(after, part) for part in kept)
    assert after.startswith("\ufeff") is before.startswith("\ufeff")
    assert ("\r" in after) is ("\r" in before) or "\n" not in before
    if "\r" in before:
        assert re.search(r"(?<!\r)\n", after) is None
    if "\n" in before:
        assert after.endswith("\n") is before.endswith("\n")


REPLACED = re.compile(r" *(?:\"ask\"|'ask'|ask|\{ *\})").finditer


@given(policies(), ARGUMENTS, VALUES, ARGUMENTS)
def test_a_rule_goes_into_any_policy_and_allows_its_call_alone(
    text: str, call: Tree, value: Any, other: Tree
) -> None:
    edit = narrowed(text, Section.TOOLS, "t", call)
    if edit is None:
        return
    changed = with_rule(text, "p.yaml", edit)
    check_around(text, changed)
    assert verdict(changed, call) is Verdict.ALLOW
    assert same_json(call, other) or verdict(changed, other) is Verdict.ASK
    for tool in ("a", "b c", "u", "x:y", "zz"):
        assert verdict(changed, other, tool) is verdict(text, other, tool)
    if not call:
        return
    second = call | {next(iter(call)): value}
    wider = narrowed(changed, Section.TOOLS, "t", second)
    if wider is not None:
        changed = with_rule(changed, "p.yaml", wider)
        check_around(text, changed)
        assert verdict(changed, call) is verdict(changed, second) is Verdict.ALLOW
        known = same_json(call, other) or same_json(second, other)
        assert known or verdict(changed, other) is Verdict.ASK


@given(policies(), st.sampled_from(["a", "b c", "t", "zz", "x:y", "#", "yes", "note://x"]))
def test_a_word_goes_into_any_policy(text: str, name: str) -> None:
    for section in (Section.PROMPTS, Section.RESOURCES):
        edit = narrowed(text, section, name, {})
        if edit is not None:
            changed = with_rule(text, "p.yaml", edit)
            if len(edit.rules) == 1:
                check_around(text, changed)
            assert comments(changed) == comments(text)
            assert narrowed(changed, section, name, {}) is None
    loaded = config.load(text, "p.yaml")
    book = compile_rules(loaded.policy, loaded.places, home=HOME, cwd=None)
    denial = narrowest_denial(book, Section.PROMPTS, name)
    if isinstance(denial, RuleEdit):
        check_around(text, with_rule(text, "p.yaml", denial))


@given(policies())
def test_every_span_is_the_text_of_its_value(text: str) -> None:
    text = text.removeprefix("\ufeff")
    spans = [*all_spans(read_spans(text))]
    for span in spans:
        piece = text[span.start : span.end]
        assert piece == piece.strip()
        if isinstance(span, Word):
            assert piece.strip("'\"") in {span.text, value_text(span.text).strip('"')}
        if isinstance(span, Keys | Items) and span.is_flow:
            assert piece[0] + piece[-1] in {"{}", "[]"}
    assert len({(type(span), span.start, span.end) for span in spans}) == len(spans)


def all_spans(span: Span) -> Iterator[Span]:
    yield span
    if isinstance(span, Keys):
        for pair in span.pairs:
            for each in pair:
                yield from all_spans(each)
    if isinstance(span, Items):
        for each in span.items:
            yield from all_spans(each)


@given(VALUES)
def test_a_value_is_read_back_exactly(value: Any) -> None:
    rule_text = f"{{decision: ask, args: {{x: {{equals: {value_text(value)}}}}}}}"
    text = f"name: p\ntools: {{rules: {{t: {rule_text}}}}}"
    rule = config.load(text, "p.yaml").policy.tools.rules["t"]
    assert not isinstance(rule, Verdict)
    assert same_json(rule.args["x"].equals, value)
    assert value_text(value).isprintable()
