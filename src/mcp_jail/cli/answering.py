"""How `allow` and `deny` carry an answer to the guard that asks."""

from __future__ import annotations

import argparse
import re
from typing import Any, Final

from mcp_jail.asks.calling import call
from mcp_jail.asks.protocol import SECONDS_LIMIT, AskView, shown_digest
from mcp_jail.core.conversation.asks import Lasts
from mcp_jail.core.rules.rates import seconds_of
from mcp_jail.store.runs import Run

_DURATION: Final = re.compile(r"[1-9][0-9]*(s|m|h)")


def add_for(parser: argparse.ArgumentParser, *, words: str) -> None:
    """Add how long the answer counts."""
    parser.add_argument(
        "--for",
        dest="lasts",
        metavar=words,
        type=_lasting,
        default=None,
        help="how long the answer counts for this very call (default: once)",
    )


def send(run: Run, view: AskView, verdict: str, lasts: str) -> dict[str, Any]:
    """Answer an ask as it was shown; JailError where the guard does not take it."""
    seconds = seconds_of(lasts) if _DURATION.fullmatch(lasts) else 0.0
    return call(
        run,
        "answer",
        ticket=view.ticket,
        shown=shown_digest(view),
        verdict=verdict,
        lasts=Lasts.TIME.value if seconds else lasts,
        seconds=seconds,
    )


def told(lasts: str) -> str:
    """How long an answer counts, in words."""
    return {
        Lasts.ONCE.value: "once",
        Lasts.SESSION.value: "until this run of the server ends",
        Lasts.ALWAYS.value: "always",
    }.get(lasts, f"for {lasts}")


def _lasting(text: str) -> str:
    if text in {Lasts.ONCE.value, Lasts.SESSION.value, Lasts.ALWAYS.value}:
        return text
    if _DURATION.fullmatch(text) is None or seconds_of(text) > SECONDS_LIMIT:
        raise argparse.ArgumentTypeError(
            f"expected once, session, always or a time such as 15m (24h at most), found '{text}'"
        )
    return text
