"""One policy file's text to a `Policy`, or all that is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from mcp_jail.config.checks import check
from mcp_jail.config.fields import Reader
from mcp_jail.config.later import refuse_later
from mcp_jail.config.problems import Problems, refusal
from mcp_jail.config.tree import SIZE_LIMIT, Mapping, Node, Sequence, parse
from mcp_jail.core.policy import Policy
from mcp_jail.core.rules.rulebook import KeyPath
from mcp_jail.errors import Place, Problem

# What a nameless policy is called while its other problems are looked for.
_NAMELESS = "nameless"


class Loaded(msgspec.Struct, frozen=True):
    """A policy and where each of its keys stands; items of lists are keyed by their index."""

    policy: Policy
    places: dict[KeyPath, Place]


def load(text: str | bytes, file: str) -> Loaded:
    """Read a policy; raises PolicyError with every problem. `file` is only what places call it."""
    content = _decoded(text, file)
    problems = Problems(file, content)
    tree = parse(content, problems)
    if tree is None:
        raise refusal(file, problems.in_order())
    arguments = Reader(problems).struct(Policy, tree)
    policy = Policy(**({"name": _NAMELESS} | arguments))
    keys, values = _places_of(tree)
    check(policy, values, problems)
    refuse_later(policy, keys, problems)
    found = problems.in_order()
    if found:
        raise refusal(file, found)
    return Loaded(policy, keys)


def _decoded(text: str | bytes, file: str) -> str:
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    if len(raw) > SIZE_LIMIT:
        message = f"the file is larger than {SIZE_LIMIT} bytes"
        raise refusal(file, (Problem(Place(file, 1, 1), message),))
    if isinstance(text, str):
        return text.removeprefix("\ufeff")
    try:
        return text.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        before = text[: error.start]
        line = before.count(b"\n") + 1
        column = len(before[before.rfind(b"\n") + 1 :].decode("utf-8", "replace")) + 1
        message = f"not UTF-8: byte 0x{text[error.start]:02x} ({error.reason})"
        raise refusal(file, (Problem(Place(file, line, column), message),)) from None


def _places_of(tree: Mapping) -> tuple[dict[KeyPath, Place], dict[KeyPath, Place]]:
    """Where each key, and where each value stands."""
    keys: dict[KeyPath, Place] = {}
    values: dict[KeyPath, Place] = {}
    for path, key, value in _walk((), tree):
        keys[path] = key
        values[path] = value
    return keys, values


def _walk(path: KeyPath, node: Node) -> Iterator[tuple[KeyPath, Place, Place]]:
    match node:
        case Mapping(_, pairs):
            for key, child in pairs:
                inner = (*path, key.text)
                yield inner, key.place, child.place
                yield from _walk(inner, child)
        case Sequence(_, items):
            for index, item in enumerate(items):
                inner = (*path, str(index))
                yield inner, item.place, item.place
                yield from _walk(inner, item)
        case _:
            pass
