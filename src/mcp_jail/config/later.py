"""Keys of the format whose part has not landed: who writes one is told, never left to believe.

A key may be written with the one value that asks for nothing (`limits: {memory: null}`); any other
is refused. When a part lands, its lines go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from types import NoneType
from typing import Any

import msgspec

from mcp_jail.config.problems import Problems
from mcp_jail.core.policy import (
    Autorun,
    Exec,
    Policy,
    Sandbox,
    Verdict,
)
from mcp_jail.core.rules.rulebook import KeyPath
from mcp_jail.errors import Place


class Later(msgspec.Struct, frozen=True):
    """A key that is not enforced yet; `*` in it stands for any one key."""

    key: KeyPath
    part: str  # what will enforce it, in a few words
    is_inert: Callable[[Any], bool]  # whether a value asks for nothing


def refuse_later(policy: Policy, places: Mapping[KeyPath, Place], problems: Problems) -> None:
    """Add a problem for each written key that is not enforced yet."""
    for path, place in places.items():
        for later in LATER:
            if not _is_at(later.key, path):
                continue
            value = _value_at(policy, path)
            if value is not _NOTHING and not later.is_inert(value):
                hint = f"this waits for: {later.part}; take the key out until then"
                problems.add(place, f"'{'.'.join(path)}' is not enforced yet", hint)


def not_yet() -> tuple[str, ...]:
    """What a policy may not ask for yet: keys, or `key: values` where some values are there."""
    return tuple(_missing_of(later) for later in LATER)


def idle_defaults() -> tuple[str, ...]:
    """The keys whose default asks for something that nobody holds yet."""
    plain = Policy(name="any")
    values = ((later, _value_at(plain, later.key)) for later in LATER)
    return tuple(
        ".".join(later.key)
        for later, value in values
        if not isinstance(value, _Nothing | NoneType) and not later.is_inert(value)
    )


def _missing_of(later: Later) -> str:
    key = ".".join(later.key)
    default = _value_at(Policy(name="any"), later.key)
    if not isinstance(default, Enum):
        return key
    values = [str(member.value) for member in type(default) if not later.is_inert(member)]
    return f"{key}: {', '.join(values)}"


def _is(*values: Any) -> Callable[[Any], bool]:
    return lambda value: value in values


def _never(_value: Any) -> bool:
    return False


_LIMITS = "limits on memory, processes, files and time"

LATER = (
    Later(("remote",), "servers reached over HTTP", _never),
    Later(("sandbox",), "weaker jails, named", _is(Sandbox.AUTO)),
    Later(("network", "private"), "asking a person", _is(Verdict.DENY, Verdict.ALLOW)),
    Later(("filesystem", "hide"), "hidden files in shared directories", _is(())),
    Later(("filesystem", "autorun"), "guarded files that run by themselves", _is(Autorun.ALLOW)),
    Later(("sockets",), "sockets of the desktop", _is(())),
    Later(("exec",), "a list of programs that may run", _is(Exec())),
    Later(("limits", "memory"), _LIMITS, _is(None)),
    Later(("limits", "processes"), _LIMITS, _is(None)),
    Later(("limits", "open_files"), _LIMITS, _is(None)),
    Later(("limits", "file_size"), _LIMITS, _is(None)),
    Later(("limits", "tmp"), _LIMITS, _is(None)),
    Later(("limits", "call_timeout"), _LIMITS, _is(None)),
    Later(("limits", "weak"), _LIMITS, lambda weak: not weak),
)


class _Nothing:
    """The value of a key that could not be read."""


_NOTHING = _Nothing()


def _is_at(key: KeyPath, path: KeyPath) -> bool:
    return len(key) == len(path) and all(
        part in ("*", name) for part, name in zip(key, path, strict=True)
    )


def _value_at(policy: Policy, path: KeyPath) -> Any:
    value: Any = policy
    for name in path:
        if isinstance(value, dict):
            value = value.get(name, _NOTHING)
        elif isinstance(value, msgspec.Struct):
            value = getattr(value, name, _NOTHING)
        else:
            return _NOTHING
    return value
