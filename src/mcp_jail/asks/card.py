"""What a notification says of an ask: text of a model's and a server's, in which nothing acts.

Our own words come first and hold the id of the ask. What is somebody else's stands on lines of its
own, on one line each, with every hidden character spelled out and markup escaped. Who cannot be
shown all arguments is not offered to allow them here: padding would push what matters out of sight.
Nor is anybody where programs can press the buttons, or where an answer was not taken before.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from mcp_jail.asks.notice import Notice
from mcp_jail.core.text.hidden import marked
from mcp_jail.core.text.shown import is_plain, odd_blanks_told

# Characters of the arguments and of a name that are shown: what fits the six lines that the common
# desktops show without a click.
ARGUMENTS_SHOWN: Final = 300
NAME_SHOWN: Final = 80

ALLOW: Final = "allow"
DENY: Final = "deny"


class Screen(NamedTuple):
    """What a notification service can do, and whether only a person presses its buttons."""

    has_actions: bool
    has_markup: bool
    is_pressed_by_persons: bool


class Card(NamedTuple):
    """A notification: its title is plain text, its actions are keys and labels by turns."""

    title: str
    body: str
    actions: tuple[str, ...]


def card(notice: Notice, screen: Screen) -> Card:
    """The notification for an ask, as this screen shows it."""
    tool, arguments = inert(notice.tool), inert(notice.arguments)
    whole = notice.whole and len(tool) <= NAME_SHOWN and len(arguments) <= ARGUMENTS_SHOWN
    can_deny = screen.has_actions and not notice.refused
    can_allow = can_deny and whole and screen.is_pressed_by_persons
    lines = [
        _invitation(notice, screen, whole=whole),
        f"tool: {_cut(tool, NAME_SHOWN)}",
        f"arguments: {_cut(arguments, ARGUMENTS_SHOWN)}",
    ]
    body = "\n".join(lines)
    actions = (*((ALLOW, "Allow") if can_allow else ()), *((DENY, "Deny") if can_deny else ()))
    return Card(_title(notice), _escaped(body) if screen.has_markup else body, actions)


def inert(text: str) -> str:
    """A text on one line, in which nothing acts and nothing is out of sight."""
    text = _BLANKS.sub(lambda found: f" ⟦{len(found[0])} blanks⟧ ", marked(text))
    return odd_blanks_told(text).replace("\n", "⟦U+000A⟧")


# Blanks of any width, Braille's empty cell too; as many as no sentence needs.
_BLANKS: Final = re.compile("[\\s\u2800]{5,}")


def _title(notice: Notice) -> str:
    """Read as plain text by most services and as markup by some; a plain name is neither."""
    server, tool = (
        text if is_plain(text) else other
        for text, other in ((notice.server, "a server"), (notice.tool, "a tool"))
    )
    return f"{server} asks to use {tool} ({notice.ticket})"


def _invitation(notice: Notice, screen: Screen, *, whole: bool) -> str:
    """How to answer: here, or where more is shown, or where only you can."""
    ticket = notice.ticket
    terminal = f"in a terminal: mcp-jail allow {ticket}, or mcp-jail deny {ticket}"
    if notice.refused:
        return f"Not taken, as it came from {inert(notice.refused)}. Answer {terminal}"
    if not screen.has_actions:
        return f"Answer {terminal}"
    if not whole:
        return f"Too long to be allowed here. Read it whole and answer {terminal}"
    if not screen.is_pressed_by_persons:
        return f"Programs can press the buttons of this desktop. Deny here, or answer {terminal}"
    return f"Answer here, or {terminal}"


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    return f"{text[:limit]}… ({len(text) - limit:,} characters more)"


def _escaped(text: str) -> str:
    """A text of which a reader of markup shows every character."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
