"""One ask as a person reads it: which server, which call, its exact arguments, and why."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import msgspec
from rich.text import Text

from mcp_jail.asks.calling import call, call_all
from mcp_jail.asks.protocol import AskView, GrantView
from mcp_jail.cli.entry_lines import plain_text
from mcp_jail.cli.inert_text import CUT, MARGIN, Line, json_lines, text_lines, written
from mcp_jail.cli.out import bullet, console, folded, heading
from mcp_jail.core.conversation.asks import Lasts
from mcp_jail.core.text.shown import name_shown, unmistakable
from mcp_jail.errors import UsageError
from mcp_jail.store.places import Places
from mcp_jail.store.runs import Run


def open_asks(places: Places) -> tuple[list[tuple[Run, AskView]], list[str]]:
    """What waits for a person in any run, the oldest first; and what runs do not answer."""
    said, silent = call_all(places, "asks")
    found = [
        (each.run, view)
        for each in said
        for view in msgspec.convert(each.ok.get("asks", []), list[AskView])
    ]
    return sorted(found, key=lambda pair: -pair[1].age), silent


def ask_of(places: Places, ticket: str | None) -> tuple[Run, AskView]:
    """The ask of a ticket, or the only one there is, whole; UsageError."""
    found, silent = open_asks(places)
    named = [pair for pair in found if ticket is None or pair[1].ticket == ticket.upper()]
    if len(named) == 1:
        run, view = named[0]
        whole = call(run, "ask", ticket=view.ticket)
        return run, msgspec.convert(whole["ask"], AskView)
    hint = f"; {'; '.join(silent)}" if silent else ""
    if named:
        tickets = ", ".join(view.ticket for _, view in named)
        raise UsageError(f"more than one ask waits: {tickets}", hint="say which")
    if ticket is None:
        raise UsageError(f"nothing waits for an answer{hint}")
    raise UsageError(
        f"no ask '{plain_text(ticket)}' waits for an answer{hint}",
        hint="mcp-jail asks lists what waits; it may be answered already, or its server has ended",
    )


def print_ask(view: AskView, *, full: bool = False) -> bool:
    """The page of an ask; a server's and a model's words stand behind gutters.

    Whether something of it is left out, which it says.
    """
    out = console()
    width = max(out.width - MARGIN, 40)
    what, how = view.name or view.method, "" if view.method == "tools/call" else f" ({view.method})"
    name = name_shown(what)
    heading(f"{view.ticket}  {plain_text(view.server)}: {name if name == what else 'named'}")
    named = [] if name == what else text_lines(name, width, cut=not full)
    arguments = json_lines(unmistakable(_pretty(view)), width, cut=not full)
    _print_behind_gutters(named)
    out.print(Text(f"  with exactly these arguments{plain_text(how)}:"))
    _print_behind_gutters(arguments)
    if not _is_whole(view):
        bullet(f"cut: {len(view.arguments):,} of {view.size:,} characters are shown")
    where = f" ({plain_text(view.where)})" if view.where else ""
    folded(f"{plain_text(view.reason)}: {plain_text(view.rule)}{where}")
    waits = f", {view.held} waiting" if view.held else ", to be called again"
    bullet(f"asked {age(view.age)} ago{waits}")
    return not _is_whole(view) or any(line.gutter == CUT for line in (*named, *arguments))


def tell_silent(silent: Sequence[str]) -> None:
    """Say on the error stream which runs do not answer."""
    for each in silent:
        sys.stderr.write(f"mcp-jail: {each}\n")


def print_grants(views: Sequence[GrantView]) -> None:
    """Answers that count still."""
    for view in views:
        left = "until the run ends" if view.left is None else f"for {age(view.left)} more"
        heading(f"{view.ticket}  {plain_text(view.server)}: {name_shown(view.name or view.method)}")
        what = "one more call" if view.lasts == Lasts.ONCE.value else "this very call"
        bullet(f"{view.verdict} {what}, {left} (by {plain_text(view.by)})")
        bullet(f"with {plain_text(view.arguments)}")


def age(seconds: float) -> str:
    """A time as people say it, to the largest unit of which there are two."""
    for unit, size in _UNITS:
        if seconds >= 2 * size:
            return f"{int(seconds // size)} {unit}"
    return f"{int(seconds)} s"


_UNITS = (("d", 86_400), ("h", 3_600), ("min", 60))


def _print_behind_gutters(lines: Sequence[Line]) -> None:
    out = console()
    for line in lines:
        out.print(Text(written(line)), soft_wrap=True)


def _is_whole(view: AskView) -> bool:
    return len(view.arguments) == view.size


def _pretty(view: AskView) -> str:
    """The arguments over several lines; as they are where they were cut."""
    if not _is_whole(view):
        return view.arguments
    return msgspec.json.format(view.arguments.encode(), indent=2).decode()
