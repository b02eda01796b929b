"""What one argument must be: a constraint of the policy, bound to its directories and hosts.

Everything here fails closed. A constraint that cannot be evaluated (a missing argument, another
type, a pattern that takes too long) does not hold. JSON values are compared strictly: 1, 1.0, true
and "1" are four different values, because the server may tell them apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec
from msgspec import UNSET

from mcp_jail.core.hosts import HostRules, host_allowed, host_of_argument
from mcp_jail.core.outlook import Outlook
from mcp_jail.core.paths import lies_under, refused_shape
from mcp_jail.core.policy import Constraint

# Keys of an object and items of a list that are looked at: each may cost some system calls, and the
# model decides how many it sends. Longer ones cannot be evaluated.
KEYS_LIMIT = 1000
ITEMS_LIMIT = 1000

# Characters of a value that a reason quotes; the model has the whole of it.
QUOTE_LIMIT = 60

# Allowed values or hosts that a reason lists.
LIST_LIMIT = 8


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One argument's constraint, ready to be asked.

    `roots` are the absolute directories of `under`, `cwd` what relative paths start from (None:
    none do), `hosts` the rules of `host`, `each` the check of every item.
    """

    name: str
    constraint: Constraint
    roots: tuple[str, ...] = ()
    cwd: str | None = None
    hosts: HostRules | None = None
    each: Check | None = None


def unmet(check: Check, arguments: Mapping[str, Any], outlook: Outlook) -> str | None:
    """Why the arguments do not keep to a check, in words for the model; None when they do.

    `a.b` means a key of that very name and the `b` inside of `a`; whichever is there must hold.
    """
    try:
        values = list(_values(check.name, arguments))
    except _InDoubtError as doubt:
        return str(doubt)
    if not values:
        return f"'{check.name}' is missing" if check.constraint.required else None
    for value in values:
        reason = _unmet_by(value, check, outlook)
        if reason is not None:
            return reason
    return None


def same_json(one: Any, other: Any) -> bool:
    """Whether two JSON values are the same text up to key order: 1, 1.0 and true all differ."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same_json(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same_json, one, other))
    return bool(one == other)


def quoted(value: Any) -> str:
    """A JSON value on one line, short, with every unusual character as an escape."""
    text = ascii(value) if isinstance(value, str) else msgspec.json.encode(value).decode()
    plain = text.encode("ascii", "backslashreplace").decode()
    return plain if len(plain) <= QUOTE_LIMIT else f"{plain[:QUOTE_LIMIT]}..."


class _InDoubtError(Exception):
    """An argument's name or place that two servers would read differently."""


def _values(name: str, arguments: Any) -> Iterator[Any]:
    """Every value a dotted name may mean: the literal key first, then what lies deeper."""
    if not isinstance(arguments, Mapping):
        raise _InDoubtError(f"'{name}' is not inside an object")
    if len(arguments) > KEYS_LIMIT:
        raise _InDoubtError(f"more than {KEYS_LIMIT} arguments in one object")
    head, dot, rest = name, "", ""
    while head:
        folded = head.casefold()
        for key in arguments:
            # Go's JSON decoder takes `Path` for `path`.
            if key != head and key.casefold() == folded:
                raise _InDoubtError(f"{quoted(key)} differs from '{head}' only in case")
        if head in arguments:
            yield from _values(rest, arguments[head]) if dot else (arguments[head],)
        head, dot, tail = head.rpartition(".")
        rest = f"{tail}.{rest}" if rest else tail


def _unmet_by(value: Any, check: Check, outlook: Outlook) -> str | None:
    name, constraint = f"'{check.name}'", check.constraint
    return (
        _unmet_value(name, value, constraint)
        or _unmet_size(name, value, constraint)
        or _unmet_text(name, value, constraint, outlook)
        or _unmet_under(name, value, check, outlook)
        or _unmet_host(name, value, check)
        or _unmet_items(name, value, check, outlook)
    )


def _unmet_value(name: str, value: Any, constraint: Constraint) -> str | None:
    if constraint.equals is not UNSET and not same_json(value, constraint.equals):
        return f"{name} must be {quoted(constraint.equals)}"
    choices = constraint.one_of
    if choices is not UNSET and not any(same_json(value, choice) for choice in choices):
        return f"{name} must be one of {_listed(map(quoted, choices))}"
    return None


def _unmet_size(name: str, value: Any, constraint: Constraint) -> str | None:
    # Written so that a NaN fails both comparisons.
    if constraint.min is not UNSET and not (_is_number(value) and value >= constraint.min):
        return f"{name} must be a number, at least {constraint.min}"
    if constraint.max is not UNSET and not (_is_number(value) and value <= constraint.max):
        return f"{name} must be a number, at most {constraint.max}"
    limit = constraint.max_length
    if limit is not UNSET and not (isinstance(value, str | list) and len(value) <= limit):
        return f"{name} must be text or a list, no longer than {limit}"
    return None


def _unmet_text(name: str, value: Any, constraint: Constraint, outlook: Outlook) -> str | None:
    if constraint.matches is UNSET:
        return None
    if isinstance(value, str):
        fits = outlook.fullmatch(constraint.matches, value)
        if fits:
            return None
        if fits is None:
            return f"{name} takes too long to check"
    return f"{name} must be text that matches {constraint.matches} from end to end"


def _unmet_under(name: str, value: Any, check: Check, outlook: Outlook) -> str | None:
    shown = check.constraint.under
    if shown is UNSET:
        return None
    if isinstance(value, str) and lies_under(value, check.roots, check.cwd, outlook):
        return None
    shape = refused_shape(value) if isinstance(value, str) else "is not text"
    wanted = f"{name} must lie under {_listed(shown, ' or ')}"
    return f"{wanted}; the path {shape}" if shape else wanted


def _unmet_host(name: str, value: Any, check: Check) -> str | None:
    if check.constraint.host is UNSET:
        return None
    place = host_of_argument(value) if isinstance(value, str) else None
    if place is not None and check.hosts is not None and host_allowed(*place, check.hosts):
        return None
    return f"{name} must be a URL or host that the policy names"


def _unmet_items(name: str, value: Any, check: Check, outlook: Outlook) -> str | None:
    if check.each is None:
        return None
    if not isinstance(value, list) or len(value) > ITEMS_LIMIT:
        return f"{name} must be a list of at most {ITEMS_LIMIT} items"
    for item in value:
        reason = _unmet_by(item, check.each, outlook)
        if reason is not None:
            return reason
    return None


def _is_number(value: Any) -> bool:
    return type(value) is int or type(value) is float


def _listed(words: Iterable[str], between: str = ", ") -> str:
    known = list(words)
    return between.join(known[:LIST_LIMIT] + (["..."] if len(known) > LIST_LIMIT else []))
