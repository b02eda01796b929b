"""The `package` key in the text of a policy: added as one line, or its version changed in place.

All else of the text stays, byte for byte. The result is read as a run would read it, and must
differ in nothing but the package.
"""

from __future__ import annotations

import json
import re
from typing import Final

import msgspec

from mcp_jail.config import load
from mcp_jail.core.packages import Pinned, pinned
from mcp_jail.core.policy import Policy
from mcp_jail.errors import PackageError, Place, PolicyError

_VALUE: Final = re.compile(r"""["']?version["']?\s*:\s*("[^"]*"|'[^']*'|[^\s,}#]+)""")


def line_of(package: Pinned) -> str:
    """The key as a line of a policy."""
    scripts = ", scripts: allow" if package.scripts else ""
    name, version = json.dumps(package.name), json.dumps(package.version)
    return f"package: {{{package.kind.value}: {name}, version: {version}{scripts}}}"


def with_package(text: str, package: Pinned) -> str:
    """A policy's text with the line at its end; PackageError where that is not the same policy."""
    newline = "\r\n" if "\r\n" in text else "\n"
    ended = text if text.endswith("\n") or not text else text + newline
    return _checked(text, f"{ended}{line_of(package)}{newline}", package)


def with_version(text: str, package: Pinned) -> str:
    """A policy's text with another version of its package."""
    place = load(text, "the policy").places.get(("package", "version"))
    changed = text if place is None else _replaced(text, place, package.version)
    return _checked(text, changed, package)


def _replaced(text: str, place: Place, version: str) -> str:
    lines = text.splitlines(keepends=True)
    line = lines[place.line - 1]
    found = _VALUE.match(line, place.column - 1)
    if found is None:
        return text
    start, end = found.span(1)
    lines[place.line - 1] = line[:start] + json.dumps(version) + line[end:]
    return "".join(lines)


def _checked(before: str, after: str, package: Pinned) -> str:
    try:
        policy = load(after, "the policy").policy
    except PolicyError:
        raise _by_hand(package) from None
    if pinned(policy.package) != package or _rest(policy) != _rest(load(before, "").policy):
        raise _by_hand(package)
    return after


def _rest(policy: Policy) -> Policy:
    return msgspec.structs.replace(policy, package=None)


def _by_hand(package: Pinned) -> PackageError:
    return PackageError(
        "the policy's text cannot be changed without changing more",
        hint=f"write it yourself: {line_of(package)}",
    )
