"""Where each value of a policy begins and ends in its text, for edits that keep all the rest.

Reads only what `config.tree` has taken already: one document without anchors, tags and duplicate
keys, nested not too deep. Positions count characters of the text as it was given.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import yaml

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Span(msgspec.Struct, frozen=True):
    """A value from its first character to behind its last one, without the comments around it."""

    start: int
    end: int


class Word(Span, frozen=True):
    """A scalar; `text` is what it says."""

    text: str


class Items(Span, frozen=True):
    """A list; `column` is that of its dashes or bracket, from 0."""

    column: int
    is_flow: bool
    items: tuple[Span, ...]


class Keys(Span, frozen=True):
    """A mapping; `column` is that of its keys or bracket, from 0."""

    column: int
    is_flow: bool
    pairs: tuple[tuple[Word, Span], ...]

    def pair(self, key: str) -> tuple[Word, Span] | None:
        """A key and its value."""
        return next((pair for pair in self.pairs if pair[0].text == key), None)


def read_spans(text: str) -> Keys:
    """The mapping that a whole policy is."""
    events = yaml.parse(text, Loader=_LOADER)
    for event in events:
        if isinstance(event, yaml.MappingStartEvent):
            return _keys(event, events)
    raise ValueError("no mapping in the text")


def _span(event: Any, events: Iterator[Any]) -> Span:
    match event:
        case yaml.MappingStartEvent():
            return _keys(event, events)
        case yaml.SequenceStartEvent():
            return _items(event, events)
        case _:
            return Word(event.start_mark.index, event.end_mark.index, event.value)


def _keys(start: Any, events: Iterator[Any]) -> Keys:
    children, end = _children(start, events)
    pairs = zip(children[::2], children[1::2], strict=True)
    words = tuple((key, value) for key, value in pairs if isinstance(key, Word))
    mark = start.start_mark
    return Keys(mark.index, end, mark.column, bool(start.flow_style), words)


def _items(start: Any, events: Iterator[Any]) -> Items:
    children, end = _children(start, events)
    mark = start.start_mark
    return Items(mark.index, end, mark.column, bool(start.flow_style), tuple(children))


def _children(start: Any, events: Iterator[Any]) -> tuple[list[Span], int]:
    """What lies in a collection, and its end.

    One without brackets ends with its last child: its own end event stands where the next thing
    begins, behind comments that may belong to that.
    """
    children: list[Span] = []
    for event in events:
        if isinstance(event, yaml.CollectionEndEvent):
            mark: Any = event.end_mark
            if start.flow_style or not children:
                return children, mark.index
            return children, children[-1].end
        children.append(_span(event, events))
    raise ValueError("the text ends within a collection")
