"""How a person is asked about calls, as `show` and `doctor` tell it."""

from __future__ import annotations

from typing import assert_never

from mcp_jail.asks.desktop_look import Looked, Way, look_at_desktop
from mcp_jail.core.policy import Channel
from mcp_jail.errors import JailError
from mcp_jail.proxy.prepare import Judged
from mcp_jail.store.files import read_private
from mcp_jail.store.places import Places
from mcp_jail.store.state_key import phrase_of


def ask_rows(judged: Judged) -> list[tuple[str, str]]:
    """Where asks are shown, how long a call waits, and the mark of ours in a client."""
    policy = judged.policy.ask
    looked = look_at_desktop() if Channel.DESKTOP in policy.channels else Looked(Way.NO_BUS)
    ways = [
        *(["the client, where it shows questions"] if Channel.CLIENT in policy.channels else []),
        *([f"the desktop{_but(looked)}"] if looked.way is not Way.NO_BUS else []),
        "mcp-jail asks",
    ]
    rows = [("asks", f"held {policy.wait}, then a ticket; shown by {', '.join(ways)}")]
    mark = _mark(judged.on_disk) if Channel.CLIENT in policy.channels else ""
    if mark:
        rows.append(("", f"ours say {mark} in a client; no server knows that"))
    return rows


def desktop_words(looked: Looked) -> str:
    """What `doctor` says of asks on this desktop."""
    if looked.way is Way.NO_BUS:
        return "no notifications here: your session has no bus at /run/user/UID/bus"
    return f"asks are shown as notifications{_but(looked)}"


def _but(looked: Looked) -> str:
    """What a notification cannot be on this desktop, in brackets."""
    match looked.way:
        case Way.NO_BUS | Way.ANSWER:
            return ""
        case Way.NO_PACKAGE:
            return " (not now: jeepney, which mcp-jail needs for it, is not installed beside it)"
        case Way.NO_SERVICE:
            return " (once a notification service runs, or the bus starts one)"
        case Way.NO_BUTTONS:
            return f" (without buttons: {looked.service} shows none)"
        case Way.DENY:
            return f" (Deny only, as other programs may press the buttons of {looked.service})"
        case _:
            assert_never(looked.way)


def _mark(places: Places) -> str:
    """The phrase of this installation, empty before its first run."""
    try:
        return phrase_of(read_private(places.state_key))
    except (OSError, JailError):
        return ""
