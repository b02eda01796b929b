"""The A-label of an international name (`xn--...`), where there can be no doubt which one it is.

IDNA 2003 (RFC 3490) and IDNA 2008 (RFC 5891) make different names of some texts: of `straße.de`
one makes `strasse.de`, the other a name that somebody else may own. So one is given only for a text
that neither of them changes or refuses, which most names that people write are. Loaded only to say
what a policy should have.
"""

from __future__ import annotations

import unicodedata
from encodings import idna
from typing import Final

# Letters and marks that both have; of digits, those of ASCII. Nothing that is written from right to
# left, as the rules for it differ.
_CATEGORIES: Final = frozenset({"Ll", "Lo", "Lm", "Mn", "Mc"})
_DIRECTIONS: Final = frozenset({"L", "EN", "NSM", "ES"})
_ASCII: Final = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")
# Letters of 2003 that 2008 does not have, or has in some places only (RFC 5892, 2.6, 2.9; A).
_CLOSED: Final = frozenset(
    chr(number)
    for first, last in (
        *((0x0640, 0x0640), (0x07FA, 0x07FA), (0x302E, 0x302F), (0x3031, 0x3035)),
        *((0x303B, 0x303B), (0x0375, 0x0375), (0x1100, 0x11FF), (0xA960, 0xA97F)),
        *((0xD7B0, 0xD7FF), (0x17B4, 0x17B5), (0x20D0, 0x20FF), (0x1D100, 0x1D1FF)),
    )
    for number in range(first, last + 1)
)


def a_labels(name: str) -> str | None:
    """The name in ASCII; None where the two standards differ on it, or might."""
    labels = [_a_label(label) for label in name.removesuffix(".").lower().split(".")]
    return None if None in labels else ".".join(label for label in labels if label)


def _a_label(label: str) -> str | None:
    if set(label) <= _ASCII:
        return label or None
    if not _is_the_same_in_both(label):
        return None
    try:
        made = idna.ToASCII(label).decode("ascii")
    except UnicodeError:
        return None
    return made if idna.ToUnicode(made) == label else None


def _is_the_same_in_both(label: str) -> bool:
    """Whether all of it is what either standard keeps as it is."""
    if label[2:4] == "--" or label.startswith("-") or label.endswith("-"):
        return False
    if unicodedata.category(label[0]).startswith("M"):
        return False
    if unicodedata.normalize("NFKC", label.casefold()) != label:
        return False
    return all(char in _ASCII or _is_known_to_both(char) for char in label)


def _is_known_to_both(char: str) -> bool:
    # IDNA 2003 knows Unicode 3.2 and no later.
    return (
        unicodedata.ucd_3_2_0.category(char) in _CATEGORIES
        and unicodedata.category(char) in _CATEGORIES
        and unicodedata.bidirectional(char) in _DIRECTIONS
        and char not in _CLOSED
    )
