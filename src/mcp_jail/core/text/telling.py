"""What gives a secret away: the shape of a token, a name beside it, a known value's encodings.

Finding too much costs a reader a word; finding too little costs a secret. Not found, and said so
in the docs: a secret cut into pieces or encrypted, base64 broken into lines, a known value below 8
characters.
"""

from __future__ import annotations

import re
from binascii import b2a_base64
from functools import cache

# Shorter known values are words such as `info` or `1`, and would blot out half of every log.
MIN_KNOWN_CHARS = 8
# Of a longer name its ends are looked at: 64 characters each, so that no name costs much.
MAX_NAME_CHARS = 128

_NAME = (
    r"pass(?:word|wd|phrase|code)|pwd|secret|token(?!s|iz)|api[_ .-]?key|access[_ .-]?key"
    r"|private[_ .-]?key|signing[_ .-]?key|encryption[_ .-]?key|credential|cookie|session[_ .-]?id"
    r"|authorization|bearer|client[_ .-]?assertion"
)
# No shape without one of these, and those of a group not without the group's own character: a few
# searches of some bytes each beat one regex of them all.
_SHAPE_HINTS = {
    "": ("xox", "ya29.", "SG."),
    "A": ("AKIA", "ASIA", "AGPA", "AROA", "AIDA", "AIza"),
    "J": ("eyJ",),
    "-": (
        *("glpat-", "glptt-", "gldt-", "glrt-", "glsoat-", "glcbt-", "sk-", "rk-", "xapp-"),
        *("pypi-", "GOCSPX-", "-----BEGIN"),
    ),
    "_": (
        *("github_pat_", "ghp_", "gho_", "ghr_", "ghs_", "ghu_", "sk_", "rk_", "npm_", "hf_"),
        *("dop_v1_", "lin_api_"),
    ),
}
# No pair or name without one of these in the lower-cased text or JSON; in groups likewise.
_NAME_HINTS = {
    "": (
        *("://", "pwd", "secret", "token", "key", "cred", "cookie", "session", "bearer", "basic"),
        *("negotiate", "assertion", 'otp"', 'pin"'),
    ),
    "pass": ("passw", "passp", "passc"),
    "auth": ("authorization", 'auth"', "-auth"),
}


def is_telling(name: str) -> bool:
    """Whether what stands under this name is likely a secret (`password`, `x-api-key`, ...)."""
    if len(name) > MAX_NAME_CHARS:
        name = f"{name[: MAX_NAME_CHARS // 2]} {name[-MAX_NAME_CHARS // 2 :]}"
    return _telling_name().search(name) is not None


def is_telling_flag(word: str) -> bool:
    """Whether the word after this one of a command line is likely a secret (`--token`)."""
    if not word.startswith("-") or len(word) > MAX_NAME_CHARS:
        return False
    return _telling_flag().match(word) is not None


def hinted(text: str) -> bool:
    """Whether a text, or JSON as text, can hold a shape or a telling name; quick, errs to yes."""
    return _has_one(text, _SHAPE_HINTS) or _has_one(text.lower(), _NAME_HINTS)


def shape_spans(text: str) -> list[tuple[int, int]]:
    """Where tokens of known shapes and named values stand in a text."""
    spans = [match.span() for match in _shapes().finditer(text)]
    for pair in _pairs():
        spans += [match.span(1) for match in pair.finditer(text)]
    return spans


def known_spans(text: str, needles: tuple[str, ...]) -> list[tuple[int, int]]:
    """Where any of the needles stands in a text."""
    spans: list[tuple[int, int]] = []
    for needle in needles:
        at = text.find(needle)
        while at >= 0:
            spans.append((at, at + len(needle)))
            at = text.find(needle, at + 1)
    return spans


def encodings(value: str) -> frozenset[str]:
    """The texts a known value is found in: as it is, JSON, percent, hex, base64 at any offset."""
    if len(value) < MIN_KNOWN_CHARS:
        return frozenset()
    raw = value.encode("utf-8", "surrogateescape")
    found = {value, raw.hex(), raw.hex().upper()}
    found |= {_json_escaped(value, only_ascii=False), _json_escaped(value, only_ascii=True)}
    for kept in (b"", b"/", b"!'()*"):
        percent = _percent(raw, kept)
        found |= {percent, _lower_percent(percent), percent.replace("%20", "+")}
    for offset in range(3):
        core = _base64_core(raw, offset)
        found |= {core, core.replace("+", "-").replace("/", "_")}
    return frozenset(found)


def short_encodings(value: str) -> frozenset[str]:
    """The texts a short secret is found in: in less of them, as its hex may be anybody's."""
    raw = value.encode("utf-8", "surrogateescape")
    escaped = {_json_escaped(value, only_ascii=False), _json_escaped(value, only_ascii=True)}
    return frozenset({value, _percent(raw, b""), *escaped} - {""})


def _has_one(text: str, hints: dict[str, tuple[str, ...]]) -> bool:
    for common, group in hints.items():
        if common in text:
            for hint in group:  # a plain loop: half the time of any() over a generator
                if hint in text:
                    return True
    return False


# Compiled at the first need: a run whose calls tell nothing saves the 2 ms.
@cache
def _telling_name() -> re.Pattern[str]:
    return re.compile(rf"(?i){_NAME}|(?:^|[_ .-])(?:auth|otp|pin|key[_ .-]?material)$")


@cache
def _telling_flag() -> re.Pattern[str]:
    return re.compile(rf"(?i)^--?[\w-]*(?:{_NAME}|auth)[\w-]*$")


@cache
def _shapes() -> re.Pattern[str]:
    # Each alternative begins with a letter of its own, which lets the engine skip over text.
    return re.compile(
        r"A(?:KIA|SIA|GPA|ROA|IDA)[0-9A-Z]{16,}"  # AWS
        r"|AIza[0-9A-Za-z_-]{30,}"  # Google API key
        r"|ya29\.[0-9A-Za-z_.-]{16,}"  # Google OAuth
        r"|GOCSPX-[0-9A-Za-z_-]{16,}"
        r"|gh[oprsu]_[0-9A-Za-z]{20,}"  # GitHub
        r"|github_pat_[0-9A-Za-z_]{20,}"
        r"|gl(?:pat|ptt|dt|rt|soat|cbt)-[0-9A-Za-z_.-]{16,}"  # GitLab
        r"|[rs]k[-_](?:live_|test_|ant-|proj-|or-)?[0-9A-Za-z_-]{16,}"  # OpenAI, Anthropic, Stripe
        r"|xox[a-z]-[0-9A-Za-z-]{8,}|xapp-[0-9A-Za-z-]{8,}"  # Slack
        r"|npm_[0-9A-Za-z]{30,}|pypi-[0-9A-Za-z_-]{30,}|hf_[0-9A-Za-z]{20,}"
        r"|dop_v1_[0-9a-f]{32,}|SG\.[0-9A-Za-z_-]{16,}\.[0-9A-Za-z_-]{16,}|lin_api_[0-9A-Za-z]{20,}"
        r"|eyJ[0-9A-Za-z_-]{12,}(?:\.[0-9A-Za-z_-]*)*"  # JWT, JWE
        r"|-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z0-9 ]*-----|\Z)"
    )


@cache
def _pairs() -> tuple[re.Pattern[str], ...]:
    """A name and its value in running text; group 1 is what to hide.

    Repeats before a name are bounded: a text of dashes must not cost its length squared.
    """
    return (
        re.compile(r"://([^\s/]+)@"),  # userinfo of a URL
        re.compile(r"(?i)\b(?:bearer|negotiate)[ \t]+([0-9A-Za-z._~+/=-]{8,})"),
        re.compile(r"(?i)\bbasic[ \t]+([0-9A-Za-z+/_-]{12,}={0,2})"),
        re.compile(r"(?i)authorization[\"']?\s*[:=]\s*[\"']?([^\r\n\"']{4,})"),
        re.compile(
            rf"(?i)(?:{_NAME})[\w.-]{{0,40}}\\?[\"']?\]?\s*(?::=|[:=])\s*\\?[\"']?([^\s\"'\\&,;]{{4,}})"
        ),
        re.compile(rf"(?i)--?[\w-]{{0,40}}?(?:{_NAME})[\w-]{{0,40}}\s+[\"']?([^\s\"']{{4,}})"),
    )


_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_JSON_SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_JSON_SHORT |= {"\b": "\\b", "\f": "\\f"}


def _json_escaped(value: str, *, only_ascii: bool) -> str:
    """The value as it stands between quotes in JSON text."""
    parts: list[str] = []
    for char in value:
        if char in _JSON_SHORT:
            parts.append(_JSON_SHORT[char])
        elif char < " " or (only_ascii and char > "~"):
            units = char.encode("utf-16-be", "surrogatepass")
            parts += [f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2)]
        else:
            parts.append(char)
    return "".join(parts)


def _percent(raw: bytes, kept: bytes) -> str:
    """The value in a URL, with the bytes that some encoders keep."""
    return "".join(chr(b) if b in _UNRESERVED or b in kept else f"%{b:02X}" for b in raw)


def _lower_percent(percent: str) -> str:
    return re.sub("%..", lambda match: match.group().lower(), percent)


def _base64_core(raw: bytes, offset: int) -> str:
    """The part of the value's base64 that does not depend on the `offset` bytes before or after."""
    encoded = b2a_base64(b"\0" * offset + raw, newline=False).decode()
    begin = (0, 2, 3)[offset]
    whole_bits = (offset + len(raw)) * 8
    return encoded[begin : whole_bits // 6]
