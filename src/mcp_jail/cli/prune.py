"""`mcp-jail prune`: remove installed packages that no policy pins any more.

Policies are root's, yours, and the files that you trusted. What a running server uses stays, and a
policy of yours that cannot be read stops it: what it pins is not known.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any

import msgspec

from mcp_jail.cli.for_programs import json_page
from mcp_jail.cli.out import bullet, counted, folded, heading, rows
from mcp_jail.config import load
from mcp_jail.core.packages import Pinned, pinned
from mcp_jail.errors import ExitCode, PolicyError, UsageError
from mcp_jail.packages.installed import folder_of
from mcp_jail.packages.installing import installed, remove, sweep
from mcp_jail.store.files import FileError, read_plain
from mcp_jail.store.places import Places, find_places
from mcp_jail.store.policies import MAX_POLICY_BYTES, SUFFIX
from mcp_jail.store.trust import trusted_paths

EXAMPLE = """\
  mcp-jail prune
  mcp-jail prune --yes"""


class Unused(msgspec.Struct, frozen=True):
    """A package that no policy pins: its directory and how large it is."""

    folder: str
    size: int  # bytes

    @property
    def called(self) -> str:
        """Its kind and name, as its directory has them."""
        kind, name = self.folder.split("/")[-2:]
        return f"{kind} {name.replace('+', '/', 1) if name.startswith('@') else name}"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add how to answer."""
    parser.add_argument("--yes", action="store_true", help="remove without asking")
    parser.add_argument(
        "--json", action="store_true", help="only look, unless --yes; print it for a program"
    )


def run(arguments: argparse.Namespace) -> int:
    """Show, ask, remove; 1 if the answer is no."""
    places = find_places()
    used = {folder_of(places, package) for package in _pinned(places)}
    unused = [
        Unused(folder, _size(folder)) for _, folder in installed(places) if folder not in used
    ]
    is_agreed = bool(unused) and _is_agreed(unused, arguments)
    removed = []
    if is_agreed:
        used = {folder_of(places, package) for package in _pinned(places)}  # a person takes a while
        unused = [each for each in unused if each.folder not in used]
        removed = [each for each in unused if remove(places, each.folder)]
    sweep(places)
    if arguments.json:
        sys.stdout.write(json_page(_facts(unused, removed)))
        return ExitCode.OK
    if not unused:
        folded("each installed package is pinned by a policy")
        return ExitCode.OK
    _print_done(unused, removed, is_agreed=is_agreed)
    return ExitCode.OK if is_agreed else ExitCode.NEGATIVE


def _pinned(places: Places) -> list[Pinned]:
    """What all policies pin; UsageError where one of the user's own or root's cannot be read."""
    own = [path for folder in (places.system_policies, places.policies) for path in _files(folder)]
    found = []
    for path in dict.fromkeys((*own, *trusted_paths(places))):
        try:
            policy = load(read_plain(path, limit=MAX_POLICY_BYTES), path).policy
        except (FileNotFoundError, FileError, PolicyError) as error:
            if path not in own:
                continue  # of a clone that is gone or changed; what it pinned can be installed anew
            raise UsageError(
                f"nothing is removed: what '{path}' pins is not known: {error}",
                hint="mend it or take it away",
            ) from None
        package = pinned(policy.package)
        if package is not None:
            found.append(package)
    return found


def _files(folder: str) -> list[str]:
    try:
        names = sorted(os.listdir(folder))
    except FileNotFoundError:
        return []
    return [os.path.join(folder, name) for name in names if name.endswith(SUFFIX)]


def _size(folder: str) -> int:
    total = 0
    for top, _, files in os.walk(folder):
        total += sum(os.lstat(os.path.join(top, file)).st_size for file in files)
    return total


def _is_agreed(unused: list[Unused], arguments: argparse.Namespace) -> bool:
    if arguments.json:
        return bool(arguments.yes)
    heading(f"{counted(len(unused), 'package', 'packages')} that no policy pins")
    rows([(each.called, f"{each.size / 1e6:.1f} MB") for each in unused])
    if arguments.yes:
        return True
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("prune asks a person, and this is no terminal", hint="--yes removes them")
    sys.stdout.write("Remove them? [y/N] ")
    sys.stdout.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def _print_done(unused: list[Unused], removed: list[Unused], *, is_agreed: bool) -> None:
    if not is_agreed:
        bullet("nothing is removed")
        return
    size = sum(each.size for each in removed)
    bullet(f"removed: {counted(len(removed), 'package', 'packages')}, {size / 1e6:.1f} MB")
    for each in unused:
        if each not in removed:
            bullet(
                f"{each.called} stays: a running server uses it, or an update waits for an answer"
            )


def _facts(unused: list[Unused], removed: list[Unused]) -> list[dict[str, Any]]:
    return [
        {"path": each.folder, "bytes": each.size, "removed": each in removed} for each in unused
    ]
