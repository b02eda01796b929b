"""What our own question in a client says, and how a server's is known that imitates it.

Ours has a phrase of this installation, which no server knows; people read what stands around it.
So nothing of a server may have our name, our opening words, the shape of the phrase before a colon,
or our choices, however the letters are written.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from mcp_jail.core.conversation.secret_asks import readings

# The choices of our question.
ONCE: Final = "allow once"
WHILE: Final = "allow for a while"
NO: Final = "deny"

# Between two letters of a name, whatever is no Latin letter or digit looks like a dash or a dot: a
# long vowel mark of Japanese is a letter to Unicode.
_GAP: Final = "[^a-z0-9]{0,3}"
_NAME: Final = ("(?:m|rn|nn)", "c", "p", "j", "a", "[il1|!]", "[il1|!]")
_LIKE_OURS: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        _GAP.join(_NAME),
        r"(?:^|\n)\W*(?:the\W+)?jail\b",  # begins with it
        r"\bjail\W{0,3}[(\[{]",
        r"[(\[{]\s*[a-z0-9]{4}[^a-z0-9]{1,3}[a-z0-9]{4}\s*[)\]}]\s*:",  # the phrase
        r"\bmay\b.{1,200}\brun\s+this\b",
        r"\bexactly\s+these\s+arguments\b",
    )
)
_LETTERS: Final = re.compile("[^a-z]+")


def is_like_ours(text: str) -> bool:
    """Whether a text of a server may be taken for ours."""
    return any(like.search(reading) for reading in readings(text) for like in _LIKE_OURS)


def are_choices_like_ours(choices: Iterable[str]) -> bool:
    """Whether what may be chosen are the answers to our own question."""
    said = {_bare(reading) for choice in choices for reading in readings(choice)}
    return _bare(WHILE) in said or {_bare(ONCE), _bare(NO)} <= said


def _bare(text: str) -> str:
    return _LETTERS.sub("", text.lower())
