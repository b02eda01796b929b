"""One entry of the audit as one line for people, in which nothing of a server's can act."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
from rich.text import Text

from mcp_jail.core.audit import Kind, Record

# Milliseconds in a second, and the last instant a calendar of ours knows (9999-12-31).
_SECOND = 1000
_LAST = 253_402_300_799_999

_VERDICT_STYLES = {"deny": "red", "ask": "yellow", "allow": "green"}


def entry_line(record: Record, *, name: str, width: int) -> Text:
    """Time, kind, verdict, what it is about, and why; cut to `width` columns with `...`."""
    line = Text(time_text(record.t), style="dim")
    if name:
        line.append(f" {plain_text(name)}", style="bold")
    line.append(f" {record.kind.value:<6}", style="bold" if record.kind is Kind.START else "")
    verdict = plain_text(record.verdict) or ("error" if record.is_error else "")
    if verdict:
        line.append(f" {verdict}", style=_VERDICT_STYLES.get(verdict, "red"))
    for part in _parts(record):
        line.append(f" {plain_text(part)}")
    line.truncate(width, overflow="ellipsis")
    return line


def time_text(milliseconds: int) -> str:
    """A time as the log tells it: UTC, to the second, since the file says UTC too."""
    if not 0 <= milliseconds <= _LAST:
        return f"@{milliseconds}"
    return datetime.fromtimestamp(milliseconds // _SECOND, UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def plain_text(text: str) -> str:
    """A text of somebody else's on one line, each control and format character spelled out."""
    return "".join(c if c.isprintable() else f"\\u{{{ord(c):x}}}" for c in text)


def _parts(record: Record) -> list[str]:
    parts = [record.name or record.method, record.reason]
    if record.arguments is not None:
        parts.append(_json(record.arguments))
    if record.kind is Kind.RESULT and record.size:
        parts.append(f"{record.size} bytes")
    if record.rule:
        parts.append(f"[{record.rule}{' ' if record.where else ''}{record.where}]")
    if record.detail and record.kind is not Kind.START:
        parts.append(_json(record.detail))
    if record.cut:
        parts.append(f"(cut from {record.cut} bytes)")
    return [part for part in parts if part]


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
