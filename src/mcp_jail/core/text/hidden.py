"""Characters that a program reads and a person does not see: found, shown, or taken out.

Hidden are terminal control (ANSI and C1), direction overrides, zero-width characters, Unicode tags,
variation selectors that choose no form of anything, fillers, the two Unicode line separators and
code points that no text has (Unicode 16, Default_Ignorable_Code_Point and more). What people write
honestly stays: tab and newline, emoji joined or with their colour, keycaps, and a single ZWJ or
ZWNJ beside a letter of a script that joins (Arabic, the Indic ones, ...).

Also marked though sometimes honest: soft hyphens, direction marks, zero-width spaces, the tags of
the flags of England, Scotland and Wales, variants of Han and Mongolian letters. Not hidden: blanks
of any width, Braille's empty cell, and private use, which is drawn as a box where no font knows it.
A carriage return is left too; who prints to a terminal must see to it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from itertools import islice
from typing import Any, assert_never

from mcp_jail.core.policy import Text

# Characters of one run that are shown each; of a longer one the first and how many.
RUN_SHOWN = 8

# Characters that a run spells (tags, selectors) that are shown.
SPELLED_LIMIT = 200

# Marks in one text; further hidden characters are taken out and counted. A mark is up to thirteen
# times as long as what it stands for, and a server chooses how many there are.
MARKS_LIMIT = 1_000


def has_hidden(text: str) -> bool:
    """Whether a text has a character that a person would not see."""
    return not _is_plain(text) and _hidden().search(text) is not None


def hides(value: Any) -> bool:
    """Whether a decoded JSON value has such a character in any text or key of it."""
    return cleaned(value, Text.STRIP)[1] > 0


def marked(text: str) -> str:
    """The text with each hidden run as `⟦U+202E⟧`, the same object where there is none.

    A long run is its first character and a count. Tags and variation selectors that spell ASCII are
    spelled out: `⟦U+E0068 U+E0069 "hi"⟧`. Two long runs may get the same mark.
    """
    if _is_plain(text):
        return text
    parts: list[str] = []
    done = 0
    for run in islice(_hidden().finditer(text), MARKS_LIMIT):
        parts += (text[done : run.start()], _mark(run[0]))
        done = run.end()
    if not done:
        return text
    # No run is cut here: before the next one stands a character that is seen.
    rest = text[done:]
    kept = _hidden().sub("", rest)
    if len(kept) < len(rest):
        kept += f"⟦{len(rest) - len(kept)} more hidden characters left out⟧"
    return "".join((*parts, kept))


def spelled_out(text: str) -> str:
    """The text with every hidden character told, however many: up to thirteen times as long."""
    return text if _is_plain(text) else _hidden().sub(lambda run: _told(run[0]), text)


def stripped(text: str) -> str:
    """The text without its hidden characters, the same object where there is none."""
    if _is_plain(text):
        return text
    kept, runs = _hidden().subn("", text)
    return kept if runs else text


def cleaned(value: Any, mode: Text) -> tuple[Any, int]:
    """A decoded JSON value with its texts treated, and how many were changed.

    The same object where nothing changed; the value itself is never written to. A key is marked in
    either mode, as one without its hidden characters could be the name of something else; where
    that name is taken, a number is added.
    """
    match mode:
        case Text.OFF:
            return value, 0
        case Text.MARK:
            return _cleaned(value, marked)
        case Text.STRIP:
            return _cleaned(value, stripped)
        case _:
            assert_never(mode)


def may_hide(raw: bytes | memoryview) -> bool:
    """Whether valid JSON may have a hidden character in a text; False is certain.

    Looks at a piece at a time, with searches for single bytes where nothing else is needed: 16 MiB
    of base64 take 3 ms, of German prose 30.
    """
    for start in range(0, len(raw), _PIECE):
        # The next three bytes too: an escape has two and a character up to four.
        piece = bytes(raw[start : start + _PIECE + 3])
        if b"\x7f" in piece or (b"\\" in piece and _escapes().search(piece)):
            return True
        if not piece.isascii() and _has_lead(piece):
            return True
    return False


# Bytes; so many fit into a processor's cache, where looking twice costs little.
_PIECE = 64 * 1024

_ZERO_WIDTH_JOINERS = r"\u200c\u200d"
_EMOJI_SELECTORS = r"\ufe0e\ufe0f"

# What is never seen; with a joiner or selector among them a run is judged whole.
_INVISIBLE = (
    r"\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"  # C0 without tab and line ends, DEL, C1
    r"\xad\u034f"  # soft hyphen, grapheme joiner
    r"\u061c\u200e\u200f\u202a-\u202e"  # direction; its isolates are below, in 2060-206f
    r"\u115f\u1160\u3164\uffa0"  # Hangul fillers
    r"\u17b4\u17b5\u180b-\u180f"  # Khmer inherent vowels, Mongolian selectors and separator
    r"\u200b\u2028\u2029\u2060-\u206f\ufeff"  # zero width, line ends, word joiner, operators, BOM
    r"\ud800-\udfff"  # lone surrogates
    r"\ufdd0-\ufdef\ufff0-\ufffb\ufffe\uffff"  # no characters; interlinear annotation
    r"\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"  # layout of three scripts
    r"\U0001fffe\U0001ffff\U0002fffe\U0002ffff"
    r"\U0003fffe-\U000effff"  # planes without characters; tags, selectors
    r"\U000ffffe\U000fffff\U0010fffe\U0010ffff"
    r"\ufe00-\ufe0f" + _ZERO_WIDTH_JOINERS
)

# What has an emoji form or joins into one; digits only in a keycap.
_EMOJI = (
    r"\xa9\xae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u24c2\u25a0-\u27bf"
    r"\u2934\u2935\u2b00-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001fbff"
)

# Letters and marks of scripts whose letters take another form where they are joined or kept apart.
_JOINING = (
    r"\u0620-\u077f\u07c0-\u07ff\u0840-\u08ff"  # Arabic, Syriac, N'Ko, Mandaic
    r"\u0900-\u0dff\u0f00-\u109f\u1780-\u17b3\u17b6-\u17ff"  # Indic, Tibetan, Burmese, Khmer
    r"\u1820-\u18aa\u1a20-\u1aaf\u1b00-\u1bbf\ua840-\ua87f"  # Mongolian, Tai Tham, Balinese, ...
    r"\ua8e0-\ua8ff\ua980-\ua9ff\uaa60-\uaa7f\ufb50-\ufdcf\ufdf0-\ufdff\ufe70-\ufefc"
    r"\U00010a00-\U00010a5f\U00011000-\U0001193f\U0001e900-\U0001e95f"  # Brahmi's kin, Adlam
)

# Every byte of UTF-8 but C0 without tab and line ends, and DEL.
_NOT_CONTROL = bytes((9, 10, 13, *range(0x20, 0x7F), *range(0x80, 0x100)))


def _is_plain(text: str) -> bool:
    """Whether a text has nothing that may be hidden; quick, as most texts are plain."""
    if text.isascii():
        return not text.encode("ascii").translate(None, _NOT_CONTROL)
    encoded = text.encode("utf-8", "surrogatepass")
    return not (encoded.translate(None, _NOT_CONTROL) or _has_lead(encoded))


def _has_lead(text: bytes) -> bool:
    """Whether UTF-8 has a character beyond ASCII that may be hidden."""
    return any(lead in text and characters.search(text) for lead, characters in _encoded())


# Compiled at the first need: most runs of the guard see ASCII only.
@cache
def _hidden() -> re.Pattern[str]:
    """A whole run of invisible characters that has no honest use where it stands.

    The set comes first, as the engine skips to it; what is around is asked for after that.
    """
    unseen = f"[{_INVISIBLE}]"
    honest = (
        rf"(?<=[{_EMOJI}][{_EMOJI_SELECTORS}])(?!{unseen})",
        r"(?<=[0-9#*]\ufe0f)(?=\u20e3)",
        rf"(?<=[{_EMOJI}]\u200d)(?=[{_EMOJI}])",
        rf"(?<=[{_EMOJI}]\ufe0f)(?=\u200d[{_EMOJI}])",
        rf"(?<=[{_JOINING}][{_ZERO_WIDTH_JOINERS}])(?!{unseen})",
        rf"(?<=[{_ZERO_WIDTH_JOINERS}])(?=[{_JOINING}])",
    )
    return re.compile(f"{unseen}(?<!{unseen}{unseen})(?!{'|'.join(honest)}){unseen}*")


@cache
def _escapes() -> re.Pattern[bytes]:
    return re.compile(rb"\\[ubf]")


@cache
def _encoded() -> tuple[tuple[bytes, re.Pattern[bytes]], ...]:
    """First bytes in UTF-8, each with what begins so and may be hidden: all of `_INVISIBLE`."""
    return tuple(
        (lead, re.compile(lead + rest, re.DOTALL))
        for lead, rest in (
            (b"\xc2", rb"[\x80-\x9f\xad]"),
            (b"\xcd", rb"\x8f"),
            (b"\xd8", rb"\x9c"),
            (b"\xe1", rb"(?:\x85[\x9f\xa0]|\x9e[\xb4\xb5]|\xa0[\x8b-\x8f])"),
            (b"\xe2", rb"(?:\x80[\x8b-\x8f\xa8-\xae]|\x81[\xa0-\xaf])"),
            (b"\xe3", rb"\x85\xa4"),
            (b"\xed", rb"[\xa0-\xbf]"),
            (
                b"\xef",
                rb"(?:\xb7[\x90-\xaf]|\xb8[\x80-\x8f]|\xbb\xbf|\xbe\xa0|\xbf[\xb0-\xbb\xbe\xbf])",
            ),
            (b"\xf0", rb"(?:\x93\x90|\x9b\xb2|\x9d\x85|.\xbf[\xbe\xbf])"),
            (b"\xf1", b""),
            (b"\xf2", b""),
            (b"\xf3", rb"(?:[\x80-\xaf]|\xbf\xbf[\xbe\xbf])"),
            (b"\xf4", rb"\x8f\xbf[\xbe\xbf]"),
        )
    )


def _mark(run: str) -> str:
    if len(run) <= RUN_SHOWN:
        return _told(run)
    codes = f"U+{ord(run[0]):04X}…\xd7{len(run)}"
    spelled = _spelled(run)
    if len(spelled) > SPELLED_LIMIT:
        spelled = spelled[:SPELLED_LIMIT] + "…"
    return f'⟦{codes} "{spelled}"⟧' if spelled else f"⟦{codes}⟧"


def _told(run: str) -> str:
    codes = " ".join(f"U+{ord(char):04X}" for char in run)
    spelled = _spelled(run)
    return f'⟦{codes} "{spelled}"⟧' if spelled else f"⟦{codes}⟧"


def _spelled(run: str) -> str:
    """The ASCII that a run hides: tags are ASCII moved up; a selector of the supplement is a byte.

    Selectors 17 to 256 stand for the bytes from 16 on, which is how text is hidden behind an emoji.
    """
    found = []
    for char in run:
        code = ord(char)
        if 0xE0020 <= code <= 0xE007E:  # noqa: PLR2004  (tag space to tag tilde)
            found.append(chr(code - 0xE0000))
        elif 0xE0110 <= code <= 0xE016E:  # noqa: PLR2004  (selectors for space to tilde)
            found.append(chr(code - 0xE0100 + 16))
    return "".join(found)


def _cleaned(value: Any, treat: Callable[[str], str]) -> tuple[Any, int]:
    if type(value) is str:
        text = treat(value)
        return (value, 0) if text is value else (text, 1)
    if type(value) is list:
        return _cleaned_list(value, treat)
    return _cleaned_object(value, treat) if type(value) is dict else (value, 0)


def _cleaned_list(values: list[Any], treat: Callable[[str], str]) -> tuple[list[Any], int]:
    copy = values
    total = 0
    for at, value in enumerate(values):
        new, count = _cleaned(value, treat)
        if count:
            copy = list(values) if copy is values else copy
            copy[at] = new
            total += count
    return copy, total


def _cleaned_object(
    members: dict[str, Any], treat: Callable[[str], str]
) -> tuple[dict[str, Any], int]:
    copy = members
    total = 0
    for key, value in members.items():
        new, count = _cleaned(value, treat)
        if count:
            copy = dict(members) if copy is members else copy
            copy[key] = new
            total += count
    odd = [key for key in members if has_hidden(key)]
    return (_renamed(copy, odd), total + len(odd)) if odd else (copy, total)


def _renamed(members: dict[str, Any], odd: list[str]) -> dict[str, Any]:
    """Members in their order, the odd keys marked; no name is given twice, even by other case."""
    names = dict.fromkeys(odd, "")
    taken = {key.casefold() for key in members if key not in names}
    numbers: dict[str, int] = {}
    for key in odd:
        name = first = marked(key)
        while name.casefold() in taken:
            numbers[first] = numbers.get(first, 1) + 1
            name = f"{first} ({numbers[first]})"
        taken.add(name.casefold())
        names[key] = name
    return {names.get(key, key): value for key, value in members.items()}
