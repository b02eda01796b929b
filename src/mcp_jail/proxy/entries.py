"""The first and the last entry of a run: what was started on what terms, and how it ended. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from mcp_jail import __version__
from mcp_jail.core.conversation.tally import Tally
from mcp_jail.core.recorded.audit import Entry, Kind
from mcp_jail.core.recorded.redact import Redactor, known_values
from mcp_jail.core.rules.upstream import read_upstream
from mcp_jail.core.spec import Mount, Plan
from mcp_jail.core.text.command_shown import without_secrets
from mcp_jail.proxy.ending import Ending
from mcp_jail.proxy.prepare import Prepared
from mcp_jail.sandbox.outside import FILTER_MODE, ServerStatus


def start_entry(
    prepared: Prepared, *, network: dict[str, Any], blot: Callable[[str], str]
) -> Entry:
    """The plan as it is about to be carried out.

    The environment by name only; `blot` takes secrets out of the words of the command.
    """
    plan = prepared.plan
    return Entry(
        kind=Kind.START,
        name=plan.name,
        detail={
            "version": __version__,
            "policy": prepared.judged.file.path,
            "policy_sha256": prepared.policy_sha256,
            "command": [blot(word) for word in without_secrets(plan.command)],
            "cwd": plan.cwd,
            "mounts": [_mount(mount) for mount in plan.mounts],
            "env": sorted({*plan.env, *plan.secrets}),
            "network": network,
            **_ignored(prepared),
        },
    )


def _ignored(prepared: Prepared) -> dict[str, Any]:
    """What the lock does not hold, where there is such."""
    lock = prepared.policy.lock
    return {"lock_ignores": dict(lock.ignore)} if lock.enabled and lock.ignore else {}


def redactor_of(prepared: Prepared, key: bytes) -> Redactor:
    """What takes the secrets of a run out of its entries; `key` is the state directory's."""
    proxy = prepared.policy.network.upstream_proxy
    known = known_values(prepared.spec.env, () if proxy is None else read_upstream(proxy).secrets)
    mode, secrets = prepared.policy.audit.arguments, prepared.secrets.texts()
    return Redactor(mode=mode, known=known, secrets=secrets, key=key)


def refused_start(prepared: Prepared, reason: str, blot: Callable[[str], str]) -> tuple[Entry, ...]:
    """The entries of a run that was not begun, as another server would have been started."""
    network = {"mode": prepared.policy.network.mode.value}
    start = start_entry(prepared, network=network, blot=blot)
    refused = Entry(kind=Kind.LOCK, name="launch/command", verdict="drift", reason="changed")
    end = Entry(kind=Kind.END, name=prepared.plan.name, reason=reason, detail={"calls": 0})
    return start, refused, end


def end_entry(plan: Plan, tally: Tally, ending: Ending, *, confined: ServerStatus | None) -> Entry:
    """Why a run ended, what became of the server, how the kernel held it, what was counted.

    `confined` is what the kernel said of the server when it first spoke; None when it never did.
    """
    counts: dict[str, Any] = {
        "server": ending.how,
        "confined": "not looked at" if confined is None else _confined(confined),
        "calls": tally.calls,
        "denials": tally.denials,
        "violations": tally.violations,
    }
    if ending.detail:
        counts["cause"] = ending.detail
    return Entry(kind=Kind.END, name=plan.name, reason=ending.cause.value, detail=counts)


def _confined(status: ServerStatus) -> dict[str, Any]:
    """/proc/PID/status in words: `filter` is a seccomp filter, capabilities are a bit mask."""
    capabilities = status.effective | status.bounding
    return {
        "no_new_privs": status.no_new_privs,
        "seccomp": _SECCOMP.get(status.seccomp, "unknown"),
        "capabilities": f"{capabilities:x}" if capabilities else "none",
    }


_SECCOMP: Final = {0: "off", 1: "strict", FILTER_MODE: "filter"}


def _mount(mount: Mount) -> list[str]:
    source = [] if mount.source is None or mount.source == mount.destination else [mount.source]
    return [mount.kind.value, mount.destination, *source]
