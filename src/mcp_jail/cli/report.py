"""`mcp-jail report`: what servers did over some time, added up.

Calls, denials, asks, hosts and drift, by server and by tool, out of the whole audit. All times are
UTC. Entries that are counted by nothing (half lines, kinds that a later mcp-jail writes) are told
by number. Whether an entry was changed since it was written is for `mcp-jail log NAME --verify`.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from datetime import UTC, datetime
from typing import Final

from mcp_jail.cli.chosen import audits_of
from mcp_jail.cli.entries import tell_unreadable
from mcp_jail.cli.report_page import print_page, tell_odd
from mcp_jail.cli.report_rows import Counted, as_csv, as_json
from mcp_jail.core.recorded.totals import Counter
from mcp_jail.errors import AuditError, UsageError
from mcp_jail.store.history import has_audit, lines_of, open_all
from mcp_jail.store.places import Places, find_places
from mcp_jail.store.policies import find_policy

EXAMPLE = """  mcp-jail report --since 7d
  mcp-jail report filesystem --since 2026-11-01 --csv > november.csv"""

_SECONDS: Final = {"m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}
_ALL: Final = "all"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the names, the time and the forms."""
    parser.add_argument("names", metavar="NAME", nargs="*", help="names of policies (default: all)")
    parser.add_argument(
        "--since", default="7d", metavar="TIME", help="30m, 24h, 7d, 2w, a date, or all (7d)"
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="one JSON object")
    form.add_argument("--csv", action="store_true", help="one table for a spreadsheet")


def run(arguments: argparse.Namespace) -> int:
    """Print the sums; 5 if an audit cannot be read, and the others all the same."""
    now = time.time_ns() // 1_000_000
    since = _since(arguments.since, now)
    counted, failed = _counted(find_places(), arguments.names, since, now)
    if arguments.json:
        sys.stdout.write(as_json(counted, since, now))
    elif arguments.csv:
        sys.stdout.write(as_csv(counted))
        tell_odd(counted)
    else:
        print_page(counted, since, now)
    return tell_unreadable(failed)


def _counted(
    places: Places, names: list[str], since: int, now: int
) -> tuple[list[Counted], list[AuditError]]:
    """The sums of each audit, and why they lack something."""
    counted: list[Counted] = []
    failed: list[AuditError] = []
    for name, path in audits_of(places, names):
        if not has_audit(path):
            find_policy(places, name)  # says so where there is no such policy either
            continue
        counter = Counter(since, now)
        failed += _count(counter, path)
        counted.append(Counted(name, counter.totals))
    return counted, failed


def _count(counter: Counter, path: str) -> list[AuditError]:
    """Count all of an audit that can be read; why the rest cannot."""
    try:
        files, failed = open_all(path)
    except AuditError as error:
        return [error]
    for file in files:
        try:
            for line in lines_of(file):
                counter.line(line)
        except AuditError as error:
            failed.append(error)
    return failed


def _since(text: str, now: int) -> int:
    """The beginning of the time that is meant, in UTC milliseconds."""
    if text == _ALL:
        return 0
    if match := re.fullmatch(r"([0-9]{1,6})([mhdw])", text):
        return max(0, now - int(match[1]) * _SECONDS[match[2]] * 1000)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(
            f"--since takes a time, found '{text}'",
            hint="30m, 24h, 7d, 2w, 2026-11-01, 2026-11-01T08:00 (UTC), or all",
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0, int(moment.timestamp() * 1000))
