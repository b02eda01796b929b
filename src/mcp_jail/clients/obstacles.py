"""Places of clients that cannot be looked at, though their client may read them."""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Iterable, Iterator

import msgspec

from mcp_jail.clients.catalogue import Row, Scope
from mcp_jail.clients.targets import PROJECT_FILES, Ground, places_of
from mcp_jail.store.places import NOWHERE


class Obstacle(msgspec.Struct, frozen=True):
    """What keeps us from looking at a client's file, and why."""

    path: str
    row: Row
    why: str

    @property
    def told(self) -> str:
        """Why, as a sentence."""
        return f"cannot be looked at, and its client may start servers by it: {self.why}"


def obstacles(ground: Ground, rows: Iterable[Row]) -> list[Obstacle]:
    """Each once; a file that is not there is none."""
    found: dict[str, Obstacle] = {}
    for row in rows:
        for path, why in _of_row(ground, row):
            found.setdefault(path, Obstacle(path, row, why))
    return list(found.values())


def why_no_file(path: str) -> str:
    """Why a path is no file that can be read; empty where it is one, or nothing is there."""
    try:
        mode = os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except OSError as error:
        return error.strerror or str(error)
    if stat.S_ISREG(mode):
        return ""
    kinds = (
        (stat.S_ISDIR, "a directory"),
        (stat.S_ISFIFO, "a pipe"),
        (stat.S_ISSOCK, "a socket"),
    )
    kind = next((name for is_kind, name in kinds if is_kind(mode)), "a device")
    return f"it is {kind}, no file"


def _of_row(ground: Ground, row: Row) -> Iterator[tuple[str, str]]:
    for path, is_pattern in places_of(ground, row):
        if is_pattern:
            yield from _of_pattern(path)
            if row.scope is Scope.PROJECT and len(glob.glob(path)) > PROJECT_FILES:
                yield os.path.dirname(path), f"there are more files than {PROJECT_FILES}"
            continue
        why = why_no_file(path)
        if why and os.path.realpath(path) != NOWHERE:  # a file that a person has emptied for good
            yield _closed(path), why


def _of_pattern(pattern: str) -> Iterator[tuple[str, str]]:
    """Directories of a pattern that cannot be listed."""
    folder = os.path.dirname(pattern)
    fixed = folder
    while glob.has_magic(fixed):
        fixed = os.path.dirname(fixed)
    for place in dict.fromkeys((fixed, *(glob.glob(folder) if fixed != folder else ()))):
        try:
            os.listdir(place)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            yield _closed(place), error.strerror or str(error)


def _closed(path: str) -> str:
    """The first part of a path that stands in the way."""
    parts = path.split(os.sep)
    for end in range(2, len(parts)):
        place = os.sep.join(parts[:end])
        try:
            os.stat(place)
        except OSError:
            return place
        if not os.access(place, os.X_OK):
            return place
    return path
