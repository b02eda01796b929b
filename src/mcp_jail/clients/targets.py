"""Which files are meant: those of a client, all that exist, or a file by its name."""

from __future__ import annotations

import glob
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase

import msgspec

from mcp_jail.clients.catalogue import (
    LIST,
    NESTED,
    OLD_ZED,
    PLAIN,
    Beyond,
    Fills,
    Row,
    Scope,
    Syntax,
)
from mcp_jail.clients.rows_first import FIRST
from mcp_jail.clients.rows_more import BEYOND, MORE
from mcp_jail.errors import UsageError
from mcp_jail.store.files import FileError, refuse_shared_file, refuse_shared_folder

ROWS = (*FIRST, *MORE)

# Files of one pattern that are looked at in a project: a clone may bring any number.
PROJECT_FILES = 20


class Target(msgspec.Struct, frozen=True):
    """A file with the rows that know it."""

    path: str
    rows: tuple[Row, ...]

    @property
    def is_project(self) -> bool:
        """Whether it belongs to a project, so that others may get it or have written it."""
        return all(row.scope is Scope.PROJECT for row in self.rows)


class Ground(msgspec.Struct, frozen=True):
    """Where a search begins: the user's home, the directory we stand in, the variables.

    `cwd` is empty where that directory was removed: then no project is here.
    """

    home: str
    cwd: str
    environ: Mapping[str, str]

    @property
    def projects(self) -> tuple[str, ...]:
        """This directory and those above it in its git work tree: clients look there as well."""
        folders: list[str] = []
        for folder in self.above:
            if folder == self.home and folders:
                break
            folders.append(folder)
            if os.path.lexists(os.path.join(folder, ".git")):
                return tuple(folders)
        return self.above[:1]

    @property
    def above(self) -> tuple[str, ...]:
        """This directory and all above it."""
        if not self.cwd:
            return ()
        folders = [self.cwd]
        while (parent := os.path.dirname(folders[-1])) != folders[-1]:
            folders.append(parent)
        return tuple(folders)


def client_ids() -> list[str]:
    """The names that `--client` takes."""
    return sorted({row.client for row in ROWS})


def rows_of(client: str) -> tuple[Row, ...]:
    """The rows of a client; UsageError for one that is not known."""
    found = tuple(row for row in ROWS if row.client == client)
    if not found:
        raise UsageError(
            f"no client '{client}' is known", hint=f"known are: {', '.join(client_ids())}"
        )
    return found


def existing(ground: Ground, rows: Iterable[Row]) -> list[Target]:
    """The files of these rows that are there; each once, with all rows that know it."""
    there = (
        Target(path, (row,)) for row in rows for path in _paths(ground, row) if os.path.isfile(path)
    )
    return merged(there)


def merged(targets: Iterable[Target]) -> list[Target]:
    """Each file once, whatever names and links lead to it, with all its rows."""
    found: dict[str, Target] = {}
    for target in targets:
        real = os.path.realpath(target.path)
        known = found.get(real, Target(target.path, ()))
        rows = tuple(dict.fromkeys((*known.rows, *target.rows)))
        found[real] = Target(known.path, rows)
    return list(found.values())


def beyond(ground: Ground) -> list[tuple[Beyond, str]]:
    """Places here whose servers are not covered."""
    found = []
    for each in BEYOND:
        for pattern in each.places:
            expanded = _expanded(_escaped(ground), pattern)
            found += [(each, path) for path in sorted(glob.glob(expanded))[:1]]
    return found


def named(ground: Ground, path: str, client: str | None) -> Target:
    """A file that a person named, with the rows of its client, or a guess by its suffix."""
    path = at(ground, path)
    if client is not None:
        rows = rows_of(client)
        fitting = tuple(row for row in rows if _is_of(ground, row, path))
        return Target(path, fitting or tuple(_by_suffix(rows, path)))
    return Target(path, rows_at(ground, path) or (_unknown(path),))


def at(ground: Ground, path: str) -> str:
    """A path from where we stand; UsageError where that is gone."""
    if not ground.cwd and not os.path.isabs(path):
        raise UsageError(
            f"the working directory was removed, so '{path}' names nothing",
            hint="name the file by its whole path, or go to a directory that is there",
        )
    return os.path.join(ground.cwd, path)


def rows_at(ground: Ground, path: str) -> tuple[Row, ...]:
    """The rows of all clients that read a file at this place."""
    return tuple(row for row in ROWS if _is_of(ground, row, path))


def why_never(ground: Ground, path: str) -> str:
    """Why a file is not to be edited at all, whoever names it."""
    real = os.path.realpath(path)
    plugins = os.path.realpath(os.path.join(ground.home, ".claude/plugins"))
    if real.startswith(plugins + os.sep):
        return "an installed plugin is replaced at each update"
    return ""


def file_notes(target: Target, program: str) -> list[str]:
    """What a person should know of a file itself before it is wrapped."""
    notes = []
    real = os.path.realpath(target.path)
    try:
        refuse_shared_folder(os.path.dirname(real))
        refuse_shared_file(real, os.stat(real))
    except FileError as error:
        notes.append(f"{error.message}: who writes there can put another server in")
    if all(row.scope is Scope.PROJECT and row.files for row in target.rows):
        notes.append(
            f"'{target.path}' is a project's file, which others may get: on their machines "
            f"'{program}' may not be there"
        )
    return notes


def places_of(ground: Ground, row: Row) -> Iterator[tuple[str, bool]]:
    """Where a row's files would lie, and whether that is a pattern."""
    patterns = row.macos if sys.platform == "darwin" and row.macos else row.files
    for pattern in patterns:
        is_pattern = "*" in pattern
        for here in _grounds(ground, row):
            yield _expanded(_escaped(here) if is_pattern else here, pattern), is_pattern


def _paths(ground: Ground, row: Row) -> list[str]:
    found: list[str] = []
    for place, is_pattern in places_of(ground, row):
        matching = sorted(glob.glob(place)) if is_pattern else [place]
        found += matching[:PROJECT_FILES] if row.scope is Scope.PROJECT else matching
    return found


def _grounds(ground: Ground, row: Row) -> Iterator[Ground]:
    """Where a row's files are looked for."""
    if row.scope is not Scope.PROJECT:
        yield ground
        return
    climbed = ground.above[:-1] or ground.above  # the root itself is not looked at
    for folder in climbed if row.climbs else ground.projects:
        yield msgspec.structs.replace(ground, cwd=folder)


def _escaped(ground: Ground) -> Ground:
    """The same places as parts of a pattern."""
    environ = {name: glob.escape(value) for name, value in ground.environ.items()}
    return Ground(glob.escape(ground.home), glob.escape(ground.cwd), environ)


def _expanded(ground: Ground, pattern: str) -> str:
    moved = re.match(r"\$\{([A-Z_]+):-([^}]*)\}", pattern)
    if moved:
        folder = ground.environ.get(moved[1]) or moved[2]
        pattern = folder + pattern[moved.end() :]
    if pattern.startswith("~"):
        return os.path.normpath(ground.home + pattern[1:])
    return os.path.normpath(os.path.join(ground.cwd, pattern))


def _is_of(ground: Ground, row: Row, path: str) -> bool:
    """Whether a path is one of a row's: below this home, or in any project."""
    for pattern in (*row.files, *row.macos):
        if row.scope is Scope.PROJECT:
            if fnmatchcase(path, f"*{pattern[1:]}"):
                return True
        elif fnmatchcase(os.path.normpath(path), _expanded(_escaped(ground), pattern)):
            return True
    return False


def _by_suffix(rows: Iterable[Row], path: str) -> list[Row]:
    """Of a client's rows, those whose language fits a file that has another name."""
    rows = list(rows)
    wanted = _SUFFIXES.get(os.path.splitext(path)[1].lower())
    first = [row for row in rows if wanted is None or row.syntax in wanted][:1]
    return first or rows[:1]


_JSON = frozenset({Syntax.JSON, Syntax.JSON_COMMENTS, Syntax.JSONC})
_SUFFIXES = {
    ".json": _JSON,
    ".jsonc": _JSON,
    ".toml": frozenset({Syntax.TOML}),
    ".yaml": frozenset({Syntax.YAML}),
    ".yml": frozenset({Syntax.YAML}),
}


def _unknown(path: str) -> Row:
    """A row for a file that no client of the catalogue has; the known keys are looked for."""
    suffix = os.path.splitext(path)[1].lower()
    syntax = {".toml": Syntax.TOML, ".yaml": Syntax.YAML, ".yml": Syntax.YAML}.get(
        suffix, Syntax.JSONC
    )
    if syntax is Syntax.JSONC and suffix not in _SUFFIXES:
        raise UsageError(
            f"'{path}' is no file of a known client",
            hint="say whose format it has: --client ID, one of " + ", ".join(client_ids()),
        )
    return Row(
        client="file",
        name="an unknown client",
        files=(),
        syntax=syntax,
        servers=(
            ("mcpServers",),
            ("servers",),
            ("mcp_servers",),
            ("context_servers",),
            ("mcp", "servers"),
            ("mcp",),
        ),
        name_key="name",
        shapes=(OLD_ZED, NESTED, PLAIN, LIST),
        fills=Fills.BOTH,
    )
