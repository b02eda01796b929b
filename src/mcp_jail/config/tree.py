"""YAML text to a tree of nodes with their places; the only reader of YAML in the project.

A policy is read by people, so only what reads the same to everyone is taken: no anchors, aliases,
merge keys, tags, second documents, duplicate keys, and no characters that hide text or end lines in
some programs only. The tree is built from libyaml's events, without recursion.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec
import yaml

from mcp_jail.config.problems import Problems
from mcp_jail.errors import Place

# Bytes of a policy. The largest useful one has some thousand rules, a tenth of this.
SIZE_LIMIT = 1024 * 1024

# Nesting of mappings and lists. The format needs 9; `each` and `equals` may add some.
DEPTH_LIMIT = 32


class Node(msgspec.Struct, frozen=True):
    """Anything in the file; a plain Node is one that was refused and is passed over in silence."""

    place: Place


class Scalar(Node, frozen=True):
    """A text as it stands in the file; `plain` means without quotes."""

    text: str
    plain: bool


class Sequence(Node, frozen=True):
    """A list."""

    items: tuple[Node, ...]


class Mapping(Node, frozen=True):
    """Keys with their values, in the order of the file; each key stands once."""

    pairs: tuple[tuple[Scalar, Node], ...]


def parse(text: str, problems: Problems) -> Mapping | None:
    """The tree of a text, None where it is no mapping at all; refused parts become problems."""
    for match in _refused(text).finditer(text):
        line, column = _line_and_column(text, match.start())
        character = f"U+{ord(match[0]):04X}"
        problems.add(problems.at(line, column), f"the character {character} is not allowed here")
    if problems.in_order():
        return None
    builder = _Builder(problems)
    try:
        for event in _events(text):
            if not builder.take(event):
                return None
    except yaml.MarkedYAMLError as error:
        place = _place_of(error.problem_mark or error.context_mark, problems)
        words = "; ".join(part for part in (error.problem, error.context) if part)
        problems.add(place, f"not YAML: {words}", _hint_of(error, text))
        return None
    return _top(builder.top, problems)


# C0 but tab, LF and CRLF; DEL.
_REFUSED_ASCII = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n)")
# C1 with NEL; line and paragraph separators, which YAML 1.1 takes for line ends and editors do not;
# what turns or hides text (CVE-2021-42574); surrogates.
_REFUSED_WIDE = (
    "[\x80-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufffe\uffff\ud800-\udfff"
    "\U000e0000-\U000e0fff]"
)
_QUOTE_STAR = "put a text that begins with '*' into quotes"
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Builder:
    """Puts events together; `top` is the document's root once all are taken."""

    def __init__(self, problems: Problems) -> None:
        self.top: Node | None = None
        self._problems = problems
        self._open: list[tuple[yaml.Event, list[Node]]] = []
        self._documents = 0

    def take(self, event: yaml.Event) -> bool:
        """Take one event; False where reading on makes no sense."""
        match event:
            case yaml.DocumentStartEvent():
                return self._start_document(event)
            case yaml.AliasEvent():
                self._refuse(event, "an alias ('*name') is not allowed", _QUOTE_STAR)
                self._put(Node(self._place(event)))
            case yaml.ScalarEvent():
                self._refuse_properties(event)
                plain = event.style not in {"'", '"', "|", ">"}
                self._put(Scalar(self._place(event), event.value, plain))
            case yaml.CollectionStartEvent():
                self._refuse_properties(event)
                self._open.append((event, []))
                if len(self._open) > DEPTH_LIMIT:
                    return self._refuse(event, f"nested deeper than {DEPTH_LIMIT}")
            case yaml.CollectionEndEvent():
                start, children = self._open.pop()
                self._put(self._closed(start, children))
            case _:
                pass
        return True

    def _start_document(self, event: yaml.DocumentStartEvent) -> bool:
        self._documents += 1
        if self._documents > 1:
            return self._refuse(event, "a second document ('---') is not allowed")
        if event.tags:
            self._refuse(event, "a %TAG directive is not allowed")
        return True

    def _closed(self, start: yaml.Event, children: list[Node]) -> Node:
        place = self._place(start)
        if isinstance(start, yaml.SequenceStartEvent):
            return Sequence(place, tuple(children))
        pairs: dict[str, tuple[Scalar, Node]] = {}
        for key, value in zip(children[::2], children[1::2], strict=True):
            if not isinstance(key, Scalar):
                self._refuse_key(key, "a key must be a text, not a list or a mapping")
            elif key.plain and key.text == "<<":
                self._refuse_key(key, "a merge key ('<<') is not allowed")
            elif key.text in pairs:
                first = pairs[key.text][0].place.line
                self._refuse_key(
                    key, f"the key {key.text!r} stands here a second time (first in line {first})"
                )
            else:
                pairs[key.text] = (key, value)
        return Mapping(place, tuple(pairs.values()))

    def _refuse_key(self, key: Node, message: str) -> None:
        if type(key) is not Node:
            self._problems.add(key.place, message)

    def _put(self, node: Node) -> None:
        if self._open:
            self._open[-1][1].append(node)
        else:
            self.top = node

    def _refuse_properties(self, event: yaml.ScalarEvent | yaml.CollectionStartEvent) -> None:
        if event.anchor is not None:
            self._refuse(event, "an anchor ('&name') is not allowed", "write the value out twice")
        if event.tag is not None:
            self._refuse(event, "a tag ('!name') is not allowed", "use quotes to make a text")

    def _refuse(self, event: yaml.Event, message: str, hint: str = "") -> bool:
        self._problems.add(self._place(event), message, hint)
        return False

    def _place(self, event: yaml.Event) -> Place:
        return _place_of(event.start_mark, self._problems)


def _events(text: str) -> Iterator[yaml.Event]:
    return yaml.parse(text, Loader=_LOADER)


def _top(node: Node | None, problems: Problems) -> Mapping | None:
    match node:
        case Mapping():
            return node
        case None | Scalar(_, "", True):
            problems.add(problems.at(1, 1), "the file is empty", "a policy begins with 'name: ...'")
        case _:
            problems.add(node.place, "a policy is a mapping of keys, such as 'name: filesystem'")
    return None


def _hint_of(error: yaml.MarkedYAMLError, text: str) -> str:
    problem, context = error.problem or "", error.context or ""
    if "alias" in context:
        return _QUOTE_STAR
    if _has_tabs(text, error.problem_mark) or _has_tabs(text, error.context_mark):
        return "indent with spaces, not with tabs"
    if "flow" in context and error.context_mark is not None:
        bracket = "[" if "sequence" in context else "{"
        line = error.context_mark.line + 1
        return f"the '{bracket}' of line {line} is not closed before this"
    if "mapping values are not allowed" in problem:
        return "put a text that holds ': ' into quotes"
    return ""


def _has_tabs(text: str, mark: Any) -> bool:
    """Whether the line at a mark is indented with tabs, which libyaml does not say."""
    lines = text.split("\n")
    line = lines[mark.line] if mark and mark.line < len(lines) else ""
    return "\t" in line[: len(line) - len(line.lstrip())]


def _place_of(mark: Any, problems: Problems) -> Place:
    return problems.at(mark.line + 1, mark.column + 1) if mark else problems.at(1, 1)


def _line_and_column(text: str, index: int) -> tuple[int, int]:
    start = text.rfind("\n", 0, index) + 1
    return text.count("\n", 0, index) + 1, index - start + 1


def _refused(text: str) -> re.Pattern[str]:
    """What may not stand in a file; a plain one is not held up by 15 ms of compiling the rest."""
    if text.isascii():
        return _REFUSED_ASCII
    return re.compile(f"{_REFUSED_ASCII.pattern}|{_REFUSED_WIDE}")
