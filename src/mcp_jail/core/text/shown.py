"""Words of a model's or a server's as a person sees them who is asked about them: read in one way.

What is hidden, a blank that is no space, and our own mark written by somebody else are told by
their code, so that two texts that differ are seen to.
"""

from __future__ import annotations

import re
from typing import Final

from mcp_jail.core.text.hidden import spelled_out

# Characters of a name that are shown in a question; the names of tools have a third of it.
NAME_LIMIT: Final = 80


def unmistakable(text: str) -> str:
    """A text from which only one can have come; lines stay lines."""
    return odd_blanks_told(exact(text))


def exact(text: str) -> str:
    """The same, but for blanks: what is hidden in full, our own mark as its code."""
    return "⟦U+27E6⟧".join(map(spelled_out, text.split("⟦")))


def odd_blanks_told(text: str) -> str:
    """A text with the code of each blank that is no space, as another may stand in its place."""
    return _ODD_BLANK.sub(lambda found: f"⟦U+{ord(found[0]):04X}⟧", text)


def name_shown(name: str) -> str:
    """A name in a line of ours: in quotes where it has more than the plain characters of names.

    It may still speak: it belongs on a line of its own, and is no name beyond `NAME_LIMIT`.
    """
    if is_plain(name):
        return name
    told = unmistakable(name).replace("\\", "\\\\").replace('"', '\\"')
    return '"{}"'.format(told.replace("\n", "⟦U+000A⟧"))


def is_plain(name: str) -> bool:
    """Whether a name has the plain characters of names only, and no more than is read at once."""
    return _PLAIN.fullmatch(name) is not None


_ODD_BLANK: Final = re.compile("[^\\S\n ]|\u2800")
_PLAIN: Final = re.compile(r"[A-Za-z0-9_./:@-]{1,64}")
