"""One item of a server as a person reads it: what it is, or what changed in it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final

import msgspec

from mcp_jail.cli.inert_text import (
    ALIKE,
    KEPT,
    Line,
    changed_words,
    is_named_whole,
    json_lines,
    named,
    text_lines,
)
from mcp_jail.config.carried_code import has_code
from mcp_jail.core.approved.lock import Drift, ItemKind, Pin, canonical, kind_of
from mcp_jail.core.approved.word_diff import Op, Stretch, diff
from mcp_jail.core.text.command_shown import launch_shown

# The member that an item goes by, which its heading says already.
_KEYS: Final = {
    ItemKind.TOOL: "name",
    ItemKind.PROMPT: "name",
    ItemKind.TEMPLATE: "uriTemplate",
    ItemKind.RESOURCE: "uri",
}

# The members that stand first, in this order.
_FIRST: Final = ("title", "name", "description", "inputSchema", "arguments")

# Unchanged lines beside a changed one.
_CONTEXT_LINES: Final = 2

# Characters of an object or array that stands on one line.
_SHORT: Final = 60

# JSON on one line, every character as it is; a server's nesting was bounded when it was read.
_FLAT: Final = json.JSONEncoder(ensure_ascii=False, sort_keys=True).encode

# Characters of a line from which on two versions of it are compared word by word.
_LONG: Final = 40


class Part(msgspec.Struct, frozen=True):
    """A member of an item with its lines; the item as a whole has no label."""

    label: str
    lines: tuple[Line, ...]


class Sheet(msgspec.Struct, frozen=True):
    """How wide lines are, in columns, and whether long texts are cut."""

    width: int
    cut: bool = True


def parts_of(drift: Drift, sheet: Sheet) -> Iterator[Part]:
    """What there is to read of an item that was added, changed or removed."""
    yield from _name(drift.key, sheet)
    old, new = _value(drift.key, drift.approved), _value(drift.key, drift.seen)
    if drift.approved is None:
        yield from _whole(new, "|", sheet)
    elif drift.seen is None:
        yield from _whole(old, "-", sheet)
    elif type(old) is dict and type(new) is dict:
        yield from _changed(old, new, sheet)
        if kind_of(drift.key) is ItemKind.LAUNCH and canonical(old) == canonical(new):
            yield Part("argv", (Line(ALIKE, "the same words, with another secret among them"),))
    else:
        yield Part("", _compared(old, new, sheet))


def _value(key: str, pin: Pin | None) -> Any:
    """What was pinned, without the name where it is the one that the key says."""
    value = None if pin is None else pin.value
    if kind_of(key) is ItemKind.LAUNCH:
        return launch_shown(value, has_code)
    member = _KEYS.get(kind_of(key))
    if type(value) is not dict or member is None or value.get(member) != key.partition("/")[2]:
        return value
    return {name: each for name, each in value.items() if name != member}


def _name(key: str, sheet: Sheet) -> Iterator[Part]:
    """The name by itself, where the heading does not tell it to its end as it is."""
    if not is_named_whole(key):
        member = _KEYS.get(kind_of(key), "name")
        yield Part(member, _lines(key.partition("/")[2], "|", sheet))


def _whole(value: Any, gutter: str, sheet: Sheet) -> Iterator[Part]:
    """All of a value, member by member."""
    if type(value) is not dict:
        yield Part("", _lines(value, gutter, sheet))
        return
    for name in _ordered(value):
        yield from _member(name, _lines(value[name], gutter, sheet), sheet)


def _member(name: str, lines: tuple[Line, ...], sheet: Sheet) -> Iterator[Part]:
    """A member under its name; under a label of ours, where the name is too much for one."""
    if is_named_whole(name):
        yield Part(named(name), lines)
        return
    yield Part("a member by this name:", _lines(name, "|", sheet))
    yield Part("and what it says:", lines)


def _changed(old: dict[str, Any], new: dict[str, Any], sheet: Sheet) -> Iterator[Part]:
    """The members that are not as they were."""
    for name in _ordered(old | new):
        if name not in old:
            yield from _member(name, _lines(new[name], "+", sheet), sheet)
        elif name not in new:
            yield from _member(name, _lines(old[name], "-", sheet), sheet)
        elif canonical(old[name]) != canonical(new[name]):
            yield from _member(name, _compared(old[name], new[name], sheet), sheet)


def _ordered(members: dict[str, Any]) -> list[str]:
    """The names of members: what a model reads first, then by name; their order says nothing."""
    return [name for name in _FIRST if name in members] + sorted(members.keys() - {*_FIRST})


def _lines(value: Any, gutter: str, sheet: Sheet) -> tuple[Line, ...]:
    """A text as text, anything else as JSON."""
    if type(value) is str:
        return tuple(text_lines(value, sheet.width, gutter=gutter, cut=sheet.cut))
    return tuple(json_lines(_json(value), sheet.width, gutter=gutter, cut=sheet.cut))


def _compared(old: Any, new: Any, sheet: Sheet) -> tuple[Line, ...]:
    if type(old) is str and type(new) is str:
        return tuple(changed_words(old, new, sheet.width, cut=sheet.cut))
    return tuple(_changed_lines(_json(old).split("\n"), _json(new).split("\n"), sheet))


def _changed_lines(old: list[str], new: list[str], sheet: Sheet) -> Iterator[Line]:
    """Lines of JSON that changed, with what stands around them; long ones word by word."""
    stretches = diff(old, new)
    second = {at + 1 for at, pair in enumerate(pairwise(stretches)) if _are_long_pairs(*pair)}
    for at, stretch in enumerate(stretches):
        if at in second:
            continue  # shown with the one before
        if at + 1 in second:
            for one, other in zip(stretch.pieces, stretches[at + 1].pieces, strict=True):
                yield from changed_words(one, other, sheet.width, cut=sheet.cut)
        elif stretch.op is Op.KEPT and sheet.cut:
            is_last = at + 1 == len(stretches)
            yield from _around(list(stretch.pieces), sheet, is_first=at == 0, is_last=is_last)
        else:
            yield from json_lines(
                "\n".join(stretch.pieces), sheet.width, gutter=stretch.op.value, cut=sheet.cut
            )


def _around(lines: list[str], sheet: Sheet, *, is_first: bool, is_last: bool) -> Iterator[Line]:
    """Unchanged lines: those next to a change."""
    head = 0 if is_first else _CONTEXT_LINES
    tail = 0 if is_last else _CONTEXT_LINES
    left_out = len(lines) - head - tail
    if left_out <= 1:
        yield from json_lines("\n".join(lines), sheet.width)
        return
    if head:
        yield from json_lines("\n".join(lines[:head]), sheet.width)
    yield Line(KEPT, f"{left_out:,} lines as approved")
    if tail:
        yield from json_lines("\n".join(lines[-tail:]), sheet.width)


def _are_long_pairs(one: Stretch, other: Stretch) -> bool:
    """Whether lines went for as many others, each a long text."""
    return (
        (one.op, other.op) == (Op.OUT, Op.IN)
        and len(one.pieces) == len(other.pieces)
        and all(len(line) > _LONG for line in (*one.pieces, *other.pieces))
    )


def _json(value: Any, indent: str = "") -> str:
    """A value as JSON, what holds no other objects on one line where it is short."""
    flat = _FLAT(value)
    if not isinstance(value, dict | list) or not value:
        return flat
    inner = value.values() if isinstance(value, dict) else value
    if len(flat) <= _SHORT and not any(isinstance(each, dict | list) for each in inner):
        return flat
    deeper = indent + "  "
    if isinstance(value, dict):
        rows = [f"{deeper}{_FLAT(name)}: {_json(value[name], deeper)}" for name in sorted(value)]
        return "{\n" + ",\n".join(rows) + f"\n{indent}}}"
    return "[\n" + ",\n".join(deeper + _json(each, deeper) for each in value) + f"\n{indent}]"
