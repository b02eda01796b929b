"""`mcp-jail allow [TICKET]`: let a call pass that waits for you.

Shows the call with its exact arguments and asks. What you allow is that call and no other: the
same tool with other arguments asks again. `--for 15m` or `--for session` lets the same call pass
again; `--for always` writes a rule for it into the policy.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import suppress

from mcp_jail.asks.calling import call
from mcp_jail.asks.protocol import AskView
from mcp_jail.cli.always import Always, is_taken_up, prepared, write
from mcp_jail.cli.answering import add_for, send, told
from mcp_jail.cli.ask_page import ask_of, print_ask
from mcp_jail.cli.entry_lines import plain_text
from mcp_jail.cli.out import bullet
from mcp_jail.core.conversation.asks import Lasts
from mcp_jail.errors import ExitCode, JailError, UsageError
from mcp_jail.store.places import find_places
from mcp_jail.store.runs import Run

EXAMPLE = """\
  mcp-jail allow
  mcp-jail allow K7Q2PD --for 15m"""

# What is said to the question in place of a time.
_DENY = "deny"

# What may be typed at the question, and how long it lets the call pass.
_CHOICES = {
    "y": "once",
    "yes": "once",
    "15": "15m",
    "15m": "15m",
    "s": "session",
    "session": "session",
    "a": "always",
    "always": "always",
    "d": _DENY,
    "deny": _DENY,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the ticket and how to answer."""
    parser.add_argument("ticket", metavar="TICKET", nargs="?", help="which ask (default: the only)")
    add_for(parser, words="once|15m|session|always")
    parser.add_argument("--full", action="store_true", help="cut no text, however long")
    parser.add_argument("--yes", action="store_true", help="do not ask")


def run(arguments: argparse.Namespace) -> int:
    """Show, ask, answer; 1 if the person says no."""
    places = find_places()
    run_, view = ask_of(places, arguments.ticket)
    is_cut = print_ask(view, full=arguments.full)
    if len(view.arguments) != view.size:
        raise UsageError(
            f"its arguments have {view.size:,} characters, too many to be shown whole",
            hint="deny it, or write a rule that allows it by other means than its exact arguments",
        )
    if is_cut and arguments.yes:
        raise UsageError("not all of it is shown", hint="read it whole: add --full")
    lasts = arguments.lasts or "once"
    if not arguments.yes:
        if is_cut:
            bullet("not all of it is shown; --full shows the rest")
        lasts = _asked(arguments.lasts)
        if lasts == _DENY:
            send(run_, view, "deny", Lasts.ONCE.value)
            bullet("denied once")
            return ExitCode.NEGATIVE
        if not lasts:
            bullet("not answered; mcp-jail deny says no")
            return ExitCode.NEGATIVE
    return _allow(run_, view, lasts)


def _allow(run_: Run, view: AskView, lasts: str) -> int:
    """Send the yes, write the rule of one for always, and tell what came of it."""
    always = prepared(run_, view) if lasts == Lasts.ALWAYS.value else None
    said = send(run_, view, "allow", lasts)
    refused, again = int(said.get("refused", 0)), int(said.get("again", 0))
    made = max(0, int(said["ask"]["held"]) - refused - again)
    why = f"mcp-jail why {plain_text(view.server)} says why"
    if refused and not made:
        bullet(f"allowed {told(lasts)}, but refused all the same: {why}")
        return ExitCode.NEGATIVE
    if always is not None:
        _write(run_, view, always)
    else:
        bullet(f"allowed {told(lasts)}")
    if refused or again:
        bullet(f"of the calls that waited for it, {made} went on")
    if refused:
        bullet(f"{refused} of them refused all the same: {why}")
    if again:
        bullet(f"{again} of them waits for another answer: mcp-jail asks")
    return ExitCode.OK


def _write(run_: Run, view: AskView, always: Always) -> None:
    """Write the rule, and wait until the run goes by it: from then on it alone decides."""
    try:
        write(always)
    except JailError as error:
        with suppress(JailError):  # the run may have ended meanwhile
            call(run_, "revoke", ticket=view.ticket)
        raise UsageError(
            f"allowed, but only what waited: the rule was not written: {error.message}",
            hint=error.hint,
        ) from error
    bullet(f"allowed always; written into {always.path}:")
    for line in always.yaml.splitlines():
        bullet(f"  {line}")
    if not is_taken_up(run_, view.ticket):
        bullet("the server that runs has not taken the rule up: mcp-jail ps says why")


def _asked(lasts: str | None) -> str:
    """How long the call is allowed by what a person types, `_DENY`, or empty for no answer."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("allow asks a person, and this is no terminal", hint="add --yes")
    if lasts is None:
        question = "Allow? [y]es once, [15]m, this [s]ession, [a]lways, [d]eny, [N]ot now: "
    else:
        question = f"Allow {told(lasts)}? [y]es, [d]eny, [N]ot now: "
    sys.stdout.write(question)
    sys.stdout.flush()
    said = _CHOICES.get(sys.stdin.readline().strip().lower(), "")
    if lasts is None or said in {"", _DENY}:
        return said
    return lasts if said == Lasts.ONCE.value else ""
