"""Changes of a text: what stands in place of a span, and how members and items come and go."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

import msgspec

from mcp_jail.clients.document import Document, Items, Member, Members, Node, Style, quoted
from mcp_jail.clients.json_spans import BOM
from mcp_jail.store.wrapped import Undo


class Splice(msgspec.Struct, frozen=True):
    """A text in place of `text[start:end]`."""

    start: int
    end: int
    text: str


def spliced(text: str, splices: Iterable[Splice]) -> tuple[str, tuple[Undo, ...]]:
    """A text with all splices carried out, and how to take them back; they must not overlap."""
    ordered = sorted(splices, key=lambda splice: (splice.start, splice.end))
    if any(one.end > other.start for one, other in pairwise(ordered)):
        raise ValueError("splices overlap")
    parts, undo, at, moved = [], [], 0, 0
    for splice in ordered:
        parts += [text[at : splice.start], splice.text]
        undo.append(Undo(splice.start + moved, len(splice.text), text[splice.start : splice.end]))
        moved += len(splice.text) - (splice.end - splice.start)
        at = splice.end
    return "".join([*parts, text[at:]]), tuple(undo)


def taken_back(text: str, undo: Sequence[Undo]) -> str:
    """The text before the splices."""
    splices = [Splice(each.start, each.start + each.length, each.text) for each in undo]
    return spliced(text, splices)[0]


def replaced(node: Node, raw: str) -> Splice:
    """Another value in a value's place."""
    return Splice(node.start, node.end, raw)


def put_first(document: Document, items: Items, raws: Sequence[str]) -> Splice:
    """New items before all others."""
    if items.style is Style.BLOCK:
        indent = " " * _column(document.text, items.start)
        newline = _newline(document.text, items.start)
        lines = "".join(f"- {raw}{newline}{indent}" for raw in raws)
        return Splice(items.start, items.start, lines)
    joined = ", ".join(raws)
    if items.items:
        at = items.items[0].start
        return Splice(at, at, joined + ", ")
    return Splice(items.start + 1, items.start + 1, joined)


def drop_first(document: Document, items: Items, count: int) -> Splice:
    """The list without its first items."""
    text = document.text
    rest = items.items[count:]
    if items.style is Style.BLOCK:
        if not rest:
            return Splice(items.start, items.end, "  []")
        return Splice(items.start, _dash_before(text, rest[0].start), "")
    first = items.items[0].start
    if rest:
        return Splice(first, rest[0].start, "")
    end = items.items[-1].end
    comma = re.match(r"\s*,", text[end : items.end - 1])
    end += comma.end() if comma else 0
    around = text[items.start + 1 : first] + text[end : items.end - 1]
    if first > items.start + 1 and not around.strip():
        return Splice(items.start, items.end, "[]")
    return Splice(first, end, "")


def put_member(document: Document, members: Members, key: str, raw: str, after: Member) -> Splice:
    """A new member behind another one."""
    text, newline = document.text, _newline(document.text, after.value.end)
    name = _key(document, members.style, key)
    if members.style is Style.FLOW:
        return Splice(after.value.end, after.value.end, f", {name}{document.colon}{raw}")
    at = _line_end(text, after.value.end)
    if members.style is Style.BLOCK:
        indent = " " * _column(text, after.start)
        return Splice(at, at, f"{newline}{indent}{name}{document.colon}{raw}")
    indent = text[_line_start(text, after.line) : after.line]
    dotted = text[after.line : after.start]
    return Splice(at, at, f"{newline}{indent}{dotted}{name}{document.colon}{raw}")


def put_all(document: Document, members: Members, pairs: dict[str, str]) -> Splice:
    """Members in a map that has none."""
    named = [
        f"{_key(document, members.style, key)}{document.colon}{raw}" for key, raw in pairs.items()
    ]
    if members.style is Style.TABLE:
        at, newline = _line_end(document.text, members.head), _newline(document.text, members.head)
        return Splice(at, at, "".join(f"{newline}{each}" for each in named))
    return Splice(members.start, members.end, f"{{{', '.join(named)}}}")


def drop_members(document: Document, members: Members, keys: frozenset[str]) -> list[Splice]:
    """The map without some members."""
    found = members.members
    dropped = [index for index, member in enumerate(found) if member.key in keys]
    if members.style is Style.TABLE:
        lines = (_whole_lines(document.text, found[index], found[index]) for index in dropped)
        return _joined(lines)
    if len(dropped) == len(found):
        return [Splice(members.start, members.end, "{}")]
    splices: list[Splice] = []
    for first, last in _runs(dropped):
        splices += _run_dropped(document.text, members, first, last)
    return splices


def _run_dropped(text: str, members: Members, first: int, last: int) -> list[Splice]:
    found = members.members
    if members.style is Style.BLOCK:
        before = text[_line_start(text, found[first].start) : found[first].start]
        if before.strip():  # the first key of an item stands behind its dash
            return [Splice(found[first].start, found[last + 1].start, "")]
        return [_whole_lines(text, found[first], found[last])]
    if first == 0:
        return [Splice(found[0].start, found[last + 1].start, "")]
    end = found[first - 1].value.end
    between = text[end : found[first].start]
    comma = re.match(r"\s*,", between)
    if comma and between[comma.end() :].strip():  # a comment, which stays
        return [
            Splice(end + comma.end() - 1, end + comma.end(), ""),
            Splice(found[first].start, found[last].value.end, ""),
        ]
    return [Splice(end, found[last].value.end, "")]


def _joined(drops: Iterable[Splice]) -> list[Splice]:
    """Drops that meet as one: at the end of a file, two lines share the line end between them."""
    joined: list[Splice] = []
    for drop in sorted(drops, key=lambda each: each.start):
        if joined and joined[-1].end >= drop.start:
            joined[-1] = Splice(joined[-1].start, max(joined[-1].end, drop.end), "")
        else:
            joined.append(drop)
    return joined


def _runs(indexes: Sequence[int]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for index in indexes:
        if runs and runs[-1][1] == index - 1:
            runs[-1] = (runs[-1][0], index)
        else:
            runs.append((index, index))
    return runs


def _whole_lines(text: str, first: Member, last: Member) -> Splice:
    start, end = _line_start(text, first.line), _line_end(text, last.value.end)
    if end == len(text):  # the last line has no end of its own; it takes the one before it
        before = text[:start]
        return Splice(len(before.removesuffix("\n").removesuffix("\r")), end, "")
    return Splice(start, end + len(_newline(text, end)), "")


def _key(document: Document, style: Style, key: str) -> str:
    is_bare = document.colon == " = " or style is Style.BLOCK
    return key if is_bare and re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]*", key) else quoted(key)


def _dash_before(text: str, at: int) -> int:
    """The dash that begins a block item."""
    while at > 0:
        at = text.rfind("-", 0, at)
        if not text[_line_start(text, at) : at].strip():
            return at
    return at


def _newline(text: str, at: int) -> str:
    """How the line of a place ends, or the one before it."""
    end = text.find("\n", at)
    if end < 0:
        end = text.rfind("\n", 0, at)
    return "\r\n" if end > 0 and text[end - 1] == "\r" else "\n"


def _line_start(text: str, at: int) -> int:
    start = text.rfind("\n", 0, at) + 1
    return start + 1 if text.startswith(BOM, start) else start


def _line_end(text: str, at: int) -> int:
    """Where the line of a place ends, before its line end."""
    end = text.find("\n", at)
    if end < 0:
        return len(text)
    return end - 1 if end > at and text[end - 1] == "\r" else end


def _column(text: str, at: int) -> int:
    return at - _line_start(text, at)
