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
        f'no policy named "{name}": there is no "{places.policy(name)}" and no '
        f'"{places.system_policy(name)}"',
        hint=f"{_near(places, name)}a policy begins with `name: {name}`; all keys are in "
        f"`mcp-jail schema`, and README.md has one to copy",
    )


def read_policy(places: Places, path: str) -> PolicyFile:
    """The policy in a file; UsageError if it lies outside our directories and is not trusted."""
    path = os.path.realpath(path)
    try:
        found = _read(path, _kind(places, path))
    except FileNotFoundError:
        raise UsageError(f'there is no policy file "{path}"') from None
    if found.kind is PolicyKind.TRUSTED and not is_trusted(places, path, found.text.encode()):
        before = trusted_content(places, path)
        change = "has changed since it was trusted" if before else "is not trusted"
        raise UsageError(
            f'policy file "{path}" {change}',
            hint=f"read it, then `mcp-jail trust {path}`",
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


def _kind(places: Places, path: str) -> PolicyKind:
    folder = os.path.dirname(path)
    if folder == os.path.realpath(places.system_policies):
        return PolicyKind.SYSTEM
    if folder == os.path.realpath(places.policies):
        return PolicyKind.OWN
    return PolicyKind.TRUSTED


def _read(path: str, kind: PolicyKind) -> PolicyFile:
    content = read_private(path, limit=MAX_POLICY_BYTES, only_root=kind is PolicyKind.SYSTEM)
    try:
        return PolicyFile(path, content.decode(), kind)
    except UnicodeDecodeError as error:
        raise FileError(f'"{path}" is not UTF-8: byte {error.start} is no text') from None


def _is_name(name: str) -> bool:
    try:
        checked_name(name)
    except UsageError:
        return False
    return True


def _near(places: Places, name: str) -> str:
    """The names that may have been meant."""
    from difflib import get_close_matches  # noqa: PLC0415 - only a mistake pays its 5 ms

    names = policy_names(places)
    near = get_close_matches(name, names, n=3) or names[:3]
    return f"there is {', '.join(near)}; " if near else ""
