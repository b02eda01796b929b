"""JSON, and JSON with comments, to a tree with spans.

A reader of our own because none that is kept keeps places and comments. What it takes is what the
client takes: comments and trailing commas only where the client reads them.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import Any, NoReturn

from mcp_jail.clients.document import (
    DEPTH_LIMIT,
    Document,
    DocumentError,
    Items,
    Member,
    Members,
    Node,
    Other,
    Text,
    place_of,
)

BOM = "\ufeff"


class Extras(Enum):
    """What a client's reader takes beyond JSON."""

    NONE = "no comments, no trailing commas"
    COMMENTS = "comments"
    ALL = "comments and trailing commas"


def read_json(text: str, file: str, extras: Extras = Extras.NONE) -> Document:
    """The tree of a text; DocumentError with the place where it is no JSON."""
    return Document(text, _Reader(text, file, extras).whole(), ": ")


_SPACE = re.compile(r"[ \t\r\n]*")
_COMMENT = re.compile(r"//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_STRING = re.compile(
    r'"[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*)*"',
)
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_WORD = re.compile(r"true|false|null")
_VALUES: dict[str, Any] = {"true": True, "false": False, "null": None}
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)"
)
_SHORT = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


class _Reader:
    """A place in a text that moves on; each part begins where the value does."""

    def __init__(self, text: str, file: str, extras: Extras) -> None:
        self._text = text
        self._file = file
        self._extras = extras

    def whole(self) -> Node:
        start = self._space(1 if self._text.startswith(BOM) else 0)
        if start == len(self._text):
            self._fail(start, "the file is empty")
        node = self._value(start, 0)
        end = self._space(node.end)
        if end != len(self._text):
            self._fail(end, f"'{self._text[end]}' stands after the end of the value")
        return node

    def _value(self, at: int, depth: int) -> Node:
        if depth > DEPTH_LIMIT:
            self._fail(at, f"nested deeper than {DEPTH_LIMIT}")
        match self._text[at : at + 1]:
            case '"':
                return self._string(at)
            case "{":
                return self._members(at, depth)
            case "[":
                return self._items(at, depth)
            case _:
                return self._scalar(at)

    def _scalar(self, at: int) -> Other:
        if word := _WORD.match(self._text, at):
            return Other(at, word.end(), _VALUES[word[0]])
        if number := _NUMBER.match(self._text, at):
            return Other(at, number.end(), self._number(at, number))
        return self._fail(at, f"expected a value, found {self._found(at)}")

    def _number(self, at: int, match: re.Match[str]) -> int | float:
        try:
            return float(match[0]) if match[1] or match[2] else int(match[0])
        except ValueError:
            return self._fail(at, "a number with too many digits")

    def _string(self, at: int) -> Text:
        match = _STRING.match(self._text, at)
        if match is None:
            self._fail(at, f"expected a string in double quotes, found {self._found(at)}")
        inner = match[0][1:-1]
        value = inner if "\\" not in inner else _ESCAPE.sub(_unescaped, inner)
        return Text(at, match.end(), value)

    def _items(self, at: int, depth: int) -> Items:
        items: list[Node] = []
        place = self._space(at + 1)
        while self._text[place : place + 1] != "]":
            items.append(self._value(place, depth + 1))
            place = self._after(items[-1].end, "]")
        return Items(at, place + 1, tuple(items))

    def _members(self, at: int, depth: int) -> Members:
        members: list[Member] = []
        place = self._space(at + 1)
        while self._text[place : place + 1] != "}":
            key = self._string(place)
            colon = self._space(key.end)
            if self._text[colon : colon + 1] != ":":
                self._fail(colon, f"expected ':', found {self._found(colon)}")
            value = self._value(self._space(colon + 1), depth + 1)
            members.append(Member(key.value, key.start, key.end, value, key.start))
            place = self._after(value.end, "}")
        return Members(at, place + 1, tuple(members))

    def _after(self, at: int, closing: str) -> int:
        """Where the next part begins, or what closes this one."""
        place = self._space(at)
        found = self._text[place : place + 1]
        if found == closing:
            return place
        if found != ",":
            self._fail(place, f"expected ',' or '{closing}', found {self._found(place)}")
        following = self._space(place + 1)
        if self._text[following : following + 1] == closing and self._extras is not Extras.ALL:
            self._fail(place, "a comma after the last value, which this client does not read")
        return following

    def _space(self, at: int) -> int:
        while True:
            match = _SPACE.match(self._text, at)
            at = match.end() if match else at
            if self._text[at : at + 1] != "/":
                return at
            comment = _COMMENT.match(self._text, at)
            if comment is None:
                self._fail(at, "a comment that does not end")
            if self._extras is Extras.NONE:
                self._fail(at, "a comment, which this client does not read")
            at = comment.end()

    def _found(self, at: int) -> str:
        return repr(self._text[at]) if at < len(self._text) else "the end of the file"

    def _fail(self, at: int, message: str) -> NoReturn:
        raise DocumentError(message, where=place_of(self._text, self._file, at))


def _unescaped(match: re.Match[str]) -> str:
    words = match[0][1:]
    if words[0] != "u":
        return _SHORT.get(words, words)
    first = int(words[1:5], 16)
    if len(words) == _ONE_UNIT:
        return chr(first)
    return chr(0x10000 + ((first - 0xD800) << 10) + int(words[7:], 16) - 0xDC00)


_ONE_UNIT = 5  # "u" and four digits; a pair has a second escape behind it
