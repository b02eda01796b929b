"""The policies of what is measured: everything on that there is."""

from __future__ import annotations

from collections.abc import Sequence

RULES = 50

# What each policy says of the lock, from the day on which the measured program has one. The first
# catalogue is trusted, since nobody is there to review it. `protections` then looks for the lock.
LOCK = "lock: {enabled: true, first: trust}"


def policy_text(
    name: str,
    *,
    tool: str,
    constraints: str,
    read_only: Sequence[str] = (),
    rules: int = RULES,
    lock: bool = False,
    more: Sequence[str] = (),
) -> str:
    """A policy that allows one tool under constraints, among so many rules, half of them globs.

    `more` are other lines of it.
    """
    globs = rules // 2
    return "\n".join(
        [
            f"name: {name}",
            "filesystem:",
            f"  read_only: [{', '.join(read_only)}]",
            "  read_write: [~/projects/app]",
            *([LOCK] if lock else []),
            *more,
            "tools:",
            "  default: deny",
            "  rules:",
            *(f'    "tool_{number}_*": deny' for number in range(globs)),
            *(f"    other_{number}: allow" for number in range(rules - globs - 1)),
            f"    {tool}:",
            "      decision: allow",
            f"      args: {constraints}",
            "",
        ]
    )
