"""Insertions into YAML text that follow the layout around them: lines in lines, braces in braces.

Nothing here knows what a policy is. Each function gives the places to change, from the positions
that `config.spans` read; whether the outcome says what it should is for the caller to find out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from mcp_jail.config.spans import Items, Keys, Span, Word
from mcp_jail.config.yaml_text import Lines, in_braces, in_lines, pair_in_braces

# Spaces of one level where a file shows none.
USUAL_STEP = 2


class Splice(NamedTuple):
    """Characters of a text, and what stands in their place afterwards."""

    start: int
    end: int
    text: str


def applied(text: str, splices: Iterable[Splice]) -> str:
    """The text with splices carried out; several at one place keep their order."""
    parts: list[str] = []
    done = 0
    for splice in sorted(splices, key=_start):
        parts += (text[done : splice.start], splice.text)
        done = splice.end
    return "".join((*parts, text[done:]))


def usual_step(root: Keys) -> int:
    """By how many spaces a file mostly indents a mapping in a mapping."""
    found = Counter(_steps(root)).most_common(1)
    return found[0][0] if found else USUAL_STEP


def pair_added(text: str, inside: Keys, key: str, lines: str | Lines, step: int) -> list[Splice]:
    """A key more at the end of a mapping, behind the comments that belong to it."""
    if not inside.is_flow:
        written = in_lines({key: lines}, inside.column, step)
        return [_behind(text, inside.end, written, among=inside.column)]
    pair = pair_in_braces(key, lines)
    if not inside.pairs:
        at = inside.start + 1
        return [Splice(at, at, f"{pair} " if text[at] == "#" else pair)]
    return _in_lines_of_braces(text, inside, pair) or _in_row_of_braces(inside, pair)


def value_put(
    text: str, owner: Keys, pair: tuple[Word, Span], lines: str | Lines, step: int
) -> list[Splice]:
    """Another value for a key: in lines where the old one ends the key's own line."""
    key, value = pair
    end = value.start + len(text[value.start : value.end].rstrip())
    if isinstance(lines, str) or owner.is_flow or "\n" in text[key.start : end]:
        return [Splice(value.start, end, in_braces(lines))]
    behind_colon = text.index(":", key.end) + 1
    written = in_lines(lines, owner.column + step, step)
    return [Splice(behind_colon, end, ""), _behind(text, end, written)]


def item_added(text: str, items: Items, item: str) -> list[Splice]:
    """An item more at the end of a list that has some."""
    if items.is_flow:
        end = items.items[-1].end
        return [Splice(end, end, f", {item}")]
    line = f"{' ' * items.column}- {item}"
    return [_behind(text, items.end, [line], among=items.column)]


def is_empty_braces(text: str, keys: Keys) -> bool:
    """Whether a mapping is `{}` with no comment in it."""
    return re.fullmatch(r"\{\s*\}", text[keys.start : keys.end]) is not None


# Lines without anything, then one with a comment; the group is its indentation.
_COMMENT = re.compile(r"(?:\r?\n[ \t]*)*\r?\n( *)#[^\r\n]*")

# What may stand between a value and the comma behind it.
_TO_COMMA = re.compile(r"[ \t]*,")
_REST_OF_LINE = re.compile(r"[ \t]*(?:#[^\r\n]*)?(?=\r?\n)")


def _start(splice: Splice) -> int:
    return splice.start


def _steps(keys: Keys) -> Iterator[int]:
    for _, value in keys.pairs:
        if isinstance(value, Keys) and not value.is_flow and not keys.is_flow:
            yield value.column - keys.column
            yield from _steps(value)


def _behind(text: str, at: int, lines: list[str], *, among: int | None = None) -> Splice:
    """Lines behind the one that a value ends in; behind comments, too, that stand as deep."""
    newline = _newline(text, at)
    if at and text[at - 1] == "\n":  # a block scalar ends where the next line begins
        return Splice(at, at, "".join(line + newline for line in lines))
    end = _line_end(text, at)
    while among is not None:
        comment = _COMMENT.match(text, end)
        if comment is None or len(comment[1]) < among:
            break
        end = comment.end()
    return Splice(end, end, "".join(newline + line for line in lines))


def _in_lines_of_braces(text: str, inside: Keys, pair: str) -> list[Splice]:
    """A line of its own where the last pair has one; nothing where it has none."""
    key, value = inside.pairs[-1]
    begin = text.rfind("\n", 0, key.start) + 1
    indent = text[begin : key.start]
    if indent.strip():
        return []
    comma = _TO_COMMA.match(text, value.end)
    rest = _REST_OF_LINE.match(text, comma.end() if comma else value.end)
    if rest is None:
        return []
    line = f"{_newline(text, value.end)}{indent}{pair}"
    if comma:
        return [Splice(rest.end(), rest.end(), f"{line},")]
    return [Splice(value.end, value.end, ","), Splice(rest.end(), rest.end(), line)]


def _in_row_of_braces(inside: Keys, pair: str) -> list[Splice]:
    end = inside.pairs[-1][1].end
    return [Splice(end, end, f", {pair}")]


def _line_end(text: str, at: int) -> int:
    """Where the line of a position ends, in front of its line break."""
    found = text.find("\n", at)
    if found < 0:
        return len(text)
    return found - 1 if found > at and text[found - 1] == "\r" else found


def _newline(text: str, at: int) -> str:
    """The line break of this place, of the last line before where it has none."""
    found = text.find("\n", at)
    if found < 0:
        found = text.rfind("\n", 0, at)
    return "\r\n" if found > 0 and text[found - 1] == "\r" else "\n"
