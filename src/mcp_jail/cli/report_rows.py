"""The sums of audits for programs: one JSON object, or one table of CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import msgspec

from mcp_jail.cli.entry_lines import plain_text
from mcp_jail.cli.for_programs import json_line
from mcp_jail.core.recorded.totals import Totals


class Counted(NamedTuple):
    """The sums of one audit."""

    name: str
    totals: Totals


def as_json(counted: list[Counted], since: int, until: int) -> str:
    """All sums as one object on one line, in ASCII, since names in it are a server's."""
    servers = [{"server": name, **msgspec.to_builtins(totals)} for name, totals in counted]
    return json_line({"v": 1, "since": since, "until": until, "servers": servers})


def as_csv(counted: list[Counted]) -> str:
    """A row for each server, and for each tool, method, host and item of it.

    The numbers of a server's row are its own, without what was fetched to install it.
    """
    text = io.StringIO()
    table = csv.DictWriter(text, _COLUMNS, restval="", lineterminator="\n")
    table.writeheader()
    for each in counted:
        for row in _rows(each.totals):
            cells = {"server": each.name, **row}
            table.writerow({name: _cell(value) for name, value in cells.items()})
    return text.getvalue()


_COLUMNS: Final = (
    *("server", "what", "name", "entries", "runs", "calls", "allowed", "denied", "asks"),
    *("errors", "drift", "opened", "refused", "failed", "sent", "received"),
)

# What a spreadsheet takes for the beginning of a formula; names are a server's and a model's.
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


# What is told apart by name, and the member of the sums that it stands in.
_TABLES: Final = (
    ("tool", "tools"),
    ("method", "methods"),
    ("host", "hosts"),
    ("fetched", "fetched"),
)


def _rows(totals: Totals) -> Iterator[dict[str, Any]]:
    builtins = msgspec.to_builtins(totals)
    yield {
        "what": "server",
        "entries": totals.entries,
        "runs": totals.runs,
        **builtins["calls"],
        **{
            name: sum(getattr(host, name) for host in totals.hosts.values())
            for name in ("opened", "refused", "failed", "sent", "received")
        },
    }
    for what, member in _TABLES:
        for name, row in builtins[member].items():
            yield {"what": what, "name": name, **row}
    for name, item in totals.items.items():
        yield {"what": "item", "name": name, "drift": item.times}


def _cell(value: Any) -> Any:
    """A number as it is; a text on one line that no spreadsheet calculates with."""
    if not isinstance(value, str):
        return value
    text = plain_text(value)
    return f"'{text}" if text.startswith(_FORMULA) else text
