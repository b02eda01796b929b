"""Refuses a decision that is a person's to take, where an agent's own shell takes it.

It keeps an agent from approving for itself on every straight way; it is no wall, as what runs as
the user can write the user's files.
"""

from __future__ import annotations

from mcp_jail.asks.lineage import running_in
from mcp_jail.asks.who import fault_of_own
from mcp_jail.errors import NotAnsweredError
from mcp_jail.store.places import Places


def refuse_agent(places: Places, command: str) -> None:
    """NotAnsweredError where an MCP client or an agent runs this command."""
    fault = fault_of_own(running_in(places))
    if fault is not None:
        raise NotAnsweredError(
            f"{command} is not taken from {fault}",
            hint="open a terminal of your own, outside the program that started the server",
        )
