"""What holds in the servers that run now, where that is not what their policy says any more."""

from __future__ import annotations

from typing import Any

from mcp_jail.asks.calling import call_all
from mcp_jail.cli.entry_lines import plain_text
from mcp_jail.proxy.prepare import Judged

# What a row of `show` begins with, and the number of servers that run by a policy.
_HEAD = "running"


def running_now(judged: Judged) -> list[dict[str, Any]]:
    """What the guards say of themselves that run by this policy file."""
    said, _ = call_all(judged.on_disk, "status")
    return [each.ok for each in said if each.run.policy == judged.file.path]


def running_rows(judged: Judged) -> list[tuple[str, str]]:
    """A row of `show` for each server that runs by this policy, and how it differs."""
    rows = []
    for status in running_now(judged):
        words = f"as process {status.get('pid', '?')}"
        rows.append((_HEAD, "\n".join((words, *differences(status)))))
    return rows


def differences(status: dict[str, Any]) -> list[str]:
    """What of a policy does not hold in a server that runs, in words."""
    found = []
    restart = status.get("restart")
    if isinstance(restart, list) and restart:
        keys = plain_text(", ".join(str(each) for each in restart))
        found.append(f"started before a change of {keys}: that holds once it is started anew")
    refused = status.get("policy_refused")
    if isinstance(refused, str) and refused:
        found.append(f"goes by the policy of before; the change was refused: {plain_text(refused)}")
    return found
