"""A server's text as lines that cannot pass for ours: marked, squeezed, cut, folded.

Every line of it stands behind a gutter that only we write, so nothing in it can look like a line of
the page. A carriage return or a run of blanks could push text out of sight, so both are told.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec
from rich.cells import cell_len

from mcp_jail.cli.out import PLAIN_WIDTH
from mcp_jail.core.approved.word_diff import Op, Stretch, word_diff
from mcp_jail.core.text.hidden import has_hidden, marked, spelled_out, stripped
from mcp_jail.core.text.shown import exact, odd_blanks_told

# Characters of one text that are shown; a longer one loses its middle. Its tail stays, because
# that is where an injection hides behind a screen full of harmless words.
TEXT_LIMIT: Final = 4_000
HEAD: Final = 2_000
TAIL: Final = 1_500

# Lines of one schema that are shown; a longer one loses its middle.
LINES_LIMIT: Final = 200
HEAD_LINES: Final = 120
TAIL_LINES: Final = 60

# Characters of unchanged text beside a change.
CONTEXT: Final = 200

# Characters of a name that are shown.
NAME_LIMIT: Final = 100


# Gutters of lines that are ours: text is left out for its length, or as it was approved before;
# or two texts look alike.
CUT: Final = "!"
KEPT: Final = "~"
ALIKE: Final = "?"


# Columns before a text: the indent, the gutter and a blank.
INDENT: Final = "    "
MARGIN: Final = len(INDENT) + 2


class Line(msgspec.Struct, frozen=True):
    """One line of somebody else's text behind its gutter, or one of ours about it."""

    gutter: str
    text: str


def text_lines(text: str, width: int, *, gutter: str = "|", cut: bool = True) -> list[Line]:
    """A text folded to `width` columns; whole, its hidden characters each, without `cut`."""
    if not cut:
        return _folded(inert(text, is_whole=True), width, gutter)
    counted = [Line(CUT, "hidden characters are counted here")] if _is_counted(text) else []
    text = inert(text)
    if len(text) <= TEXT_LIMIT:
        return [*_folded(text, width, gutter), *counted]
    left_out = f"{len(text) - HEAD - TAIL:,} of {len(text):,} characters are left out here"
    return [
        *_folded(text[:HEAD], width, gutter),
        Line(CUT, left_out),
        *_folded(text[-TAIL:], width, gutter),
        *counted,
    ]


def behind_gutter(texts: Iterable[str]) -> list[str]:
    """Texts as indented lines, each behind its gutter, for a stream whose width nobody knows."""
    folded = (line for text in texts for line in text_lines(text, PLAIN_WIDTH - MARGIN, cut=False))
    return [written(line) for line in folded]


def written(line: Line) -> str:
    """A line as it is written: indented, behind its gutter, and inert, whatever it was made of."""
    return f"{INDENT}{line.gutter} {on_one_line(line.text)}".rstrip()


def json_lines(text: str, width: int, *, gutter: str = "|", cut: bool = True) -> list[Line]:
    """Lines of JSON, each folded on its own."""
    lines = text.split("\n")
    if not cut or len(lines) <= LINES_LIMIT:
        return _each(lines, width, gutter, cut=cut)
    left_out = f"{len(lines) - HEAD_LINES - TAIL_LINES:,} of {len(lines):,} lines are left out here"
    return [
        *_each(lines[:HEAD_LINES], width, gutter, cut=cut),
        Line(CUT, left_out),
        *_each(lines[-TAIL_LINES:], width, gutter, cut=cut),
    ]


def changed_words(old: str, new: str, width: int, *, cut: bool = True) -> list[Line]:
    """Two texts word by word: kept words behind `|`, those that went `-`, those that came `+`.

    They are compared with nothing counted or squeezed, so that no change is without a line.
    """
    stretches = word_diff(exact(old), exact(new))
    blank = _blank_changes(stretches)
    found: list[Line] = []
    if old != new and stripped(old) == stripped(new):
        found.append(Line(ALIKE, "differs in hidden characters"))
    for at, stretch in enumerate(stretches):
        text = "".join(stretch.pieces)
        if stretch.op is Op.KEPT and cut:
            found += _context(text, width, is_first=at == 0, is_last=at + 1 == len(stretches))
        else:
            text = ascii(text) if at in blank else odd_blanks_told(text).strip("\n")
            text = text.removeprefix(" ")
            found += text_lines(text, width, gutter=stretch.op.value, cut=cut)
    return found


def inert(text: str, *, is_whole: bool = False) -> str:
    """A text in which nothing acts and nothing is out of sight; its line breaks are kept.

    A long run of hidden characters is counted, unless the text is to be whole.
    """
    text = text.replace("\r\n", "\n")
    text = spelled_out(text) if is_whole else marked(text)
    text = text.replace("\r", "⟦U+000D⟧").replace("\t", "    ")
    text = _BLANKS.sub(lambda found: f" ⟦{len(found[0]):,} blanks⟧ ", text)
    return _EMPTY.sub(lambda found: f"\n⟦{found[0].count(chr(10)) - 1:,} empty lines⟧\n", text)


def on_one_line(text: str) -> str:
    """A text in which nothing acts and nothing begins a line; made so already, it stays so."""
    text = marked(text).replace("\r", "⟦U+000D⟧").replace("\n", "⟦U+000A⟧")
    return text.replace("\t", "    ")


def named(name: str, limit: int = NAME_LIMIT) -> str:
    """A name of a server's in one word of ours: quoted where it has more than plain characters.

    It may be cut, and hidden characters counted: `is_named_whole` tells.
    """
    shown = _in_a_line(name)
    cut = f"… ({len(shown):,} characters)" if len(shown) > limit else ""
    shown = shown[:limit]
    if not _PLAIN.fullmatch(shown):
        shown = '"{}"'.format(shown.replace("\\", "\\\\").replace('"', '\\"'))
    return shown + cut


def is_named_whole(name: str) -> bool:
    """Whether `named` tells every character of a name, and for what it is."""
    return len(_in_a_line(name)) <= NAME_LIMIT and name == inert(name) and "⟦" not in name


def _in_a_line(name: str) -> str:
    return inert(name).replace("\n", "⟦U+000A⟧")


# Blanks of any width, Braille's empty cell too; as many as no sentence needs.
_BLANKS: Final = re.compile("[^\\S\\n\u2800]{12,}|[^\\S\\n]*\u2800(?:[^\\S\\n]|\u2800)*")
_EMPTY: Final = re.compile(r"\n(?:[^\S\n]*\n){3,}")
_PLAIN: Final = re.compile(r"[\w./:@{}?&=%#,+~!*<>-]+")


def _is_counted(text: str) -> bool:
    """Whether hidden characters of a text are counted where they are many."""
    return has_hidden(text) and marked(text) != spelled_out(text)


def _blank_changes(stretches: tuple[Stretch, ...]) -> set[int]:
    """The stretches that differ in white space only, which is not seen unless it is spelled out."""
    found: set[int] = set()
    for at, stretch in enumerate(stretches):
        words = "".join(stretch.pieces).split()
        if stretch.op is Op.KEPT:
            continue
        if not words:
            found.add(at)
        after = stretches[at + 1] if at + 1 < len(stretches) else None
        if after is not None and after.op is Op.IN and "".join(after.pieces).split() == words:
            found |= {at, at + 1}
    return found


def _context(text: str, width: int, *, is_first: bool, is_last: bool) -> Iterator[Line]:
    """Unchanged text: what stands next to a change."""
    keep = CONTEXT if is_first or is_last else 2 * CONTEXT
    text = inert(text).strip("\n").removeprefix(" ")
    if len(text) <= keep:
        yield from _folded(text, width, "|") if text.strip() else ()
        return
    before = "" if is_first else text[:CONTEXT]
    after = "" if is_last else text[-CONTEXT:]
    if before:
        yield from _folded(before, width, "|")
    yield Line(KEPT, f"{len(text) - len(before) - len(after):,} characters as approved")
    if after:
        yield from _folded(after.strip(), width, "|")


def _each(lines: Iterable[str], width: int, gutter: str, *, cut: bool) -> list[Line]:
    found: list[Line] = []
    for line in lines:
        indent = len(line) - len(line.lstrip(" "))
        inner = text_lines(line.lstrip(" "), max(20, width - indent - 2), gutter=gutter, cut=cut)
        for number, each in enumerate(inner):
            if each.gutter == CUT:
                found.append(each)
            else:
                found.append(Line(gutter, " " * (indent + 2 * (number > 0)) + each.text))
    return found


def _folded(text: str, width: int, gutter: str) -> list[Line]:
    return [Line(gutter, part) for line in text.split("\n") for part in _fold(line, width)]


def _fold(line: str, width: int) -> Iterator[str]:
    """A line in pieces of at most `width` columns, broken between words where there are any."""
    if len(line) <= width and cell_len(line) <= width:
        yield line.rstrip()
        return
    here, columns = "", 0
    for piece in _pieces(line, width):
        size = cell_len(piece)
        if columns and columns + size > width:
            yield here.rstrip()
            here, columns = piece.lstrip(), cell_len(piece.lstrip())
        else:
            here, columns = here + piece, columns + size
    if here.strip():
        yield here.rstrip()


def _pieces(line: str, width: int) -> Iterator[str]:
    """The words of a line, each with the blanks before it; one that does not fit is broken."""
    for word in re.findall(r"\s*\S+|\s+$", line):
        rest = word
        while cell_len(rest) > width:
            piece = _fitting(rest, width)
            yield piece
            rest = rest[len(piece) :]
        yield rest


def _fitting(word: str, width: int) -> str:
    """The beginning of a word that fits; at least a character."""
    columns = 0
    for at, char in enumerate(word):
        columns += cell_len(char)
        if columns > width:
            return word[: max(1, at)]
    return word
