"""A tree of nodes to a value of a type: the types of `core.policy` are the only schema.

Scalars are read by the type that is expected, not by how YAML 1.1 would guess: a text is taken as
it stands. Every mistake becomes a problem and its key is left at the default, so that one reading
finds them all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping as MappingOf
from enum import Enum
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import msgspec
from msgspec import Meta, UnsetType

from mcp_jail.config.problems import Problems
from mcp_jail.config.scalars import BOOLEANS, NULLS, core_number, core_value
from mcp_jail.config.tree import Mapping, Node, Scalar, Sequence
from mcp_jail.core.policy import Verdict

# What a message calls the value of an enumeration; the others are called by their key.
NOUNS: MappingOf[type[Enum], str] = {Verdict: "decision"}


class Unreadable:
    """Stands for a value that became a problem; its key is left at the default."""


UNREADABLE = Unreadable()

# A text may hold these only in quotes, as escapes; neither paths nor names ever need them.
_NO_LINE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_NO_TEXT = re.compile(r"[\x00\ud800-\udfff]")


class Reader:
    """Reads nodes; every problem goes to `problems`."""

    def __init__(self, problems: Problems) -> None:
        self._problems = problems

    def struct(self, kind: type[msgspec.Struct], node: Mapping) -> dict[str, Any]:
        """The arguments to make a struct from; required ones may be missing, with a problem."""
        fields = {field.encode_name: field for field in _fields_of(kind)}
        arguments: dict[str, Any] = {}
        for key, child in node.pairs:
            field = fields.get(key.text)
            if field is None:
                self._add(key, f"unknown key {key.text!r}", _nearest(key.text, fields))
                continue
            value = self.read(field.type, child, key.text)
            if value is not UNREADABLE:
                arguments[field.name] = value
        written = {key.text for key, _ in node.pairs}
        for name, field in fields.items():
            if field.required and name not in written:
                self._add(node, f"'{name}' is missing")
        return arguments

    def read(self, kind: Any, node: Node, key: str) -> Any:
        """A value of a type, or `UNREADABLE`; `key` is what messages call it."""
        if type(node) is Node:
            return UNREADABLE  # refused already
        if kind is Any:
            return self._json(node, key)
        kinds = get_args(kind)
        outer = get_origin(kind)
        if outer is Annotated:
            return self._annotated(*kinds, node=node, key=key)
        if outer in {Union, UnionType}:
            return self._one_of(kinds, node, key)
        return self._plain(kind, outer, node, key)

    def _plain(self, kind: Any, outer: Any, node: Node, key: str) -> Any:
        if outer is tuple:
            return self._list(get_args(kind)[0], node, key)
        if outer is dict:
            return self._table(get_args(kind), node, key)
        if _is_struct(kind):
            return self._nested(kind, node, key)
        return self._scalar(kind, node, key)

    def _annotated(self, base: Any, *metas: Meta, node: Node, key: str) -> Any:
        if any((meta.extra or {}).get("lines") for meta in metas) and isinstance(node, Scalar):
            return self._text(node, key, lines=True)
        value = self.read(base, node, key)
        return value if all(self._keeps(value, meta, node, key) for meta in metas) else UNREADABLE

    def _one_of(self, kinds: tuple[Any, ...], node: Node, key: str) -> Any:
        options = [kind for kind in kinds if kind not in {NoneType, UnsetType}]
        if NoneType in kinds and _is_null(node, options):
            return None
        if options == [int, float]:
            return self._number(node, key)
        fitting = [option for option in options if _fits(option, node)]
        return self.read((fitting or options)[0], node, key)

    def _nested(self, kind: type[msgspec.Struct], node: Node, key: str) -> Any:
        if not isinstance(node, Mapping):
            return self._wrong(node, key, "a mapping of keys")
        arguments = self.struct(kind, node)
        for field in _fields_of(kind):
            if field.required and field.name not in arguments:
                if field.type is not Verdict:
                    return UNREADABLE
                # The file is refused already; this is to find what else is wrong with the rule.
                arguments[field.name] = Verdict.ALLOW
        return kind(**arguments)

    def _list(self, kind: Any, node: Node, key: str) -> Any:
        if not isinstance(node, Sequence):
            return self._wrong(node, key, "a list", _as_list(node, key))
        values = [self.read(kind, item, key) for item in node.items]
        return tuple(value for value in values if value is not UNREADABLE)

    def _table(self, kinds: tuple[Any, ...], node: Node, key: str) -> Any:
        key_kind, kind = kinds
        if not isinstance(node, Mapping):
            return self._wrong(node, key, "a mapping of keys")
        table: dict[str, Any] = {}
        for name, child in node.pairs:
            read_name = self.read(key_kind, Scalar(name.place, name.text, plain=False), "key")
            value = self.read(kind, child, name.text)
            if read_name is not UNREADABLE and value is not UNREADABLE:
                table[read_name] = value
        return table

    def _scalar(self, kind: type, node: Node, key: str) -> Any:
        if not isinstance(node, Scalar):
            return self._wrong(node, key, _word_for(kind))
        if kind is str:
            return self._text(node, key)
        if issubclass(kind, Enum):
            return self._member(kind, node, key)
        if kind is bool:
            value = BOOLEANS.get(node.text) if node.plain else None
        else:
            value = self._number(node, key) if node.plain else None
            if value is UNREADABLE:
                return value
        return value if type(value) is kind else self._wrong(node, key, _word_for(kind))

    def _text(self, node: Scalar, key: str, *, lines: bool = False) -> Any:
        if node.plain and not node.text:
            return self._wrong(node, key, "a text", 'an empty text is written ""')
        refused = _NO_TEXT if lines else _NO_LINE
        found = refused.search(node.text)
        if found:
            return self._add(node, f"{key!r} has the character U+{ord(found[0]):04X}")
        return node.text

    def _member(self, kind: type[Enum], node: Scalar, key: str) -> Any:
        for member in kind:
            if member.value == node.text:
                return member
        noun = NOUNS.get(kind, f"value of {key!r}")
        *first, last = [str(member.value) for member in kind]
        message = f"unknown {noun} {node.text!r} ({', '.join(first)} or {last})"
        return self._add(node, message, _nearest(node.text, [*first, last]))

    def _number(self, node: Node, key: str) -> Any:
        if isinstance(node, Scalar) and node.plain:
            try:
                number = core_number(node.text)
            except ValueError as error:
                return self._add(node, f"{key!r}: {error}")
            if number is not None:
                return number
        return self._wrong(node, key, "a number")

    def _json(self, node: Node, key: str) -> Any:
        match node:
            case Scalar(_, text, plain):
                try:
                    return core_value(text) if plain else text
                except ValueError as error:
                    return self._add(node, f"{key!r}: {error}")
            case Sequence(_, items):
                values: list[Any] = [self._json(item, key) for item in items]
                return UNREADABLE if UNREADABLE in values else values
            case Mapping(_, pairs):
                table = {name.text: self._json(child, key) for name, child in pairs}
                return UNREADABLE if UNREADABLE in table.values() else table
            case _:
                return UNREADABLE

    def _keeps(self, value: Any, meta: Meta, node: Node, key: str) -> bool:
        """Whether a value keeps what the type's annotation asks for."""
        if value is UNREADABLE:
            return False
        if meta.pattern is not None and not re.fullmatch(meta.pattern, value):
            self._add(node, f"{key!r} must be {meta.description}, found {value!r}")
            return False
        if meta.max_length is not None and len(value) > meta.max_length:
            self._add(node, f"{key!r} may have {meta.max_length} characters, found {len(value)}")
            return False
        if meta.ge is not None and value < meta.ge:
            self._add(node, f"{key!r} must be at least {meta.ge}, found {value}")
            return False
        return True

    def _wrong(self, node: Node, key: str, wanted: str, hint: str = "") -> Unreadable:
        return self._add(node, f"{key!r} must be {wanted}, found {_word_of(node)}", hint)

    def _add(self, node: Node, message: str, hint: str = "") -> Unreadable:
        self._problems.add(node.place, message, hint)
        return UNREADABLE


_known_fields: dict[type[msgspec.Struct], tuple[msgspec.structs.FieldInfo, ...]] = {}


def _fields_of(kind: type[msgspec.Struct]) -> tuple[msgspec.structs.FieldInfo, ...]:
    if kind not in _known_fields:
        _known_fields[kind] = msgspec.structs.fields(kind)
    return _known_fields[kind]


def _base(kind: Any) -> Any:
    return get_args(kind)[0] if get_origin(kind) is Annotated else kind


def _fits(kind: Any, node: Node) -> bool:
    """Whether a node has the outer form of a type."""
    base = _base(kind)
    match node:
        case Mapping():
            return get_origin(base) is dict or _is_struct(base)
        case Sequence():
            return get_origin(base) is tuple
        case _:
            return get_origin(base) is None and not _is_struct(base)


def _is_null(node: Node, options: list[Any]) -> bool:
    if not (isinstance(node, Scalar) and node.plain and node.text in NULLS):
        return False
    # `~` is null to YAML and home to everyone else.
    return node.text != "~" or all(_base(option) is not str for option in options)


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _word_for(kind: type) -> str:
    words = {str: "a text", bool: "true or false", int: "a whole number", float: "a number"}
    return words.get(kind, "one word")


def _word_of(node: Node) -> str:
    match node:
        case Mapping():
            return "a mapping"
        case Sequence():
            return "a list"
        case Scalar(_, "", True):
            return "nothing"
        case Scalar(_, text, plain):
            return f"{text[:40]!r}" if plain else f"the text {text[:40]!r}"
        case _:
            return "something else"


def _as_list(node: Node, key: str) -> str:
    if isinstance(node, Scalar) and node.text and " " not in node.text:
        return f"write [{node.text}]"
    if isinstance(node, Scalar) and key == "command":
        return f"write program and arguments apart: [{', '.join(node.text.split())}]"
    return "a list is written [first, second]"


def _nearest(word: str, known: Any) -> str:
    from difflib import get_close_matches  # noqa: PLC0415  (only a mistake needs it)

    close = get_close_matches(word, list(known), n=1)
    return f"did you mean {close[0]!r}?" if close else f"known here: {', '.join(known)}"
