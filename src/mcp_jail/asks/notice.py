"""One ask on its way to the desktop: what the program that shows it is told, and what it says.

The program is a child of the keeper with a fixed command; it reads one line of JSON and writes one
line when a person answered. It ends without a line where nobody did, or nobody can be asked here.
Ended by SIGTERM, as another channel was first, it takes its notification away.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec

# The words behind the interpreter: isolated, so that no directory or variable adds code.
PROGRAM: Final = ("-I", "-m", "mcp_jail.asks.notify")

# Bytes of either line. What does not fit a notification is not shown anyway.
LINE_LIMIT: Final = 64 * 1024

# Characters of a text that are handed over; far more than a notification shows.
TEXT_LIMIT: Final = 4_000

# Exit codes of the program. The reason of BROKEN and UNAVAILABLE is one line on its stderr.
ANSWERED: Final = 0
NOT_ANSWERED: Final = 1  # dismissed, expired, taken away, or no bus or notification service here
BROKEN: Final = 2  # the line it read is none
UNAVAILABLE: Final = 4  # what it needs is not installed


class Notice(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a person is asked; `arguments` are text, secrets taken out."""

    ticket: Annotated[str, msgspec.Meta(pattern="^[A-Z2-7]{6}$")]
    server: str
    tool: str
    arguments: str
    seconds: Annotated[float, msgspec.Meta(gt=0, le=86_400)]  # that an answer is waited for
    whole: bool = True  # whether `arguments` are all of them
    refused: str = ""  # from what an answer to an earlier notification of it was not taken
    bus: str = ""  # the bus's socket; by default the user's own


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """What a person answered, and the process of the notification service that says so."""

    answer: Literal["allow", "deny"]
    pid: int = 0


def notice_line(notice: Notice) -> bytes:
    """The line for the program's stdin, newline included; long texts are cut, and it says so."""
    cut = msgspec.structs.replace(
        notice,
        server=notice.server[:TEXT_LIMIT],
        tool=notice.tool[:TEXT_LIMIT],
        arguments=notice.arguments[:TEXT_LIMIT],
        whole=notice.whole and max(len(notice.tool), len(notice.arguments)) <= TEXT_LIMIT,
    )
    return msgspec.json.encode(cut) + b"\n"


def read_notice(line: bytes) -> Notice:
    """The ask a line holds; ValueError for anything else."""
    return _NOTICES.decode(line)


def said_line(said: Said) -> bytes:
    """The line that the program writes, newline included."""
    return msgspec.json.encode(said) + b"\n"


def read_said(output: bytes) -> Said | None:
    """The answer in all that the program wrote; None where it is not exactly one."""
    if len(output) > LINE_LIMIT or not output.endswith(b"\n"):
        return None
    try:
        return _SAID.decode(output)
    except ValueError:
        return None


_NOTICES: Final = msgspec.json.Decoder(Notice)
_SAID: Final = msgspec.json.Decoder(Said)
