"""Which policy files outside our own directory are trusted: this path with this very content.

A cloned repository may bring a policy; it counts only after `mcp-jail trust FILE`, and any change
of it asks again, as direnv does with `.envrc`. One small file for each path, named by its hash, so
that two who trust different files never meet.
"""

from __future__ import annotations

import os

import msgspec

from mcp_jail.core.sha256 import sha256
from mcp_jail.store.files import (
    FileError,
    make_private_folder,
    names_in,
    read_private,
    replace_private,
)
from mcp_jail.store.places import Places


class Trusted(msgspec.Struct, frozen=True, kw_only=True):
    """A trusted file: where it lies, the SHA-256 of its content, when it was trusted."""

    v: int
    path: str
    sha256: str
    t: int  # milliseconds since 1970, UTC


def trust(places: Places, path: str, content: bytes, t_ms: int) -> Trusted:
    """Trust a file with the content that was shown to the user; replaces what was before."""
    path = os.path.realpath(path)
    trusted = Trusted(v=1, path=path, sha256=sha256(content).hexdigest(), t=t_ms)
    make_private_folder(places.trust)
    replace_private(record_path(places, path), msgspec.json.encode(trusted))
    return trusted


def is_trusted(places: Places, path: str, content: bytes) -> bool:
    """Whether this content at this path is trusted; a record that cannot be read says no."""
    path = os.path.realpath(path)
    trusted = trusted_content(places, path)
    return trusted is not None and trusted.sha256 == sha256(content).hexdigest()


def trusted_content(places: Places, path: str) -> Trusted | None:
    """What is trusted at a path, whatever stands there now."""
    path = os.path.realpath(path)
    try:
        trusted = msgspec.json.decode(read_private(record_path(places, path)), type=Trusted)
    except (FileNotFoundError, FileError, msgspec.MsgspecError, UnicodeDecodeError):
        return None
    return trusted if trusted.v == 1 and trusted.path == path else None


def trusted_paths(places: Places) -> list[str]:
    """The files that were trusted once, whatever stands there now."""
    found = []
    for name in names_in(places.trust):
        try:
            content = read_private(os.path.join(places.trust, name))
            found.append(msgspec.json.decode(content, type=Trusted).path)
        except (FileNotFoundError, FileError, msgspec.MsgspecError, UnicodeDecodeError):
            continue
    return found


def withdraw_trust(places: Places, path: str) -> bool:
    """Take the trust in a path back; False if there was none."""
    try:
        os.unlink(record_path(places, os.path.realpath(path)))
    except FileNotFoundError:
        return False
    return True


def record_path(places: Places, path: str) -> str:
    """Where it is noted whether a file is trusted; `path` with its links followed."""
    digest = sha256(os.fsencode(path)).hexdigest()
    return os.path.join(places.trust, f"{digest}.json")
