"""`mcp-jail log`: the audit, to read and to check.

Without a name, the last entries of every server. A policy that has not been run yet has no entries,
which is no error; a NAME with neither a policy nor an audit is one. `--follow` goes on with what
comes, of new runs and new servers too, and tells of an entry that does not continue its run.
`--verify` checks that no entry was changed, removed or moved since it was written, run by run.
Somebody who can write the file can also write all of it anew, and nothing in it would show that:
`--anchor` prints a line to keep elsewhere, and `--verify --against ANCHOR` checks that the audit
still holds what it held then.
"""

from __future__ import annotations

import argparse
import sys
from typing import NamedTuple

import msgspec

from mcp_jail.cli.chosen import Audit, add_count, audits_of
from mcp_jail.cli.entries import follow, print_last, tell_unreadable
from mcp_jail.cli.entry_lines import plain_text, time_text
from mcp_jail.cli.for_programs import json_line
from mcp_jail.cli.out import console, counted
from mcp_jail.core.recorded.audit import Anchor
from mcp_jail.core.recorded.verify import Report, RunReport, RunState
from mcp_jail.errors import AuditError, ExitCode, UsageError
from mcp_jail.store.history import (
    anchor_holds,
    current_anchor,
    files_of,
    has_audit,
    verify_file,
)
from mcp_jail.store.places import Places, find_places
from mcp_jail.store.policies import find_policy

EXAMPLE = """  mcp-jail log filesystem -n 50
  mcp-jail log --follow
  mcp-jail log filesystem --anchor >> ~/notes/anchors.txt
  mcp-jail log filesystem --verify --against "$(tail -n 1 ~/notes/anchors.txt)" """

# Whole runs that are listed by `--verify`; beyond it they are counted, the others always listed.
MAX_WHOLE_RUNS = 20

_NO_WALL = (
    "This shows changes within a file. A file rewritten whole by somebody with your user's rights "
    "shows nothing: keep an anchor (--anchor) where they cannot write."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the name and the options."""
    parser.add_argument("name", metavar="NAME", nargs="?", help="a policy's name (default: all)")
    add_count(parser, 20, "entries", least=0)
    parser.add_argument("--follow", action="store_true", help="go on with what comes, until Ctrl-C")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.add_argument("--verify", action="store_true", help="check that nothing was changed")
    parser.add_argument("--anchor", action="store_true", help="print a line to keep elsewhere")
    parser.add_argument("--against", metavar="ANCHOR", help="with --verify: what --anchor printed")


def run(arguments: argparse.Namespace) -> int:
    """Print or check the audit; 1 if it was changed, 5 if it cannot be read."""
    places = find_places()
    if arguments.follow:
        return _follow(places, arguments)
    if arguments.n == 0:
        raise UsageError("-n 0 shows no entry", hint="with --follow it shows those that come")
    audits = audits_of(places, _names(arguments))
    if arguments.against is not None and not (arguments.verify and arguments.name):
        raise UsageError("--against needs --verify and a NAME")
    if arguments.anchor and (arguments.verify or arguments.json):
        raise UsageError("--anchor prints a line to keep; it goes with no other form")
    if arguments.anchor:
        return _print_anchors(audits)
    if arguments.verify:
        kept = None if arguments.against is None else _kept(arguments.against)
        return _verify(audits, kept, as_json=arguments.json)
    written = [each for each in audits if _is_written(places, each)]
    return print_last(written, arguments.n, as_json=arguments.json)


def _follow(places: Places, arguments: argparse.Namespace) -> int:
    if arguments.verify or arguments.anchor:
        raise UsageError("--follow shows entries; --verify and --anchor look at what stands there")
    names = _names(arguments)
    for each in audits_of(places, names):
        _is_written(places, each)
    return follow(
        lambda: audits_of(places, names),
        arguments.n,
        is_named=not names,
        as_json=arguments.json,
    )


def _names(arguments: argparse.Namespace) -> list[str]:
    return [] if arguments.name is None else [arguments.name]


def _is_written(places: Places, audit: Audit) -> bool:
    """Whether an audit has begun; UsageError where not even a policy has its name."""
    if has_audit(audit.path):
        return True
    find_policy(places, audit.name)
    return False


def _print_anchors(audits: list[Audit]) -> int:
    """One line for each audit: name, file, offset, hash of the last line, separated by spaces."""
    troubles = []
    for name, path in audits:
        try:
            anchor = current_anchor(files_of(path)[-1])
        except AuditError as error:
            troubles.append(error)
        else:
            sys.stdout.write(f"{name} {anchor.file} {anchor.offset} {anchor.sha256 or '-'}\n")
    return tell_unreadable(troubles)


def _verify(audits: list[Audit], against: Kept | None, *, as_json: bool) -> int:
    codes = {_verify_one(name, path, against, as_json=as_json) for name, path in audits}
    if not as_json:
        console().print(_NO_WALL, style="dim")
    for code in (ExitCode.NEGATIVE, ExitCode.AUDIT):
        if code in codes:
            return code
    return ExitCode.OK


def _verify_one(name: str, path: str, against: Kept | None, *, as_json: bool) -> ExitCode:
    """Check one audit, so that one that cannot be read does not hide the others."""
    broken = False
    try:
        for file in files_of(path):
            report = verify_file(file)
            broken = broken or report.state is RunState.BROKEN
            if as_json:
                _report_as_json(name, file, report)
            else:
                _print_report(file, report)
        if against is not None:
            broken = not _holds(path, against, as_json=as_json) or broken
    except AuditError as error:
        sys.stderr.write(f"mcp-jail: error: {error.message}\n")
        return ExitCode.NEGATIVE if broken else ExitCode.AUDIT
    return ExitCode.NEGATIVE if broken else ExitCode.OK


def _print_report(file: str, report: Report) -> None:
    out = console()
    entries = counted(report.entries, "entry", "entries")
    runs = counted(len(report.runs), "run", "runs")
    out.print(f"{plain_text(file)}: {entries} of {runs}", soft_wrap=True)
    whole = [each for each in report.runs if each.state is RunState.OK]
    hidden = {each.run for each in whole[:-MAX_WHOLE_RUNS]}
    if hidden:
        out.print(f"  ok      {counted(len(hidden), 'earlier run', 'earlier runs')}")
    for each in report.runs:
        if each.run not in hidden:
            out.print(f"  {each.state.value:<7} {_run_text(each)}", soft_wrap=True)
    for found in report.breaks:
        run = f" (run {plain_text(found.run)})" if found.run else ""
        out.print(f"  line {found.line}: {plain_text(found.message)}{run}", soft_wrap=True)
    if report.broken > len(report.breaks):
        out.print(f"  and {report.broken - len(report.breaks)} more")


def _run_text(run: RunReport) -> str:
    entries = counted(run.entries, "entry", "entries")
    text = f"run {plain_text(run.run)} of {time_text(run.started)}, {entries}"
    if run.first_break is not None:
        return f"{text}: line {run.first_break.line} is not as it was written"
    if run.state is RunState.OPEN:
        half = ", its last line is half" if run.torn else ""
        text += f": no end{half} (running, crashed, or cut off after line {run.last_line})"
    if run.archived:
        text += "; the file before it is not here"
    return text


def _report_as_json(name: str, file: str, report: Report) -> None:
    fields = {"audit": name, "file": file, "state": report.state, **msgspec.to_builtins(report)}
    sys.stdout.write(json_line(fields))


class Kept(NamedTuple):
    """An anchor that was kept elsewhere: its line as it was given, and what it says."""

    line: str
    anchor: Anchor


def _kept(line: str) -> Kept:
    """The anchor of a line; UsageError for any other text."""
    try:
        _, _, offset, digest = line.split()
        return Kept(line, Anchor(int(offset), "" if digest == "-" else digest))
    except ValueError:
        raise UsageError(
            f"this is no anchor: '{plain_text(line)}'",
            hint="expected the whole line that --anchor printed",
        ) from None


def _holds(path: str, kept: Kept, *, as_json: bool) -> bool:
    """Whether any file of the audit still holds a kept anchor (files get numbers as they grow)."""
    holds = kept.anchor.offset == 0 or any(anchor_holds(f, kept.anchor) for f in files_of(path))
    if as_json:
        told = {"against": kept.line, "holds": holds}
        sys.stdout.write(json_line(told))
    else:
        says = "the audit still holds what the anchor says" if holds else "NOT what the anchor says"
        console().print(f"  {'ok' if holds else 'broken':<7} {says}", soft_wrap=True)
    return holds
