"""Two texts side by side: which words stayed, which went, which came.

Works on any sequences of texts, so it compares the lines of a schema too. The effort is bounded: a
server writes one of the texts, and may write it so that a comparison would never end.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from enum import Enum
from typing import Final

import msgspec

# Pairs of equal pieces at most, which is what a comparison costs: a second at worst. A thousand
# English words against as many have 10,000. Beyond it, all between the common beginning and end
# counts as replaced.
PAIRS_LIMIT: Final = 100_000

# Words between two changes that are counted to the change, to be read as one.
NEAR: Final = 2

# A line break, or a word with the blanks before it.
_PIECE: Final = re.compile(r"\n|[^\S\n]*\S+|[^\S\n]+")


class Op(Enum):
    """What became of a stretch of text."""

    KEPT = "|"
    OUT = "-"
    IN = "+"


class Stretch(msgspec.Struct, frozen=True):
    """Neighbouring pieces with the same fate."""

    op: Op
    pieces: tuple[str, ...]


def word_diff(old: str, new: str) -> tuple[Stretch, ...]:
    """Two texts, word by word; blanks belong to the word behind them, a line break to none."""
    return diff(_PIECE.findall(old), _PIECE.findall(new), near=NEAR)


def diff(old: Sequence[str], new: Sequence[str], *, near: int = 0) -> tuple[Stretch, ...]:
    """What was kept, left out and put in, in order; what went stands before what came.

    Up to `near` kept pieces between two changes are shown as changed, to be read as one.
    """
    found: list[Stretch] = []
    out: list[str] = []
    put: list[str] = []
    blocks = list(_blocks(old, new))
    for at, (old_kept, new_kept, before_old, before_new) in enumerate(blocks):
        out += before_old
        put += before_new
        is_inner = bool(out or put) and at + 1 < len(blocks) and len(old_kept) <= near
        if is_inner and old_kept:
            out += old_kept
            put += new_kept
        elif old_kept:
            found += _changed(out, put)
            found.append(Stretch(Op.KEPT, tuple(new_kept)))
            out, put = [], []
    return (*found, *_changed(out, put))


_Block = tuple[Sequence[str], Sequence[str], Sequence[str], Sequence[str]]


def _blocks(old: Sequence[str], new: Sequence[str]) -> Iterator[_Block]:
    """Each kept stretch with what stands before it on either side; the last one may be empty."""
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    old_end, new_end = len(old) - tail, len(new) - tail
    if head:
        yield old[:head], new[:head], (), ()
    old_at, new_at = head, head
    old_middle, new_middle = old[head:old_end], new[head:new_end]
    if _pairs(old_middle, new_middle) <= PAIRS_LIMIT:
        matcher = SequenceMatcher(None, old_middle, new_middle, autojunk=False)
        for begin_old, begin_new, size in matcher.get_matching_blocks()[:-1]:
            start_old, start_new = head + begin_old, head + begin_new
            yield (
                old[start_old : start_old + size],
                new[start_new : start_new + size],
                old[old_at:start_old],
                new[new_at:start_new],
            )
            old_at, new_at = start_old + size, start_new + size
    yield old[old_end:], new[new_end:], old[old_at:old_end], new[new_at:new_end]


def _pairs(old: Sequence[str], new: Sequence[str]) -> int:
    """How often a piece of one is equal to a piece of the other."""
    counts = Counter(new)
    return sum(counts[piece] for piece in old)


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """How many pieces two sequences begin with alike."""
    for at, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return at
    return min(len(one), len(other))


def _changed(out: list[str], put: list[str]) -> list[Stretch]:
    pairs = ((Op.OUT, out), (Op.IN, put))
    return [Stretch(op, tuple(pieces)) for op, pieces in pairs if pieces]
