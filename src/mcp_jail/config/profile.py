"""What is known of a well-known server: its command, its needs, which tools only read.

One file a server in `profiles/`, data only. A profile opens nothing by itself: it goes into the
first policy of a server, where its user reads and changes it.
"""

from __future__ import annotations

import os
from enum import Enum
from functools import cache
from typing import Final

import msgspec

from mcp_jail.config.fields import Reader
from mcp_jail.config.problems import Problems, refusal
from mcp_jail.config.tree import parse
from mcp_jail.core.policy import Home, Variable, VariableValue

FOLDER: Final = os.path.join(os.path.dirname(__file__), "profiles")


class Kind(Enum):
    """What an argument or a variable of a server means."""

    DIRECTORY = "directory"  # it reads there
    WORKPLACE = "workplace"  # a directory it writes in
    FILE = "file"
    DATA_FILE = "data file"  # it writes this file, and others beside it
    URL = "url"  # it connects there
    OTHER = "other"  # no path and no host, whatever it looks like


class Marks(msgspec.Struct, frozen=True, kw_only=True):
    """How a command shows that it starts this server."""

    npm: str | None = None
    pypi: str | None = None
    programs: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()  # of `python -m`


class Arguments(msgspec.Struct, frozen=True, kw_only=True):
    """What the arguments mean: those without an option, and the values of options."""

    plain: Kind | None = None
    options: dict[str, Kind] = {}


class Variables(msgspec.Struct, frozen=True, kw_only=True):
    """Variables the server reads, those that are to be set if the entry has none, their meaning."""

    known: dict[Variable, Kind] = {}
    set: dict[Variable, VariableValue] = {}  # `~` is HOME, which the server's own is called too


class ToolNames(msgspec.Struct, frozen=True, kw_only=True):
    """The server's tools: those that only read, and those that change or send something."""

    reading: tuple[str, ...] = ()
    acting: tuple[str, ...] = ()


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of one server."""

    name: str
    what: str
    marks: Marks
    arguments: Arguments = Arguments()
    variables: Variables = Variables()
    hosts: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()  # directories it needs where they exist
    home: Home = Home.FRESH
    tools: ToolNames = ToolNames()
    notes: tuple[str, ...] = ()  # sentences for whoever reads the first policy


@cache
def profiles() -> tuple[Profile, ...]:
    """All profiles, by name; PolicyError for one that cannot be read."""
    names = sorted(name for name in os.listdir(FOLDER) if name.endswith(".yaml"))
    return tuple(_read(name) for name in names)


def _read(name: str) -> Profile:
    with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
        text = file.read()
    problems = Problems(name, text)
    tree = parse(text, problems)
    arguments = {} if tree is None else Reader(problems).struct(Profile, tree)
    if problems.in_order():
        raise refusal(name, problems.in_order())
    return Profile(**arguments)
