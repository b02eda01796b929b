"""An entry without the values of secrets, wherever in it a server or a client has put one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from mcp_jail.core.recorded.audit import Entry

Hide = Callable[[str], str]


def blotted(entry: Entry, hide: Hide) -> Entry:
    """The entry with `hide` applied to its texts; its arguments are redacted before."""
    texts = {name: hide(getattr(entry, name)) for name in ("method", "name", "rule", "reason")}
    return msgspec.structs.replace(
        entry, **texts, id=_value(entry.id, hide), detail=_value(entry.detail, hide)
    )


def _value(value: Any, hide: Hide) -> Any:
    match value:
        case str():
            return hide(value)
        case dict():
            return {hide(key): _value(inner, hide) for key, inner in value.items()}
        case list() | tuple():
            return [_value(inner, hide) for inner in value]
        case _:
            return value
