"""The first and the last entry of a run: what was started on what terms, and how it ended. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mcp_jail import __version__
from mcp_jail.core.audit import Entry, Kind
from mcp_jail.core.spec import Mount, Plan
from mcp_jail.core.tally import Tally


def start_entry(
    plan: Plan, *, policy_file: str, policy_sha256: str, blot: Callable[[str], str]
) -> Entry:
    """The plan as it is about to be carried out.

    The environment by name only; `blot` takes secrets out of the words of the command.
    """
    return Entry(
        kind=Kind.START,
        name=plan.name,
        detail={
            "version": __version__,
            "policy": policy_file,
            "policy_sha256": policy_sha256,
            "command": [blot(word) for word in plan.command],
            "cwd": plan.cwd,
            "mounts": [_mount(mount) for mount in plan.mounts],
            "env": sorted(plan.env),
            "network": "none",
        },
    )


def end_entry(plan: Plan, tally: Tally, *, cause: str, how: str, detail: str) -> Entry:
    """Why a run ended, what became of the server, and what was counted."""
    counts: dict[str, Any] = {
        "server": how,
        "calls": tally.calls,
        "denials": tally.denials,
        "violations": tally.violations,
    }
    if detail:
        counts["cause"] = detail
    return Entry(kind=Kind.END, name=plan.name, reason=cause, detail=counts)


def _mount(mount: Mount) -> list[str]:
    source = [] if mount.source is None or mount.source == mount.destination else [mount.source]
    return [mount.kind.value, mount.destination, *source]
