"""The sums of audits for people: tables of 80 columns, and in words what is odd about them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, TypeVar

from rich.table import Table
from rich.text import Text

from mcp_jail.cli.entry_lines import plain_text, time_text
from mcp_jail.cli.inert_text import named
from mcp_jail.cli.out import bullet, console, counted, folded, heading
from mcp_jail.cli.report_rows import Counted
from mcp_jail.core.recorded.totals import OTHERS, Answers, Calls, Host, Odd, Totals

# Rows of one server in one table; `--json` and `--csv` have all.
MOST_ROWS: Final = 15
# Characters of a name in a table; `--json` has it whole.
_NAME_SHOWN: Final = 60
# Unknown kinds or versions that are told by name.
_NAMES_TOLD: Final = 3

_Row = TypeVar("_Row")


def print_page(servers: Sequence[Counted], since: int, until: int) -> None:
    """Print what there is to tell of each server."""
    begin = f"since {time_text(since)}" if since else "since the beginning"
    console().print(Text(f"{begin}, until {time_text(until)}"), soft_wrap=True)
    if not any(totals.entries for _, totals in servers):
        bullet("no entries in that time")
    else:
        _print_table("", _calls_table(servers))
        _print_table("network", _hosts_table(servers))
        _print_items(servers)
        _print_answers(servers)
    _print_odd(servers)


def _print_table(title: str, table: Table) -> None:
    if not table.row_count:
        return
    if title:
        heading(title)
    else:
        console().print()
    console().print(table)


def _calls_table(servers: Sequence[Counted]) -> Table:
    table = _table("server and tool", "calls", "denied", "asks", "errors", "hosts", "drift")
    for name, totals in servers:
        if not totals.entries:
            continue
        runs = f" ({counted(totals.runs, 'run', 'runs')})"
        hosts = _number(len(totals.hosts))
        first = Text(named(name), style="bold").append(runs, style="not bold")
        table.add_row(first, *_cells(totals.calls, hosts))
        rows = [*totals.tools.items(), *totals.methods.items()]
        for tool, row in _most(rows, lambda row: row.calls + row.asks + row.drift):
            table.add_row(Text(f"  {_name(tool)}"), *_cells(row, ""))
        _add_more(table, len(rows))
    return table


def _cells(row: Calls, hosts: str) -> Iterator[Text]:
    styles = ("", "red", "yellow", "", "", "yellow")
    numbers = [_number(each) for each in (row.calls, row.denied, row.asks, row.errors)]
    for text, style in zip([*numbers, hosts, _number(row.drift)], styles, strict=True):
        yield Text(text, style=style)


def _hosts_table(servers: Sequence[Counted]) -> Table:
    table = _table("host", "opened", "refused", "failed", "sent", "received")
    for name, totals in servers:
        for hosts, by in ((totals.hosts, ""), (totals.fetched, " (mcp-jail install)")):
            if hosts:
                table.add_row(Text(named(name), style="bold").append(by, style="not bold"))
                _add_hosts(table, hosts)
    return table


def _add_hosts(table: Table, hosts: dict[str, Host]) -> None:
    for host, row in _most(hosts.items(), _attempts):
        numbers = (row.opened, row.refused, row.failed)
        opened, refused, failed = (_number(each) for each in numbers)
        sizes = (_size(row.sent), _size(row.received))
        cells = (opened, Text(refused, style="red"), failed, *sizes)
        table.add_row(Text(f"  {_name(host)}"), *cells)
    _add_more(table, len(hosts))


def _attempts(host: Host) -> int:
    return host.opened + host.refused + host.failed


def _print_items(servers: Sequence[Counted]) -> None:
    changed = [(name, totals) for name, totals in servers if totals.items]
    if changed:
        heading("not what you approved")
    for name, totals in changed:
        for item, row in _most(totals.items.items(), lambda row: row.times):
            times = counted(row.times, "time", "times")
            folded(f"{named(name)}: {_name(item)} {_name(row.change)}, {times}")
        if len(totals.items) > MOST_ROWS:
            bullet(f"{named(name)}: {len(totals.items) - MOST_ROWS} more")


def _print_answers(servers: Sequence[Counted]) -> None:
    answered = [each for each in servers if each.totals.answers or each.totals.expired]
    if answered:
        heading("answers to asks")
    for name, totals in answered:
        rows = _most(totals.answers.items(), lambda row: row.allowed + row.denied + row.refused)
        told = [_answers(channel, row) for channel, row in rows]
        told += [f"{_number(totals.expired)} by nobody"] if totals.expired else []
        folded(f"{named(name)}: {', '.join(told)}")


def _answers(channel: str, row: Answers) -> str:
    by = f"by {_name(channel) if channel else 'a channel without a name'}"
    numbers = ((row.allowed, "allowed"), (row.denied, "denied"))
    told = [f"{_number(number)} {what} {by}" for number, what in numbers if number]
    refused = f"{_number(row.refused)} {by} refused, as they came from nobody who may answer"
    return ", ".join([*told, *([refused] if row.refused else [])])


def tell_odd(servers: Sequence[Counted]) -> None:
    """Say on the error stream what is odd, where a table for a program has no room for it."""
    for name, totals in servers:
        for line in _oddities(totals):
            sys.stderr.write(f"mcp-jail: warning: {plain_text(name)}: {line}\n")


def _print_odd(servers: Sequence[Counted]) -> None:
    """What could not be counted, and what a person should know of it."""
    told = [(name, line) for name, totals in servers for line in _oddities(totals)]
    if told:
        heading("beside this")
    for name, line in told:
        folded(f"{named(name)}: {line}")
    if any(totals.odd.gaps or totals.odd.not_entries for _, totals in servers):
        folded("whether entries were changed or taken out, mcp-jail log NAME --verify tells")


def _oddities(totals: Totals) -> Iterator[str]:
    if totals.questions:
        questions = counted(totals.questions, "question", "questions")
        yield f"the server had {questions} for the client"
    if totals.violations:
        yield f"{counted(totals.violations, 'violation', 'violations')} of the protocol"
    yield from _uncounted(totals.odd)


def _uncounted(odd: Odd) -> Iterator[str]:
    if odd.not_entries:
        yield f"{counted(odd.not_entries, 'line is no entry', 'lines are no entries')}"
    for what, numbers in (("kind", odd.kinds), ("version", odd.versions)):
        if numbers:
            entries = counted(sum(numbers.values()), "entry has", "entries have")
            yield f"{entries} a {what} unknown here: {_some(numbers)}; counted nowhere else"
    if odd.gaps:
        places = counted(odd.gaps, "place", "places")
        yield f"entries are missing, doubled or moved in {places}"
    if odd.went_back:
        yield f"the clock went back {counted(odd.went_back, 'time', 'times')}"
    if odd.ahead:
        yield f"{counted(odd.ahead, 'entry is', 'entries are')} later than now, and counted"
    if odd.gate:
        lost = counted(odd.gate, "attempt", "attempts")
        yield f"the gate lost count of {lost} or failed: mcp-jail log shows when"


def _some(names: Iterable[str]) -> str:
    first = [_name(name) for name in names]
    more = f" and {len(first) - _NAMES_TOLD} more" if len(first) > _NAMES_TOLD else ""
    return ", ".join(first[:_NAMES_TOLD]) + more


def _table(first: str, *numbers: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(first, overflow="fold")
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _most(
    rows: Iterable[tuple[str, _Row]], weight: Callable[[_Row], int]
) -> list[tuple[str, _Row]]:
    """The heaviest rows, the heaviest first; of two as heavy the one whose name comes first."""
    return sorted(rows, key=lambda each: (-weight(each[1]), each[0]))[:MOST_ROWS]


def _add_more(table: Table, rows: int) -> None:
    if rows > MOST_ROWS:
        table.add_row(Text(f"  and {rows - MOST_ROWS:,} more (--json has all)", style="dim"))


def _name(name: str) -> str:
    return "all others" if name == OTHERS else named(name, _NAME_SHOWN)


def _number(number: int) -> str:
    """A number to read; nothing where there is nothing, so that what happened stands out."""
    return f"{number:,}" if number else ""


_KILO: Final = 1000


def _size(size: int) -> str:
    """Bytes in the unit that leaves at most three digits before the point."""
    if size < _KILO:
        return f"{size} B" if size else ""
    amount = float(size)
    for unit in ("kB", "MB", "GB"):
        amount /= _KILO
        if amount < _KILO:
            return f"{amount:.1f} {unit}"
    return f"{amount / _KILO:.1f} TB"
