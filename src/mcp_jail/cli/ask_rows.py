"""How a person is asked about calls, as `show` tells it."""

from __future__ import annotations

from mcp_jail.core.policy import Channel
from mcp_jail.errors import JailError
from mcp_jail.proxy.on_desktop import has_desktop
from mcp_jail.proxy.prepare import Judged
from mcp_jail.store.files import read_private
from mcp_jail.store.places import Places
from mcp_jail.store.state_key import phrase_of

_WORDS = {
    Channel.CLIENT: "the client, where it shows questions",
    Channel.DESKTOP: "the desktop",
}


def ask_rows(judged: Judged) -> list[tuple[str, str]]:
    """Where asks are shown, how long a call waits, and the mark of ours in a client."""
    policy = judged.policy.ask
    ways = [_WORDS[each] for each in policy.channels if each in _WORDS]
    if not has_desktop() and Channel.DESKTOP in policy.channels:
        ways = [each for each in ways if each != _WORDS[Channel.DESKTOP]]
    ways.append("mcp-jail asks")
    rows = [("asks", f"held {policy.wait}, then a ticket; shown by {', '.join(ways)}")]
    mark = _mark(judged.on_disk) if Channel.CLIENT in policy.channels else ""
    if mark:
        rows.append(("", f"ours say {mark} in a client; no server knows that"))
    return rows


def _mark(places: Places) -> str:
    """The phrase of this installation, empty before its first run."""
    try:
        return phrase_of(read_private(places.state_key))
    except (OSError, JailError):
        return ""
