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

from mcp_jail.core.policy import Constraint
from mcp_jail.core.rules.hosts import HostRules, host_allowed, host_of_argument
from mcp_jail.core.rules.outlook import Outlook
from mcp_jail.core.rules.paths import lies_under, refused_shape

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
    name = check.name
    try:
        values = list(_values(name, arguments)) if "." in name else _value(name, arguments)
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


def _value(name: str, arguments: Any) -> tuple[Any, ...]:
    """The value of a name, if it is there and no key is too much like it."""
    if not isinstance(arguments, Mapping):
        raise _InDoubtError(f"'{name}' is not inside an object")
    if len(arguments) > KEYS_LIMIT:
        raise _InDoubtError(f"more than {KEYS_LIMIT} arguments in one object")
    folded = name.casefold()
    for key in arguments:
        # Go's JSON decoder takes `Path` for `path`.
        if key != name and key.casefold() == folded:
            raise _InDoubtError(f"{quoted(key)} differs from '{name}' only in case")
    return (arguments[name],) if name in arguments else ()


def _values(name: str, arguments: Any) -> Iterator[Any]:
    """Every value a dotted name may mean: the literal key first, then what lies deeper."""
    head, dot, rest = name, "", ""
    while head:
        if _value(head, arguments):
            yield from _values(rest, arguments[head]) if dot else (arguments[head],)
        head, dot, tail = head.rpartition(".")
        rest = f"{tail}.{rest}" if rest else tail


def _unmet_by(value: Any, check: Check, outlook: Outlook) -> str | None:
    """Why a value does not keep to a check; only what the constraint says is looked at."""
    limits = check.constraint
    reason = None
    if limits.equals is not UNSET or limits.one_of is not UNSET:
        reason = _unmet_value(value, check)
    if reason is None and (limits.min is not UNSET or limits.max is not UNSET):
        reason = _unmet_size(value, check)
    if reason is None and limits.max_length is not UNSET:
        reason = _unmet_length(value, check, limits.max_length)
    if reason is None and limits.matches is not UNSET:
        reason = _unmet_text(value, check, limits.matches, outlook)
    if reason is None and limits.under is not UNSET:
        reason = _unmet_under(value, check, limits.under, outlook)
    if reason is None and limits.host is not UNSET:
        reason = _unmet_host(value, check)
    if reason is None and check.each is not None:
        reason = _unmet_items(value, check, check.each, outlook)
    return reason


def _unmet_value(value: Any, check: Check) -> str | None:
    wanted, choices = check.constraint.equals, check.constraint.one_of
    if wanted is not UNSET and not same_json(value, wanted):
        return f"'{check.name}' must be {quoted(wanted)}"
    if choices is not UNSET and not any(same_json(value, choice) for choice in choices):
        return f"'{check.name}' must be one of {_listed(map(quoted, choices))}"
    return None


def _unmet_size(value: Any, check: Check) -> str | None:
    least, most = check.constraint.min, check.constraint.max
    # Written so that a NaN fails both comparisons.
    if least is not UNSET and not (_is_number(value) and value >= least):
        return f"'{check.name}' must be a number, at least {least}"
    if most is not UNSET and not (_is_number(value) and value <= most):
        return f"'{check.name}' must be a number, at most {most}"
    return None


def _unmet_length(value: Any, check: Check, limit: int) -> str | None:
    if isinstance(value, str | list) and len(value) <= limit:
        return None
    return f"'{check.name}' must be text or a list, no longer than {limit}"


def _unmet_text(value: Any, check: Check, pattern: str, outlook: Outlook) -> str | None:
    if isinstance(value, str):
        fits = outlook.fullmatch(pattern, value)
        if fits:
            return None
        if fits is None:
            return f"'{check.name}' takes too long to check"
    return f"'{check.name}' must be text that matches {pattern} from end to end"


def _unmet_under(value: Any, check: Check, shown: tuple[str, ...], outlook: Outlook) -> str | None:
    if isinstance(value, str) and lies_under(value, check.roots, check.cwd, outlook):
        return None
    shape = refused_shape(value) if isinstance(value, str) else "is not text"
    wanted = f"'{check.name}' must lie under {_listed(shown, ' or ')}"
    return f"{wanted}; the path {shape}" if shape else wanted


def _unmet_host(value: Any, check: Check) -> str | None:
    place = host_of_argument(value) if isinstance(value, str) else None
    if place is not None and check.hosts is not None and host_allowed(*place, check.hosts):
        return None
    return f"'{check.name}' must be a URL or host that the policy names"


def _unmet_items(value: Any, check: Check, each: Check, outlook: Outlook) -> str | None:
    if not isinstance(value, list) or len(value) > ITEMS_LIMIT:
        return f"'{check.name}' must be a list of at most {ITEMS_LIMIT} items"
    for item in value:
        reason = _unmet_by(item, each, outlook)
        if reason is not None:
            return reason
    return None


def _is_number(value: Any) -> bool:
    return type(value) is int or type(value) is float


def _listed(words: Iterable[str], between: str = ", ") -> str:
    known = list(words)
    return between.join(known[:LIST_LIMIT] + (["..."] if len(known) > LIST_LIMIT else []))
