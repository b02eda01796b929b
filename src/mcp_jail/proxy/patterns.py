"""The policy's regular expressions, with a bound on their time.

A pattern is the user's and the text is the model's: `(a+)+` and fifty `a` would hold the guard for
years (ReDoS). The engine looks for signals while it matches, so a timer of ours stops it.
"""

from __future__ import annotations

import re
import signal
from types import FrameType

# Seconds for one match. An honest pattern takes microseconds; a call may wait this long unnoticed.
TIME_LIMIT = 0.05


def fullmatch(pattern: str, text: str) -> bool | None:
    """Whether a pattern fits the whole text, None where it took more than 50 ms.

    Works in the main thread only: Python runs signal handlers nowhere else, and `signal.signal`
    raises ValueError there. SIGALRM and the real-time timer are ours for that time; the handler
    that was there comes back.
    """
    compiled = re.compile(pattern)
    before = signal.signal(signal.SIGALRM, _stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, TIME_LIMIT)
        try:
            return compiled.fullmatch(text) is not None
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except _TooLongError:
        return None
    finally:
        signal.signal(signal.SIGALRM, before)


class _TooLongError(Exception):
    """Ends a match from within."""


def _stop(_signal: int, _frame: FrameType | None) -> None:
    raise _TooLongError
