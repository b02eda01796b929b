"""A client's file as a tree of values that know where they stand in the text.

The three readers (`json_spans`, `toml_spans`, `yaml_spans`) make it; nothing turns it into a text
again. A change is a few spans put in place of others (`splices`).
"""

from __future__ import annotations

from enum import Enum
from math import isnan
from typing import Any

import msgspec

from mcp_jail.errors import JailError, Place

# Nesting of a client's file. The deepest known one has 9; a reader must not run out of stack.
DEPTH_LIMIT = 100

KeyPath = tuple[str | int, ...]


class DocumentError(JailError):
    """A file that is not what its client reads, or that reads differently to two programs."""


class Style(Enum):
    """How a map or list is written, which decides how a member is put in."""

    FLOW = "flow"  # {a: b}, [a, b]
    BLOCK = "block"  # YAML by indentation
    TABLE = "table"  # TOML by lines


class _Judged(msgspec.Struct, frozen=True, kw_only=True):
    oddity: str = ""


class Node(_Judged, frozen=True):
    """A value: `text[start:end]` is the whole of it. `oddity` is why it must not be edited."""

    start: int
    end: int


class Text(Node, frozen=True):
    """A text; `is_movable` where the very characters can stand elsewhere in the file."""

    value: str
    is_movable: bool = True


class Other(Node, frozen=True):
    """A number, a truth value, nothing, a date."""

    value: Any


class Items(Node, frozen=True):
    """A list."""

    items: tuple[Node, ...]
    style: Style = Style.FLOW


class Member(msgspec.Struct, frozen=True):
    """A key with its value. `line` is where its key begins, with the dotted part before it."""

    key: str
    start: int
    key_end: int
    value: Node
    line: int


class Members(Node, frozen=True):
    """A map. `head` ends what opens it where its members stand on lines of their own."""

    members: tuple[Member, ...]
    style: Style = Style.FLOW
    head: int = 0

    def get(self, key: str) -> Member | None:
        """The member of a key."""
        return next((member for member in self.members if member.key == key), None)

    def doubled(self) -> tuple[str, ...]:
        """The keys that stand here more than once; programs differ in which one counts."""
        seen: set[str] = set()
        twice: dict[str, None] = {}
        for member in self.members:
            if member.key in seen:
                twice[member.key] = None
            seen.add(member.key)
        return tuple(twice)


class Alias(Node, frozen=True):
    """What stands for a value written elsewhere (YAML); none where that holds this one itself."""

    target: Node | None = None


class Document(msgspec.Struct, frozen=True):
    """A text and its tree. `colon` stands between a key and its value in this language."""

    text: str
    root: Node
    colon: str

    def raw(self, node: Node) -> str:
        """The characters of a value as they stand in the file."""
        return self.text[node.start : node.end]


def plain(node: Node) -> Any:
    """The value without its places."""
    match node:
        case Text(value=value) | Other(value=value):
            return value
        case Items(items=items):
            return [plain(item) for item in items]
        case Members(members=members):
            return {member.key: plain(member.value) for member in members}
        case _:
            return None


def is_same(one: Any, other: Any) -> bool:
    """Whether two values mean the same: a number that is none (nan) is itself, 1 is not true."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(is_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_same, one, other))
    if isinstance(one, float) and isinstance(other, float) and isnan(one):
        return isnan(other)
    return type(one) is type(other) and bool(one == other)


def quoted(word: str) -> str:
    """A text as all three languages read it: a JSON string that is raw but for what must not be.

    JSON, TOML and YAML agree on these escapes; they differ on that of a slash and on surrogates.
    """
    out = []
    for char in word:
        if char in '"\\':
            out.append("\\" + char)
        elif char < " " or "\x7f" <= char <= "\x9f" or char in _UNPRINTABLE:
            out.append(f"\\u{ord(char):04x}")
        else:
            out.append(char)
    return '"' + "".join(out) + '"'


# Line ends to YAML and to some editors, and the mark of byte order.
_UNPRINTABLE = frozenset("\u2028\u2029\ufeff\ufffe\uffff")


def place_of(text: str, file: str, at: int) -> Place:
    """Line and column of a place in a text."""
    return Place(file, text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at))
