"""A first policy for a server that was looked at: its command, its tools, nothing allowed.

What a tool says of itself (`readOnlyHint`, `destructiveHint`) is the server's word, so it may close
a tool and never open one.
"""

from __future__ import annotations

import os
from typing import Any, Final

from mcp_jail.cli.inert_text import inert
from mcp_jail.config.starter_policy import ServerEntry, ToolLine, starter_policy
from mcp_jail.core.approved.lock import ItemKind, Lock, kind_of
from mcp_jail.core.policy import Verdict
from mcp_jail.sandbox.offers import offers
from mcp_jail.store.places import NOWHERE, home_folder, working_folder

# Characters of a tool's own description that stand beside its rule.
SAID: Final = 60


def first_policy(name: str, command: tuple[str, ...], seen: Lock) -> str:
    """The text of a policy; JailError where the server's names cannot be written as rules."""
    tools = {
        key.partition("/")[2]: _line(pins[-1].value)
        for key, pins in sorted(seen.items.items())
        if kind_of(key) is ItemKind.TOOL
    }
    entry = ServerEntry(name, command)
    offered = offers(command, cwd=working_folder() or NOWHERE)
    return starter_policy(entry, home=home_folder(os.environ), offers=offered, tools=tools)


def _line(tool: dict[str, Any]) -> ToolLine:
    said = " ".join(inert(str(tool.get("description", ""))).split())
    cut = said[:SAID] + ("…" if len(said) > SAID else "")
    note = _hint(tool) + (f"; {cut}" if cut and cut.isprintable() else "")
    return ToolLine(_verdict(tool), note)


def _verdict(tool: dict[str, Any]) -> Verdict:
    return Verdict.DENY if _hint(tool) == _DESTROYS else Verdict.ASK


_READS: Final = "only reads"
_DESTROYS: Final = "may destroy"
_SILENT: Final = "no hint"


def _hint(tool: dict[str, Any]) -> str:
    notes = tool.get("annotations")
    hints = notes if type(notes) is dict else {}
    if hints.get("destructiveHint") is True:
        return _DESTROYS
    return _READS if hints.get("readOnlyHint") is True else _SILENT
