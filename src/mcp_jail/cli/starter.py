"""A first policy for a server that was looked at: its command, its tools, nothing allowed.

What a tool says of itself (`readOnlyHint`, `destructiveHint`) is the server's word, so it may close
a tool and never open one.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Final

import msgspec

from mcp_jail.cli.inert_text import inert
from mcp_jail.config.starter_policy import ServerEntry, ToolLine, starter_policy
from mcp_jail.core.approved.lock import ItemKind, Lock, kind_of
from mcp_jail.core.policy import Verdict
from mcp_jail.errors import JailError
from mcp_jail.sandbox.offers import offers
from mcp_jail.store.places import NOWHERE, home_folder, working_folder

# Characters of a tool's own description that stand beside its rule.
SAID: Final = 60


class FirstPolicy(msgspec.Struct, frozen=True):
    """The text of a policy, and the tools that have no rule in it."""

    text: str
    left_out: tuple[str, ...] = ()


def first_policy(name: str, command: tuple[str, ...], seen: Lock) -> FirstPolicy:
    """A policy with a rule for each tool; one whose name cannot be a rule goes by the default.

    JailError where the command cannot be written.
    """
    tools = {
        key.partition("/")[2]: _line(pins[-1].value)
        for key, pins in sorted(seen.items.items())
        if kind_of(key) is ItemKind.TOOL
    }
    entry = ServerEntry(name, command)
    offered = offers(command, cwd=working_folder() or NOWHERE)

    def written(some: dict[str, ToolLine]) -> str:
        return starter_policy(entry, home=home_folder(os.environ), offers=offered, tools=some)

    try:
        return FirstPolicy(written(tools))
    except JailError:
        written({})  # it is not the command that cannot be written
    sound = {tool: line for tool, line in tools.items() if _is_writable(written, tool, line)}
    return FirstPolicy(written(sound), tuple(tool for tool in tools if tool not in sound))


def _is_writable(written: Callable[[dict[str, ToolLine]], str], tool: str, line: ToolLine) -> bool:
    try:
        written({tool: line})
    except JailError:
        return False
    return True


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
