"""The program that asks a person on the desktop: one ask in, at most one answer out.

Started by the keeper with a fixed command (`notice.PROGRAM`), never by the guard itself. It ends
when a person answered, closed the card, or the time is over; on SIGTERM or when its parent ends it
takes the card away.
"""

from __future__ import annotations

import ctypes
import os
import shlex
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from mcp_jail.asks.buttons import is_pressed_by_persons
from mcp_jail.asks.card import Screen, card
from mcp_jail.asks.desktop_look import user_bus
from mcp_jail.asks.notice import (
    ANSWERED,
    BROKEN,
    LINE_LIMIT,
    NOT_ANSWERED,
    UNAVAILABLE,
    Notice,
    Said,
    read_notice,
    said_line,
)

if TYPE_CHECKING:
    from mcp_jail.asks.desktop import Desktop

# Seconds beyond the ask's own after which the kernel ends us, whatever a bus or service does.
GRACE: Final = 30

_ENDING: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_PR_SET_PDEATHSIG: Final = 1


def main() -> int:
    """Ask; the exit code is one of those in `notice`."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)  # until there is a card to take away
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    try:
        notice = read_notice(sys.stdin.buffer.readline(LINE_LIMIT + 1))
    except ValueError as error:
        return _fail(BROKEN, f"this is no ask: {error}")
    signal.alarm(int(notice.seconds) + GRACE)
    try:
        said = _asked(notice)
    except ImportError as error:
        cure = shlex.join([sys.executable, "-m", "pip", "install", "jeepney"])
        return _fail(UNAVAILABLE, f"{error.name} is not installed beside mcp-jail: {cure}")
    if said is None:
        return NOT_ANSWERED
    with suppress(OSError):  # nobody waits for it any more
        os.write(sys.stdout.fileno(), said_line(said))
    return ANSWERED


def _asked(notice: Notice) -> Said | None:
    """What a person answered; None where nobody did, or nobody can be asked on this desktop."""
    from mcp_jail.asks.desktop import Desktop, DesktopError  # noqa: PLC0415

    try:
        desktop = Desktop(notice.bus or user_bus())
    except DesktopError:
        return None
    try:
        return _answered(desktop, notice)
    except DesktopError:
        return None
    finally:
        desktop.close()


def _answered(desktop: Desktop, notice: Notice) -> Said | None:
    screen = Screen(
        has_actions="actions" in desktop.capabilities,
        has_markup="body-markup" in desktop.capabilities,
        is_pressed_by_persons=is_pressed_by_persons(desktop.service),
    )
    if not screen.has_actions:
        _fail(NOT_ANSWERED, "the notification service of this desktop shows no buttons")
    desktop.show(card(notice, screen), notice.seconds)
    _end_on_signals(desktop)
    try:
        return desktop.answer(notice.seconds)
    finally:
        desktop.take_away()


def _end_on_signals(desktop: Desktop) -> None:
    """From here on a signal ends us, once the card is taken away; nothing else is sent now."""

    def end(*_: object) -> None:
        desktop.take_away()
        os._exit(NOT_ANSWERED)

    for each in _ENDING:
        signal.signal(each, end)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)


def _fail(code: int, why: str) -> int:
    sys.stderr.write(f"mcp-jail: {why}\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
