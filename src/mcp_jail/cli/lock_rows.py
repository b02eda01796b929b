"""How a policy's lock stands: what was approved, what waits, and where it lies."""

from __future__ import annotations

from typing import Any, Final

from mcp_jail.cli.out import counted
from mcp_jail.core.approved.ignored import in_words, restored_lock
from mcp_jail.core.approved.review import waits
from mcp_jail.core.policy import LockFirst
from mcp_jail.errors import JailError
from mcp_jail.proxy.lock_place import proposal_path
from mcp_jail.proxy.locking import called
from mcp_jail.proxy.prepare import Judged
from mcp_jail.store.locks import lock_files

# What becomes of a member that the policy ignores.
AS_APPROVED: Final = "whatever it says, clients get what you approved"

# What a first contact comes to.
_FIRST: Final = {
    LockFirst.REVIEW: "shown to no client until you approve it",
    LockFirst.TRUST: "trusted as it is",
}


def lock_rows(judged: Judged) -> list[tuple[str, str]]:
    """Rows of two columns for people."""
    facts = lock_facts(judged)
    if not facts["enabled"]:
        return [("lock", "none: lock.enabled is false, so the server may say anything at any time")]
    rows = [("lock", _state(judged, facts)), ("lock file", facts["path"])]
    if facts["file"] is not None:
        rows.append(("", f"{facts['file']} (lock.file, a proposal for others)"))
    rows += [("lock ignores", f"{each}; {AS_APPROVED}") for each in in_words(facts["ignore"])]
    return rows


def lock_facts(judged: Judged) -> dict[str, Any]:
    """The same for programs; `fault` says why a lock cannot be read."""
    policy = judged.policy.lock
    files = lock_files(judged.on_disk, judged.state_name)
    facts: dict[str, Any] = {
        "enabled": policy.enabled,
        "first": policy.first.value,
        "path": files.lock,
        "file": proposal_path(judged),
        "ignore": policy.ignore,
        "approved": None,
        "waiting": 0,
        "fault": None,
    }
    if not policy.enabled:
        return facts
    try:
        approved, pending = files.read(), files.read_pending()
    except JailError as error:
        return facts | {"fault": error.message}
    count = len(approved.items) if approved is not None and approved.items else None
    if pending is not None:
        pending = restored_lock(pending, approved, policy.ignore)
    return facts | {"approved": count, "waiting": waits(approved, pending)}


def _state(judged: Judged, facts: dict[str, Any]) -> str:
    if facts["fault"] is not None:
        return f"cannot be read, so nothing is approved: {facts['fault']}"
    if facts["approved"] is None:
        state = f"nothing approved yet; a first contact is {_FIRST[judged.policy.lock.first]}"
    else:
        state = f"{counted(facts['approved'], 'item', 'items')} approved"
    if not facts["waiting"]:
        return state
    waiting = counted(facts["waiting"], "item waits", "items wait")
    return f"{state}; {waiting}: mcp-jail diff {called(judged)}"
