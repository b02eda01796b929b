"""Finds the policy a name or a path means, and reads it if its file can be trusted.

A root-owned file of `/etc/mcp-jail/policies` wins over the user's own: nothing that runs as the
user can widen it. A file anywhere else counts only once it is trusted.
"""

from __future__ import annotations

import os
from enum import Enum

import msgspec

from mcp_jail.errors import UsageError
from mcp_jail.store.files import FileError, read_private
from mcp_jail.store.places import Places, checked_name
from mcp_jail.store.trust import is_trusted, trusted_content

# A policy is written by people; the largest starter policy has 4 KiB.
MAX_POLICY_BYTES = 1024 * 1024
SUFFIX = ".yaml"


class PolicyKind(Enum):
    """Whose a policy file is."""

    SYSTEM = "root's"
    OWN = "the user's own"
    TRUSTED = "trusted"


class PolicyFile(msgspec.Struct, frozen=True):
    """A policy file as it was read: what is judged is this text, not what stands there later."""

    path: str
    text: str
    kind: PolicyKind


def find_policy(places: Places, name: str) -> PolicyFile:
    """The policy of a name; UsageError that says where it was looked for if there is none."""
    for path, kind in _candidates(places, name):
        try:
            return _read(path, kind)
        except FileNotFoundError:
            continue
    raise UsageError(
        f"no policy named '{name}': there is no '{places.policy(name)}' and no "
        f"'{places.system_policy(name)}'",
        hint=_instead(places, name),
    )


def read_policy(places: Places, path: str, *, is_change: bool = False) -> PolicyFile:
    """The policy in a file; UsageError if it lies outside our directories and is not trusted.

    With `is_change` something else may have been trusted there: only to see what was changed.
    """
    path = os.path.realpath(path)
    try:
        found = _read(path, kind_of(places, path))
    except FileNotFoundError:
        raise no_such_file(places, path) from None
    if found.kind is PolicyKind.TRUSTED and not is_trusted(places, path, found.text.encode()):
        before = trusted_content(places, path)
        if before and is_change:
            return found
        change = "has changed since it was trusted" if before else "is not trusted"
        raise UsageError(
            f"policy file '{path}' {change}",
            hint=f"read it, then: mcp-jail trust {path}",
        )
    return found


def policy_names(places: Places) -> list[str]:
    """The names that have a policy, root's and the user's."""
    names: set[str] = set()
    for folder in (places.system_policies, places.policies):
        try:
            files = os.listdir(folder)
        except OSError:
            continue
        names |= {file[: -len(SUFFIX)] for file in files if file.endswith(SUFFIX)}
    return sorted(name for name in names if _is_name(name))


def _candidates(places: Places, name: str) -> list[tuple[str, PolicyKind]]:
    return [
        (places.system_policy(name), PolicyKind.SYSTEM),
        (places.policy(name), PolicyKind.OWN),
    ]


def kind_of(places: Places, path: str) -> PolicyKind:
    """Whose a policy file is, by where it lies; `path` with its links followed."""
    folder = os.path.dirname(path)
    if folder == os.path.realpath(places.system_policies):
        return PolicyKind.SYSTEM
    if folder == os.path.realpath(places.policies):
        return PolicyKind.OWN
    return PolicyKind.TRUSTED


def _read(path: str, kind: PolicyKind) -> PolicyFile:
    try:
        content = read_private(path, limit=MAX_POLICY_BYTES, only_root=kind is PolicyKind.SYSTEM)
    except FileError as error:
        raise FileError(error.message, hint=error.hint or _cure(path)) from None
    try:
        return PolicyFile(path, content.decode(), kind)
    except UnicodeDecodeError as error:
        raise FileError(f"'{path}' is not UTF-8: byte {error.start} is no text") from None


def _is_name(name: str) -> bool:
    try:
        checked_name(name)
    except UsageError:
        return False
    return True


def no_such_file(places: Places, path: str) -> UsageError:
    """The error of a policy file that is not there."""
    name = os.path.basename(path).partition(".")[0]
    named = name in policy_names(places)
    hint = f"the policy '{name}' is meant by its name, without a file" if named else ""
    return UsageError(f"there is no policy file '{path}'", hint=hint)


def _cure(path: str) -> str:
    """What mends a policy file that is refused."""
    if os.path.islink(path):
        return f"put the file itself there: cp --remove-destination {os.path.realpath(path)} {path}"
    if not os.access(path, os.R_OK):
        return f"chmod u+r {path}"
    return ""


def _instead(places: Places, name: str) -> str:
    """What may have been meant by a name that no policy has."""
    from difflib import get_close_matches  # noqa: PLC0415 - only a mistake pays its 5 ms

    names = policy_names(places)
    stem, dot, suffix = name.rpartition(".")
    if dot and suffix in {"yaml", "yml"}:
        if stem in names:
            return f"a policy is meant by its name: '{stem}'"
        return f"a policy is meant by its name, '{stem}'; for a file elsewhere: --policy FILE"
    other = os.path.join(places.policies, f"{name}.yml")
    if os.path.lexists(other):
        return f"its file must end in .yaml: mv {other} {places.policy(name)}"
    near = get_close_matches(name, names, n=1)
    meant = f"did you mean '{near[0]}'? " if near else ""
    here = f"{meant}policies here: {', '.join(names[:_NAMED])}.\n" if names else ""
    return f"{here}a policy begins with 'name: {name}'; README.md has one to copy"


# Policies that a hint names.
_NAMED = 8
