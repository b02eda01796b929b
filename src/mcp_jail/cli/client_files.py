"""Which files of clients a command line means, and the program that their entries are to start."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Iterable

from mcp_jail.clients.catalogue import Row, Scope
from mcp_jail.clients.obstacles import obstacles, why_no_file
from mcp_jail.clients.our_entries import PROGRAM
from mcp_jail.clients.planning import Circumstances
from mcp_jail.clients.plans import FilePlan, Group, Outcome, whole
from mcp_jail.clients.targets import (
    ROWS,
    Ground,
    Target,
    at,
    beyond,
    existing,
    merged,
    named,
    rows_of,
)
from mcp_jail.errors import UsageError
from mcp_jail.store.places import NOWHERE, find_places, home_folder, working_folder
from mcp_jail.store.state_key import key_to_plan_with


def add_file_arguments(parser: argparse.ArgumentParser, verb: str) -> None:
    """Add what names files, and how to go about it."""
    parser.add_argument("files", nargs="*", metavar="FILE", help="a client's configuration")
    parser.add_argument(
        "--client",
        metavar="ID",
        help="all files of a client, such as cursor; with FILE: whose format it has",
    )
    parser.add_argument("--all", action="store_true", help="all files of all known clients")
    parser.add_argument(
        "--server", action="append", default=[], metavar="NAME", help=f"{verb} only this server"
    )
    parser.add_argument(
        "--project",
        action="store_true",
        help="also files of the project in this directory, which others may get",
    )
    parser.add_argument("--dry-run", action="store_true", help="show, and write nothing")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument("--json", action="store_true", help="print the report for a program")


def circumstances(arguments: argparse.Namespace) -> Circumstances:
    """What a plan depends on beside the files."""
    home = home_folder(os.environ)
    ground = Ground(home, working_folder(), os.environ)
    only = frozenset(arguments.server)
    places = find_places()
    key = key_to_plan_with(places)
    return Circumstances(places, ground, own_program(home), only, key=key)


def targets_of(
    arguments: argparse.Namespace, ground: Ground, gone: frozenset[str] = frozenset()
) -> tuple[list[Target], list[FilePlan]]:
    """The files that are meant, and those that are left or cannot be looked at.

    Those that are known to be `gone` need not be there.
    """
    if arguments.files:
        if arguments.all:
            raise UsageError("FILE and --all do not go together")
        there = [file for file in arguments.files if os.path.realpath(at(ground, file)) not in gone]
        for file in there:
            _refuse_no_file(at(ground, file), file)
        return merged(named(ground, file, arguments.client) for file in there), []
    if arguments.client is None and not arguments.all:
        known = sorted({row.client for target in existing(ground, ROWS) for row in target.rows})
        here = f"here are files of: {', '.join(known)}" if known else "no client's file is here"
        raise UsageError("which files? name FILE, --client ID or --all", hint=here)
    rows = ROWS if arguments.client is None else rows_of(arguments.client)
    all_found = existing(ground, rows)
    left = _not_covered(ground) if arguments.all else []
    left += _obstructed(ground, rows, with_projects=arguments.project)
    if arguments.project:
        return all_found, left
    projects = [target for target in all_found if target.is_project]
    why = "it is a project's file, which others may get"
    left += [whole(target, Group.SKIPPED, why, "--project takes it along") for target in projects]
    return [target for target in all_found if target not in projects], left


def _refuse_no_file(path: str, named_as: str) -> None:
    why = why_no_file(path)
    if why:
        raise UsageError(f"'{named_as}' cannot be read: {why}")
    if not os.path.lexists(path):
        raise UsageError(f"there is no file '{named_as}'")
    if not os.path.exists(path):
        raise UsageError(f"'{named_as}' is a link to a file that is not there")


def _obstructed(ground: Ground, rows: Iterable[Row], *, with_projects: bool) -> list[FilePlan]:
    """What may hold servers and cannot be looked at."""
    meant = [row for row in rows if with_projects or row.scope is not Scope.PROJECT]
    plans = [
        FilePlan(each.path, (each.row,), (Outcome(Group.REFUSED, "", each.row.name, each.told),))
        for each in obstacles(ground, meant)
    ]
    if not ground.cwd:
        why = "the working directory was removed, so no project's file is looked at"
        plans.append(FilePlan("", (), (Outcome(Group.SKIPPED, "", "any client", why),)))
    return plans


def _not_covered(ground: Ground) -> list[FilePlan]:
    return [
        FilePlan(path, (), (Outcome(Group.SKIPPED, "", each.name, each.why),))
        for each, path in beyond(ground)
    ]


def own_program(home: str) -> str:
    """The path of mcp-jail that stays when a new version is installed; absolute.

    `~/.local/bin/mcp-jail` leads to the version in use; the path behind it names one version.
    """
    running = _whole(shutil.which(sys.argv[0]) or sys.argv[0])
    if os.path.basename(running) != PROGRAM:
        running = os.path.join(os.path.dirname(sys.executable), PROGRAM)
    real = os.path.realpath(running)
    if any(part in real for part in _PASSING):
        raise UsageError(
            f"'{real}' lies in a cache and may be gone tomorrow, and with it every wrapped server",
            hint="install mcp-jail first: pipx install, or uv tool install",
        )
    for stable in (os.path.join(home, ".local/bin", PROGRAM), shutil.which(PROGRAM)):
        if stable and os.path.realpath(stable) == real:
            return _whole(stable)
    if not os.access(running, os.X_OK):
        raise UsageError(
            f"the program '{running}' is not there, so no client could start it",
            hint="install mcp-jail, and call it by its name",
        )
    return running


def _whole(path: str) -> str:
    return os.path.normpath(os.path.join(working_folder() or NOWHERE, path))


# Where uvx and pipx run put a program that is used once.
_PASSING = ("/.cache/", "/archive-v")
