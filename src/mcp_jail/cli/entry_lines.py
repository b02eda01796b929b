"""One entry of the audit as one line for people, in which nothing of a server's can act."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
from rich.text import Text

from mcp_jail.core.recorded.audit import Kind, Record

# Milliseconds in a second, and the last instant a calendar of ours knows (9999-12-31).
_SECOND = 1000
_LAST = 253_402_300_799_999

# What of the network is a verdict of the other side's.
_FAILED = "failed"

_VERDICT_STYLES = {
    "deny": "red",
    "ask": "yellow",
    "allow": "green",
    "drift": "yellow",
    "created": "green",
    "approved": "green",
    "rejected": "red",
    _FAILED: "yellow",
}

# Hex digits of a pinned object's digest that are shown: enough to tell two versions apart.
_DIGEST_SHOWN = 12


# Columns of arguments below which a cut leaves nothing worth reading.
_LEAST_TAIL = 8


def entry_line(record: Record, *, name: str, width: int | None) -> Text:
    """Time, kind, verdict, what it is about, why and by which rule; arguments last.

    Where there is a `width`, the arguments are cut to it, and nothing else.
    """
    line = Text().append(time_text(record.t), style="dim")
    if name:
        line.append(f" {plain_text(name)}", style="bold")
    line.append(f" {record.kind.value:<6}", style="bold" if record.kind is Kind.START else "")
    verdict = plain_text(_verdict(record))
    if verdict and verdict != record.kind.value:
        line.append(f" {verdict}", style=_VERDICT_STYLES.get(verdict, "red"))
    for part in _parts(record):
        line.append(f" {plain_text(part)}")
    tail = Text("".join(f" {plain_text(part)}" for part in _tail(record)))
    if width is not None:
        tail.truncate(max(width - line.cell_len, _LEAST_TAIL), overflow="ellipsis")
    return line.append_text(tail)


def time_text(milliseconds: int) -> str:
    """A time as the log tells it: UTC, to the second, since the file says UTC too."""
    if not 0 <= milliseconds <= _LAST:
        return f"@{milliseconds}"
    return datetime.fromtimestamp(milliseconds // _SECOND, UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def plain_text(text: str) -> str:
    """A text of somebody else's on one line, each control and format character spelled out."""
    return "".join(c if c.isprintable() else f"\\u{{{ord(c):x}}}" for c in text)


def _verdict(record: Record) -> str:
    if record.kind is Kind.NET and record.method == _FAILED:
        return _FAILED  # a rule opened it, and it came to nothing
    return record.verdict or ("error" if record.is_error else "")


def _parts(record: Record) -> list[str]:
    ticket = record.id if record.kind in {Kind.ASK, Kind.ANSWER} else record.detail.get("ask")
    parts = [record.name or record.method, record.reason]
    if record.kind is Kind.NET and record.name and record.method != _FAILED:
        parts.insert(0, record.method)
    if isinstance(ticket, str) and ticket:
        parts.append(f"({ticket})")
    if record.kind is Kind.RESULT and record.size:
        parts.append(f"{record.size} bytes")
    if record.kind is Kind.LOCK:
        parts.append(_digests(record))
    if record.rule:
        parts.append(f"[{record.rule}{' ' if record.where else ''}{record.where}]")
    restart = record.detail.get("restart") if record.kind is Kind.POLICY else None
    if isinstance(restart, list) and restart:
        parts.append(f"once started anew: {', '.join(map(str, restart))}")
    if record.cut:
        parts.append(f"(cut from {record.cut} bytes)")
    return [part for part in parts if part]


def _tail(record: Record) -> list[str]:
    """What may be long and can be cut."""
    tail = [_json(record.arguments)] if record.arguments is not None else []
    if record.detail and record.kind is not Kind.START and not _digests(record):
        tail.append(_json(record.detail))
    return tail


def _digests(record: Record) -> str:
    """Which versions of an item an entry of the lock is about."""
    old, new = (record.detail.get(side) for side in ("approved", "seen"))
    if record.kind is not Kind.LOCK or not (isinstance(old, str) and isinstance(new, str)):
        return ""
    told = ((f"was {old[:_DIGEST_SHOWN]}", old), (f"now {new[:_DIGEST_SHOWN]}", new))
    return f"({', '.join(text for text, digest in told if digest)})"


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
