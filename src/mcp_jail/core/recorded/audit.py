"""The audit: what an entry says, and how entries become lines that cannot be changed unseen.

One entry is one line of JSON. Each line ends with `hash`, the SHA-256 over the hash of the run's
line before and this line up to there, so a run is a chain. Chains are per run, not per file: two
jails of one name append to one file, and no writer knows where the other's line will land. A run's
first entry therefore holds an `anchor`: where the file ended before it and the hash of that line.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

import msgspec

from mcp_jail.core.sha256 import Hash, quick_sha256, sha256

VERSION = 1

# An entry's JSON beyond this is cut, and says so in `cut`. A reader can hold any line in memory,
# and a batch stays one write(2); mode `full` keeps arguments up to here.
MAX_ENTRY_BYTES = 256 * 1024
# What a text field keeps in a cut entry, in characters: enough to know a name or a reason by.
MAX_CUT_TEXT = 512
# What `detail` or `arguments` may still take in a cut entry, in bytes.
MAX_CUT_JSON = 16 * 1024
# A line is its entry plus version, time, run, number, anchor and hash.
MAX_LINE_BYTES = MAX_ENTRY_BYTES + 4096

# Entries after which a run has shown to be busy: from here a quicker hash wins back its loading.
BUSY = 2_000

HASH_HEX = 64  # SHA-256 in full: a server chooses part of what is hashed, so collisions count
_TAIL_BYTES = len(',"hash":""}') + HASH_HEX
_NO_PREVIOUS = b"\0" * 32


class Kind(Enum):
    """What an entry is about."""

    START = "start"
    CALL = "call"
    RESULT = "result"
    ASK = "ask"
    ANSWER = "answer"
    NET = "net"
    LOCK = "lock"
    POLICY = "policy"
    WIRE = "wire"
    END = "end"


class Entry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that happened, as the session says it; a default is not written."""

    kind: Kind
    method: str = ""
    name: str = ""  # the tool, prompt, resource URI, host or jail the entry is about
    id: str | int | None = None  # the JSON-RPC id as the client wrote it
    verdict: str = ""
    rule: str = ""  # the policy key that decided, such as `tools.rules.write_file`
    where: str = ""  # file:line:column of that rule
    reason: str = ""
    arguments: msgspec.Raw | None = None  # JSON, redacted already
    digest: str = ""  # HMAC of the exact arguments under the state key
    is_error: bool = False
    size: int = 0  # bytes of the message the entry is about
    detail: dict[str, Any] = {}
    cut: int = 0  # bytes the entry would have had; 0 = it is whole


class Anchor(msgspec.Struct, frozen=True, omit_defaults=True):
    """The end of a file as a run found it: all that stood before is the file's first bytes.

    `sha256` is of the last line without its newline; both defaults say the file was empty. `file`
    is the base name of the file meant when it is not the one the anchor stands in.
    """

    offset: int = 0
    sha256: str = ""
    file: str = ""


class Record(Entry, frozen=True, kw_only=True, omit_defaults=True):
    """An entry as it is read back from its line."""

    v: int
    t: int  # milliseconds since 1970, UTC
    run: str
    n: int  # counts from 0 within the run
    anchor: Anchor | None = None
    arguments: Any = None  # decoded, where an entry to be written holds bytes
    hash: str


class Chain:
    """One run's chain: turns its entries into lines, in order."""

    def __init__(self, run: str, anchor: Anchor | None = None) -> None:
        """Begin a chain at what the journal found at the end of its file (none: it was empty)."""
        self.run = run
        quoted = _ENCODER.encode(run).replace(b"%", b"%%")
        self._head = b'{"v":1,"t":%d,"run":' + quoted + b',"n":%d,%b%b'
        self._first = b'"anchor":%b,' % _ENCODER.encode(anchor or Anchor())
        self._next = 0
        self._previous = _NO_PREVIOUS
        self._sha256: Callable[[bytes], Hash] = sha256

    def seal(self, entry: Entry, t_ms: int) -> bytes:
        """The entry as one line with its newline; the first of a chain must be `start`."""
        number = self._next
        if number == 0 and entry.kind is not Kind.START:
            raise ValueError("a run's first entry is its start")
        body = _encode(entry)
        first = self._first if number == 0 else b""
        sealed = self._head % (t_ms, number, first, body[1:-1])
        if number == BUSY:
            self._sha256 = quick_sha256()
        self._previous = digest = self._sha256(self._previous + sealed).digest()
        self._next = number + 1
        return b'%b,"hash":"%b"}\n' % (sealed, digest.hex().encode())


def read_record(line: bytes) -> Record:
    """The entry a line holds; raises ValueError for anything that is not one."""
    try:
        return _RECORDS.decode(line)
    except RecursionError:
        raise ValueError("nested deeper than any entry") from None


def link(previous: bytes, line: bytes) -> bytes:
    """The hash a line should carry, from the hash before it (b"" for a run's first line).

    The line is without its newline; both hashes are 32 bytes.
    """
    return sha256((previous or _NO_PREVIOUS) + line[:-_TAIL_BYTES]).digest()


_ENCODER = msgspec.json.Encoder()
_RECORDS = msgspec.json.Decoder(Record)
_MAX_INT = 2**63 - 1  # what every JSON reader we feed takes


def _encode(entry: Entry) -> bytes:
    """The entry's JSON: one line, no longer than the limit, nothing a terminal would act on."""
    try:
        body = _ENCODER.encode(entry)
    except (OverflowError, TypeError, ValueError):
        body = _ENCODER.encode(_encodable(entry))
    if len(body) > MAX_ENTRY_BYTES:
        body = _ENCODER.encode(_cut(_encodable(entry), len(body)))
    if body.isascii() and b"\n" not in body and b"\x7f" not in body and b"\r" not in body:
        return body
    text = body.decode()
    return text.encode() if text.isprintable() else _inert(text).encode()


def _inert(text: str) -> str:
    """JSON without raw control, format or unassigned characters (ANSI, bidi, line separators)."""
    return "".join(c if c.isprintable() else _escaped(c) for c in text)


def _escaped(char: str) -> str:
    """A character as JSON's escape; a raw line break stood between tokens and becomes a space."""
    if char in "\t\n\r":
        return " "
    units = char.encode("utf-16-be")
    return "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2))


def _cut(entry: Entry, size: int) -> Entry:
    """The entry with long parts shortened, and its first size in `cut`."""
    arguments = entry.arguments
    if arguments is not None and len(bytes(arguments)) > MAX_CUT_JSON:
        arguments = msgspec.Raw(b'{"cut":%d}' % len(bytes(arguments)))
    detail = len(_ENCODER.encode(entry.detail))
    return msgspec.structs.replace(
        entry,
        method=entry.method[:MAX_CUT_TEXT],
        name=entry.name[:MAX_CUT_TEXT],
        id=entry.id[:MAX_CUT_TEXT] if isinstance(entry.id, str) else entry.id,
        verdict=entry.verdict[:MAX_CUT_TEXT],
        rule=entry.rule[:MAX_CUT_TEXT],
        where=entry.where[:MAX_CUT_TEXT],
        reason=entry.reason[:MAX_CUT_TEXT],
        digest=entry.digest[:MAX_CUT_TEXT],
        arguments=arguments,
        detail=entry.detail if detail <= MAX_CUT_JSON else {"cut": detail},
        cut=size,
    )


def _encodable(entry: Entry) -> Entry:
    """The entry with what JSON or UTF-8 cannot hold written out as text."""
    values = {
        field: _plain(getattr(entry, field))
        for field in entry.__struct_fields__
        if field not in ("kind", "arguments")
    }
    return msgspec.structs.replace(entry, **values)


def _plain(value: Any) -> Any:
    match value:
        case str():
            return value.encode("utf-8", "backslashreplace").decode()
        case bool() | None | float():
            return value
        case int():
            return value if -_MAX_INT <= value <= _MAX_INT else hex(value)
        case dict():
            return {str(_plain(key)): _plain(each) for key, each in value.items()}
        case list() | tuple():
            return [_plain(each) for each in value]
        case _:
            return repr(value)
