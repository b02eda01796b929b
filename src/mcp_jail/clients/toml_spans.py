"""TOML to a tree with spans.

`tomllib` decides what is TOML and what each token means; this only finds where the tokens stand. A
tree whose values are not tomllib's own is refused, so a mistake here can change no file.
"""

from __future__ import annotations

import re
import tomllib
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
    Style,
    Text,
    place_of,
    plain,
)
from mcp_jail.clients.json_spans import BOM
from mcp_jail.errors import Place


def read_toml(text: str, file: str) -> Document:
    """The tree of a text; DocumentError where it is no TOML."""
    start = 1 if text.startswith(BOM) else 0
    reader = _Reader(text, file)
    try:
        root = reader.whole(start)  # first, as tomllib takes long for keys of very many parts
    except _TooDeepError:
        raise
    except DocumentError as error:
        _read(text[start:], file)
        raise error from None
    values = _read(text[start:], file)
    if repr(plain(root)) != repr(_sorted_like(values, plain(root))):
        raise DocumentError("TOML that cannot be followed here", where=Place(file, 1, 1))
    return Document(text, root, " = ")


class _TooDeepError(DocumentError):
    """Nesting that no client's file has."""


def _read(text: str, file: str) -> dict[str, Any]:
    """What tomllib reads; DocumentError where it is no TOML."""
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise DocumentError(f"not TOML: {error}", where=Place(file, 1, 1)) from None


def _sorted_like(values: Any, model: Any) -> Any:
    """The values with the keys of maps in the order of the model, which has the file's order."""
    if isinstance(values, dict) and isinstance(model, dict):
        known = [key for key in model if key in values]
        rest = [key for key in values if key not in model]
        return {key: _sorted_like(values[key], model.get(key)) for key in (*known, *rest)}
    if isinstance(values, list) and isinstance(model, list) and len(values) == len(model):
        return [_sorted_like(one, other) for one, other in zip(values, model, strict=True)]
    return values


_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_STRING = re.compile(
    r'"""(?:[^"\\]|\\.|"{1,2}(?!"))*"{3,5}'
    r"|'''(?:[^']|'{1,2}(?!'))*'{3,5}"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'",
    re.DOTALL,
)
_SCALAR = re.compile(r"[^,\]}#\r\n]+")


class _Table:
    """A map that still grows: by lines below its header, by dotted keys, by later headers."""

    def __init__(self, start: int, head: int, depth: int = 0) -> None:
        self.start, self.head, self.end = start, head, head
        self.depth = depth
        self.members: dict[str, tuple[_Key, _Table | list[_Table] | Node]] = {}

    def frozen(self) -> Members:
        members = tuple(
            Member(name, key.start, key.end, _frozen(value), key.line)
            for name, (key, value) in self.members.items()
        )
        return Members(self.start, self.end, members, Style.TABLE, self.head)


class _Key:
    """One part of a dotted key."""

    def __init__(self, name: str, start: int, end: int, line: int) -> None:
        self.name, self.start, self.end, self.line = name, start, end, line


def _frozen(value: _Table | list[_Table] | Node) -> Node:
    match value:
        case _Table():
            return value.frozen()
        case list():
            tables = tuple(table.frozen() for table in value)
            return Items(tables[0].start, tables[-1].end, tables, Style.TABLE)
        case _:
            return value


class _Reader:
    """Finds tokens in a text that tomllib has read."""

    def __init__(self, text: str, file: str) -> None:
        self._text, self._file = text, file

    def whole(self, start: int) -> Members:
        root = _Table(start, start)
        current = root
        at = self._skip(_BLANK, start)
        while at < len(self._text):
            if self._text[at] == "[":
                current, at = self._header(root, at)
            else:
                at = self._pair(current, at)
            at = self._skip(_BLANK, at)
        root.end = len(self._text)
        return root.frozen()

    def _header(self, root: _Table, at: int) -> tuple[_Table, int]:
        is_list = self._text.startswith("[[", at)
        keys, end = self._keys(at + 1 + is_list)
        end = self._skip(_SPACE, end) + 1 + is_list
        holder = self._walk(root, keys[:-1])
        last = keys[-1]
        if is_list:
            table = _Table(at, end, holder.depth + 1)
            known = holder.members.setdefault(last.name, (last, []))[1]
            if not isinstance(known, list):
                self._fail(at)
            known.append(table)
            return table, end
        known = holder.members.setdefault(last.name, (last, _Table(at, end, holder.depth + 1)))[1]
        if not isinstance(known, _Table):
            self._fail(at)
        known.start, known.head, known.end = at, end, max(end, known.end)
        return known, end

    def _pair(self, table: _Table, at: int, depth: int = 0) -> int:
        keys, end = self._keys(at)
        value = self._value(self._skip(_SPACE, self._skip(_SPACE, end) + 1), depth)
        holder = self._walk(table, keys[:-1])
        holder.members[keys[-1].name] = (keys[-1], value)
        holder.end = table.end = value.end
        return value.end

    def _walk(self, table: _Table, keys: list[_Key]) -> _Table:
        """The table that dotted keys lead to; made where it is not there yet."""
        for key in keys:
            if table.depth == DEPTH_LIMIT:
                self._refuse_depth(key.start)
            made = _Table(key.line, key.line, table.depth + 1)
            value = table.members.setdefault(key.name, (key, made))[1]
            table = value[-1] if isinstance(value, list) else value  # type: ignore[assignment]
            if not isinstance(table, _Table):
                self._fail(key.start)
        return table

    def _keys(self, at: int) -> tuple[list[_Key], int]:
        keys: list[_Key] = []
        line = at
        while True:
            at = self._skip(_SPACE, at)
            match = _STRING.match(self._text, at) or _BARE.match(self._text, at)
            if match is None:
                self._fail(at)
            name = self._meaning(match[0], at) if match[0][0] in "\"'" else match[0]
            keys.append(_Key(name, at, match.end(), line))
            after = self._skip(_SPACE, match.end())
            if self._text[after : after + 1] != ".":
                return keys, match.end()
            at = after + 1

    def _value(self, at: int, depth: int) -> Node:
        if depth > DEPTH_LIMIT:
            self._refuse_depth(at)
        if self._text[at : at + 1] == "[":
            return self._array(at, depth)
        if self._text[at : at + 1] == "{":
            return self._inline(at, depth)
        if string := _STRING.match(self._text, at):
            return Text(at, string.end(), self._meaning(string[0], at))
        scalar = _SCALAR.match(self._text, at)
        if scalar is None:
            self._fail(at)
        raw = scalar[0].rstrip(" \t")
        return Other(at, at + len(raw), self._meaning(raw, at))

    def _array(self, at: int, depth: int) -> Items:
        items: list[Node] = []
        place = self._skip(_BLANK, at + 1)
        while self._text[place : place + 1] != "]":
            items.append(self._value(place, depth + 1))
            place = self._comma(items[-1].end)
        return Items(at, place + 1, tuple(items))

    def _inline(self, at: int, depth: int) -> Members:
        table = _Table(at, at)
        place = self._skip(_BLANK, at + 1)
        while self._text[place : place + 1] != "}":
            place = self._comma(self._pair(table, place, depth + 1))
        members = table.frozen().members
        return Members(at, place + 1, tuple(_flowing(member) for member in members))

    def _comma(self, at: int) -> int:
        at = self._skip(_BLANK, at)
        return self._skip(_BLANK, at + 1) if self._text[at : at + 1] == "," else at

    def _skip(self, what: re.Pattern[str], at: int) -> int:
        match = what.match(self._text, at)
        return match.end() if match else at

    def _meaning(self, raw: str, at: int) -> Any:
        try:
            return tomllib.loads(f"v = {raw}")["v"]
        except tomllib.TOMLDecodeError:
            return self._fail(at)

    def _refuse_depth(self, at: int) -> NoReturn:
        where = place_of(self._text, self._file, at)
        raise _TooDeepError(f"nested deeper than {DEPTH_LIMIT}", where=where)

    def _fail(self, at: int) -> NoReturn:
        where = place_of(self._text, self._file, at)
        raise DocumentError("TOML that cannot be followed here", where=where)


def _flowing(member: Member) -> Member:
    """A member of an inline table; dotted keys in one make a map that has no braces of its own."""
    value = member.value
    if isinstance(value, Members) and value.style is Style.TABLE:
        value = Members(
            value.start, value.end, value.members, Style.FLOW, oddity="dotted keys in an inline map"
        )
    return Member(member.key, member.start, member.key_end, value, member.line)
