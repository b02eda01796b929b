"""YAML to a tree with spans, from PyYAML's events; nothing is ever dumped.

The pure reader is used and not libyaml's: its marks count characters on every line end.
"""

from __future__ import annotations

import re
from typing import Any, NoReturn

import yaml

from mcp_jail.clients.document import (
    DEPTH_LIMIT,
    Alias,
    Document,
    DocumentError,
    Items,
    Member,
    Members,
    Node,
    Other,
    Style,
    Text,
    place_of,
)
from mcp_jail.clients.json_spans import BOM
from mcp_jail.errors import Place

MERGE = "<<"

# A plain text that means the same in a list of any style, and after any key.
_SAFE_PLAIN = re.compile(r"[A-Za-z0-9_./@+-]+\Z")


def read_yaml(text: str, file: str) -> Document:
    """The tree of a text; DocumentError where it is no YAML, or more than one document."""
    builder = _Builder(text, file)
    try:
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            builder.take(event)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = Place(file, mark.line + 1, mark.column + 1) if mark else Place(file, 1, 1)
        raise DocumentError(f"not YAML: {error.problem or error.context}", where=where) from None
    except yaml.YAMLError as error:
        raise DocumentError(f"not YAML: {error}", where=Place(file, 1, 1)) from None
    if builder.top is None or text.strip(f" \t\r\n{BOM}") == "":
        raise DocumentError("the file is empty", where=Place(file, 1, 1))
    return Document(text, builder.top, ": ")


class _Builder:
    """Puts events together; `top` is the document's root once all are taken."""

    def __init__(self, text: str, file: str) -> None:
        self.top: Node | None = None
        self._text, self._file = text, file
        self._open: list[tuple[yaml.CollectionStartEvent, list[Node]]] = []
        self._anchors: dict[str, Node] = {}  # maps and lists, as they count from here on
        self._documents = 0
        self._resolver = yaml.SafeLoader("")

    def take(self, event: yaml.Event) -> None:
        """Take one event."""
        start = _index(event.start_mark)
        match event:
            case yaml.DocumentStartEvent():
                self._documents += 1
                if self._documents > 1:
                    self._fail(start, "a second document ('---')")
            case yaml.AliasEvent():
                self._put(self._alias(event, start))
            case yaml.ScalarEvent():
                self._put(self._scalar(event, start))
            case yaml.CollectionStartEvent():
                self._open.append((event, []))
                self._anchors.pop(event.anchor or "", None)
                if len(self._open) > DEPTH_LIMIT:
                    self._fail(start, f"nested deeper than {DEPTH_LIMIT}")
            case yaml.CollectionEndEvent():
                opened, children = self._open.pop()
                node = self._collection(opened, event, children)
                if opened.anchor is not None:
                    self._anchors[opened.anchor] = node
                self._put(node)
            case _:
                pass

    def _alias(self, event: yaml.AliasEvent, start: int) -> Alias:
        odd, target = f"an alias (*{event.anchor})", self._anchors.get(event.anchor or "")
        return Alias(start, self._end(event), oddity=odd, target=target)

    def _scalar(self, event: yaml.ScalarEvent, start: int) -> Node:
        end, odd = self._end(event), _oddity(event)
        if odd:
            start = self._past_properties(start)
        is_block = event.style in {"|", ">"}
        if is_block:  # its mark stands behind the line end, and behind empty lines
            end = start + len(self._text[start:end].rstrip(" \t\r\n"))
        tag: str = self._resolver.resolve(  # type: ignore[no-untyped-call]
            yaml.ScalarNode, event.value, event.implicit
        )
        if event.tag is None and tag != "tag:yaml.org,2002:str":
            node = yaml.ScalarNode(tag, event.value)
            return Other(start, end, self._meaning(node, start), oddity=odd)
        is_movable = not is_block and "\n" not in self._text[start:end]
        if not event.style:
            is_movable = bool(_SAFE_PLAIN.match(event.value))
        return Text(start, end, event.value, is_movable, oddity=odd)

    def _meaning(self, node: yaml.ScalarNode, start: int) -> Any:
        try:
            return self._resolver.construct_object(node)
        except (yaml.YAMLError, ValueError):
            if node.value == MERGE:
                return MERGE
            return self._fail(start, f"'{node.value}' has no meaning")

    def _collection(
        self, opened: yaml.CollectionStartEvent, event: yaml.CollectionEndEvent, nodes: list[Node]
    ) -> Node:
        start, end, odd = _index(opened.start_mark), self._end(event), _oddity(opened)
        style = Style.FLOW if opened.flow_style else Style.BLOCK
        if odd:
            start = self._past_properties(start)
        if style is Style.BLOCK and nodes:
            end = nodes[-1].end
        if isinstance(opened, yaml.SequenceStartEvent):
            return Items(start, end, tuple(nodes), style, oddity=odd)
        pairs = zip(nodes[::2], nodes[1::2], strict=True)
        members = tuple(
            Member(self._key(key), key.start, key.end, value, key.start) for key, value in pairs
        )
        return Members(start, end, members, style, oddity=odd)

    def _key(self, node: Node) -> str:
        match node:
            case Text(value=value):
                return value
            case Other():
                return self._text[node.start : node.end]
            case _:
                return self._fail(node.start, "a key that is no plain text")

    def _past_properties(self, at: int) -> int:
        """Where the value itself begins, behind its anchor and tag."""
        match = re.compile(r"(?:[&!]\S*\s+)+").match(self._text, at)
        return match.end() if match else at

    def _end(self, event: yaml.Event) -> int:
        return _index(event.end_mark)

    def _put(self, node: Node) -> None:
        if self._open:
            self._open[-1][1].append(node)
        else:
            self.top = node

    def _fail(self, at: int, message: str) -> NoReturn:
        raise DocumentError(message, where=place_of(self._text, self._file, at))


def _oddity(event: yaml.ScalarEvent | yaml.CollectionStartEvent) -> str:
    if event.anchor is not None:
        return f"an anchor (&{event.anchor})"
    return "a tag (!)" if event.tag is not None else ""


def _index(mark: Any) -> int:
    """Where a mark stands, in characters."""
    return int(mark.index)
