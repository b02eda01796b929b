"""`mcp-jail install NAME [-- COMMAND...]`: fetch the package of a policy, once, in a jail.

What the policy's `package` pins is fetched from your own registries, without install scripts unless
it says `scripts: allow`, and kept read-only; `run` starts it without any network. A policy whose
server is an `npx` or `uvx` command and that pins nothing yet gets the line that does, with the
version the command means now.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

from mcp_jail.cli.chosen import add_policy_arguments, policy_of
from mcp_jail.cli.for_programs import json_page
from mcp_jail.cli.out import bullet, counted, folded, heading, rows
from mcp_jail.cli.progress import Shown
from mcp_jail.core.packages import PackageKind, Pinned, canonical_name, pinned
from mcp_jail.core.recorded.audit import Entry, Kind
from mcp_jail.errors import ExitCode, JailError, PackageError, UsageError
from mcp_jail.packages.commands import Asked, read_command
from mcp_jail.packages.installed import Installed, Record, find, hold, is_of
from mcp_jail.packages.installing import Phase, install, whole
from mcp_jail.packages.makers import maker_of
from mcp_jail.packages.policy_line import line_of, with_package
from mcp_jail.proxy.locking import called
from mcp_jail.proxy.prepare import Judged, audit_path, judge
from mcp_jail.proxy.step import JailedSteps
from mcp_jail.store.chains import begin_chain
from mcp_jail.store.policies import PolicyKind
from mcp_jail.store.policy_edits import PolicyChangedError, replace_policy

EXAMPLE = """\
  mcp-jail install filesystem
  mcp-jail install filesystem -- npx -y @modelcontextprotocol/server-filesystem ~/projects"""

NAMED: Final = 3  # packages of one registry that are named

TAKES_COMMAND = True
USAGE = "mcp-jail install [--json] NAME|--policy FILE [-- COMMAND...]"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what names a policy, and the command where the policy does not."""
    add_policy_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print what was done for a program")


def run(arguments: argparse.Namespace) -> int:
    """Install; 6 for a package that cannot be had."""
    name, file = policy_of(arguments)
    pin(judge(name=name, policy_file=file), arguments.command, as_json=arguments.json)
    return ExitCode.OK


def pin(judged: Judged, command: tuple[str, ...] = (), *, as_json: bool = False) -> None:
    """Install a policy's package, pin what its command means first if need be, and tell of it."""
    shown = Shown(is_quiet=as_json)
    asked = _asked(judged, command)
    package = pinned(judged.policy.package)
    is_new_line = package is None
    try:
        if package is None:
            package = newest(judged, asked, shown)
        was_there = whole(judged.on_disk, package) is not None
        done = installed(judged, package, shown, asked or asked_of(judged, package))
    finally:
        shown.end()
    descriptor = hold(done)  # until a policy pins it, which keeps it from mcp-jail prune
    is_written = is_new_line and _write(judged, package)
    os.close(descriptor)
    facts = _facts(done, is_new=not was_there, line=line_of(package) if is_new_line else "")
    if as_json:
        sys.stdout.write(json_page(facts | {"written": is_written}))
    else:
        _for_people(judged, done, is_new=not was_there)
        if is_new_line:
            _print_line(judged, package, is_written=is_written)


def newest(judged: Judged, asked: Asked | None, shown: Shown) -> Pinned:
    """The package of a command, at the version that it means now; UsageError, PackageError."""
    if asked is None:
        raise UsageError(
            f"policy '{judged.policy.name}' names no package and no npx or uvx command",
            hint=f"say the command: mcp-jail install {judged.policy.name} -- npx -y PACKAGE; or "
            'add, for example: package: {npm: NAME, version: "1.2.3"}',
        )
    version = asked.version
    if version is None:
        meant = Pinned(kind=asked.kind, name=asked.name, version="")
        version = version_now(judged, meant, shown, asked)
    return Pinned(kind=asked.kind, name=asked.name, version=version)


def version_now(judged: Judged, package: Pinned, shown: Shown, asked: Asked) -> str:
    """The version that a package's name means now, within what is asked for; PackageError."""
    shown.begin(f"{package.kind.value} {package.name}")
    shown.phase(Phase.RESOLVING)
    maker = maker_of(
        package.kind,
        JailedSteps(tick=shown.tick),
        environ=os.environ,
        home=judged.home,
        scripts=package.scripts,
        python=asked.python,
    )
    return maker.newest(package.name, asked.wanted)


def asked_of(judged: Judged, package: Pinned) -> Asked:
    """What the command of a pinned package asks for: the policy's, else the one it came by."""
    named = () if judged.policy.server is None else judged.policy.server.command
    asked = read_command(named)
    if asked is not None and is_of(asked, package):
        return asked
    known = _record(judged, package)
    spec, python = ("", "") if known is None else (known.spec, known.python)
    return Asked(kind=package.kind, name=package.name, spec=spec, python=python)


def installed(judged: Judged, package: Pinned, shown: Shown, asked: Asked | None) -> Installed:
    """A package in its place, with what is being done shown and recorded; PackageError, AuditError.

    The policy's audit has what was tried on the network meanwhile.
    """
    name = judged.policy.name
    shown.begin(str(package))
    with begin_chain(audit_path(judged)) as write:
        write([Entry(kind=Kind.START, name=name, reason=f"{package} is being installed")])
        maker = maker_of(
            package.kind,
            JailedSteps(tick=shown.tick, record=write),
            environ=os.environ,
            home=judged.home,
            scripts=package.scripts,
            python="" if asked is None else asked.python,
        )
        try:
            done = install(judged.on_disk, package, maker, shown.phase, asked)
        except JailError as error:
            write([Entry(kind=Kind.END, name=name, reason=error.message)])
            raise
        detail = {"sha256": done.record.digest, "integrity": done.record.integrity}
        write([Entry(kind=Kind.END, name=name, reason=f"{package} is installed", detail=detail)])
    return done


def _asked(judged: Judged, command: tuple[str, ...]) -> Asked | None:
    """What the command asks for, of the command line or the policy."""
    if judged.policy.package is not None and judged.policy.package.unpinned:
        raise UsageError(
            "the policy says 'unpinned: true': it is fetched anew at each start",
            hint="take the key out, and mcp-jail install pins it",
        )
    named = () if judged.policy.server is None else judged.policy.server.command
    return read_command(command or named)


def _record(judged: Judged, package: Pinned) -> Record | None:
    with suppress(PackageError):
        known = find(judged.on_disk, package)
        return None if known is None else known.record
    return None


def _write(judged: Judged, package: Pinned) -> bool:
    """Write the line into a policy of the user's own; no other file is touched.

    Another install may have written it meanwhile, or somebody something else.
    """
    if judged.file.kind is not PolicyKind.OWN:
        return False
    try:
        replace_policy(judged.file, with_package(judged.file.text, package))
    except PolicyChangedError:
        now = judge(name=judged.policy.name, policy_file=None)
        if pinned(now.policy.package) == package:
            return True
        if now.policy.package is not None or now.file.text == judged.file.text:
            raise
        return _write(now, package)
    return True


def _facts(done: Installed, *, is_new: bool, line: str) -> dict[str, Any]:
    record = done.record
    return {
        record.package.kind.value: record.package.name,
        "version": record.package.version,
        "scripts": record.package.scripts,
        "registries": record.registries,
        "integrity": record.integrity,
        "sha256": record.digest,
        "files": record.files,
        "bytes": record.size,
        "programs": sorted(record.programs),
        "path": done.folder,
        "new": is_new,
        "policy_line": line,
    }


def _for_people(judged: Judged, done: Installed, *, is_new: bool) -> None:
    record = done.record
    heading(f"{record.package}: {'installed' if is_new else 'is installed, and as it was'}")
    size = f"{counted(record.files, 'file', 'files')}, {record.size / 1e6:.1f} MB"
    integrity = [("integrity", record.integrity)] if record.integrity else []
    scripts = _BUILT[record.package.kind] if record.package.scripts else "not run"
    rows(
        [
            *_origins(record),
            *integrity,
            ("sha256", f"{record.digest} (of all its files)"),
            ("size", size),
            ("scripts", f"install scripts: {scripts}"),
            ("path", f"{done.tree}, read only for the server"),
        ]
    )
    folded(f"mcp-jail run {called(judged)} starts it without a network")


# npm fetches all first; an index gives what a build needs only while it is being built.
_BUILT: Final = {
    PackageKind.NPM: "ran, in a jail without a network",
    PackageKind.PYPI: "builds from source ran, in a jail that reaches your indexes",
}


def _origins(record: Record) -> Iterator[tuple[str, str]]:
    """Which registry gave the package, and which all that it needs."""
    own = canonical_name(record.package.kind, record.package.name).partition("[")[0]
    for url, names in sorted(record.registries.items(), key=lambda each: own not in each[1]):
        shown = sorted(names, key=lambda name: (name != own, name))
        more = f" and {len(shown) - NAMED} more" if len(shown) > NAMED else ""
        yield "from", f"{url}: {', '.join(shown[:NAMED])}{more}"


def _print_line(judged: Judged, package: Pinned, *, is_written: bool) -> None:
    where = "added to" if is_written else "to be added to"
    bullet(f"{where} {judged.file.path}:", note=line_of(package))
