"""A policy that is changed while its server runs: what holds at once, and what needs a restart.

What the proxy enforces is taken up; what the jail was built from stays as it was, rules that speak
of it too, so that the two walls never stand in different places.
"""

from __future__ import annotations

from typing import Final

import msgspec

from mcp_jail.core.policy import Policy

# The keys that hold from the next message on.
TAKEN_UP: Final = (
    "text",
    "tools",
    "resources",
    "prompts",
    "sampling",
    "elicitation",
    "ask",
)


def taken_up(before: Policy, after: Policy) -> Policy:
    """The policy that holds from now on, of the one that holds and the one that was written."""
    return msgspec.structs.replace(before, **{key: getattr(after, key) for key in TAKEN_UP})


def needing_restart(before: Policy, after: Policy) -> tuple[str, ...]:
    """The keys that differ and hold only once the server is started anew."""
    others = (name for name in Policy.__struct_fields__ if name not in TAKEN_UP)
    return tuple(name for name in others if getattr(before, name) != getattr(after, name))
