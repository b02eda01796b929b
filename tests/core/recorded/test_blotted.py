"""A secret is in no text of an entry, however deep."""

from __future__ import annotations

import msgspec

from mcp_jail.core.recorded.audit import Entry, Kind
from mcp_jail.core.recorded.blotted import blotted
from mcp_jail.core.recorded.redact import REDACTED, Redactor

SECRET = "hunter-2-of-somebody"


def test_a_value_is_in_no_text_of_an_entry() -> None:
    entry = Entry(
        kind=Kind.CALL,
        method=f"x/{SECRET}",
        name=f"file:///{SECRET}/a",
        id=SECRET,
        reason=f"the server says {SECRET}",
        rule=f"tools.rules.{SECRET}",
        detail={SECRET: [SECRET, {"deep": (SECRET, 1, None, True)}], "size": 3},
    )
    hide = Redactor(known=(), secrets=[SECRET], key=b"k").known
    told = blotted(entry, hide)
    line = msgspec.json.encode(told).decode()
    assert SECRET not in line
    assert line.count(REDACTED) == 8
    assert told.kind is Kind.CALL
    assert told.detail["size"] == 3


def test_an_entry_without_it_stays_as_it_was() -> None:
    entry = Entry(kind=Kind.CALL, name="echo", id=7, detail={"a": ["b", 1]})
    assert blotted(entry, Redactor(known=(), secrets=[SECRET], key=b"k").known) == entry
