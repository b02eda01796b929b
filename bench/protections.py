"""What was on while the figures were taken; what was off makes them a lie, and none is reported.

Looked at afterwards, in what the runs themselves left behind: every run begins under the policy as
it was written here, every call that was answered stands in the audit as allowed by the rule it was
made for, with its result, one call of every run was refused, and every run ends with a server that
the kernel held. With a lock in the program, there is one for every server, with its tool in it.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from lanes import Jailed, Workshop

# Entries that were written before the runs, by `audits`, are of runs whose names begin so.
BEFORE = "before-"

# Parts of mcp-jail by the key of a policy that is refused until they are there, or by the command.
BY_KEY = {
    "lock": "lock",
    "network.allow": "gate",
    "limits.memory": "limits",
    "package": "pinned packages",
}
_BY_COMMAND = {"report": "report", "ui": "dashboard"}
# Neither a key nor a command: to be taken out of here by who lands it.
_BY_NAME = ("start-up proof",)

_CONFINED = {"no_new_privs": True, "seccomp": "filter", "capabilities": "none"}


def not_landed(workshop: Workshop) -> list[str]:
    """The parts that will cost something too, or that a target waits for."""
    overview = subprocess.run(
        [workshop.mcp_jail, "--help"], env=workshop.env, check=True, capture_output=True, text=True
    ).stdout
    commands = {line.split()[0] for line in overview.splitlines() if line.startswith("  ")}
    return [
        *(part for key, part in BY_KEY.items() if key in workshop.missing),
        *_BY_NAME,
        *(part for command, part in _BY_COMMAND.items() if command not in commands),
    ]


def what_was_off(workshop: Workshop) -> list[str]:
    """Each protection that was off, for which server, and how that shows."""
    if not workshop.jailed:
        return ["jail: nothing went through it"]
    return [
        f"{what} of {name}: {how}"
        for name, jailed in workshop.jailed.items()
        for what, how in _off(workshop, name, jailed)
    ]


class _Line(msgspec.Struct):
    """What of an entry is looked at."""

    run: str
    kind: str
    verdict: str = ""
    rule: str = ""
    is_error: bool = False
    detail: dict[str, Any] = {}


_LINES = msgspec.json.Decoder(_Line)


class _Seen:
    """The entries of one server, counted."""

    def __init__(self, files: list[Path]) -> None:
        self.policies: list[object] = []
        self.confined: list[object] = []
        self.rules: set[str] = set()
        self.allowed = self.denied = self.results = 0
        for file in files:
            with file.open("rb") as lines:
                for line in lines:
                    self._count(_LINES.decode(line))

    def _count(self, line: _Line) -> None:
        if line.run.startswith(BEFORE):
            return
        match line.kind, line.verdict:
            case "start", _:
                self.policies.append(line.detail.get("policy_sha256"))
            case "call", "allow":
                self.allowed += 1
                self.rules.add(line.rule)
            case "call", _:
                self.denied += 1
            case "result", _:
                self.results += not line.is_error
            case "end", _:
                self.confined.append(line.detail.get("confined"))
            case _:
                pass


def _off(workshop: Workshop, name: str, jailed: Jailed) -> Iterator[tuple[str, str]]:
    seen = _Seen(workshop.audits(name))
    runs, calls = jailed.runs, jailed.calls
    if len(seen.policies) != runs:
        yield "audit", f"{len(seen.policies)} starts of {runs}"
    if seen.allowed != calls or seen.results != calls:
        yield "audit", f"{seen.allowed} calls and {seen.results} results of {calls}"
    if seen.denied + jailed.let_through != runs:
        yield "audit", f"{seen.denied} refusals of {runs}"
    if jailed.let_through:
        yield "policy", f"{jailed.let_through} calls let through that it has to refuse"
    if set(seen.policies) - {jailed.policy_sha256}:
        yield "policy", "it is not the one that was written for this"
    if seen.rules - {f"tools.rules.{jailed.server.tool}"}:
        yield "policy", f"calls were allowed by {', '.join(sorted(seen.rules))}"
    held = [confined for confined in seen.confined if confined == _CONFINED]
    if len(held) != runs:
        yield "jail", f"{len(held)} runs of {runs} ended with a server that was held"
    if workshop.has_lock and not _is_locked(workshop, name, jailed):
        yield "lock", "there is none with its tool in it"


def _is_locked(workshop: Workshop, name: str, jailed: Jailed) -> bool:
    lock = workshop.state / "locks" / f"{name}.json"
    return lock.is_file() and jailed.server.tool in lock.read_text()
