"""Around `wrap`: what `npx` or `uvx` would fetch at each start is pinned, if a person agrees.

Their jails have no registry, so unpinned they do not start. A package that cannot be had leaves its
server wrapped; the same command tries again. What cannot be pinned is told before.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Iterator

import msgspec

from mcp_jail.cli.install import pin
from mcp_jail.cli.out import bullet, folded
from mcp_jail.clients.plans import FilePlan, Group, Outcome
from mcp_jail.config.launchers import look_up_at_start
from mcp_jail.core.policy import NetworkMode, Policy
from mcp_jail.errors import JailError
from mcp_jail.packages.commands import read_command
from mcp_jail.proxy.prepare import judge


class Fetched(msgspec.Struct, frozen=True):
    """A policy whose server is fetched at each start.

    `command` says what that is, where the policy does not.
    """

    policy: str
    command: tuple[str, ...] = ()

    @property
    def cure(self) -> str:
        """The command that pins it."""
        words = f" -- {shlex.join(self.command)}" if self.command else ""
        return f"mcp-jail install {self.policy}{words}"


def unpinned_of(plans: Iterable[FilePlan]) -> list[Fetched]:
    """What can be pinned of the servers that were wrapped."""
    found = {each.policy: _fetched(each) for each in _wrapped(plans)}
    return [each for _, each in sorted(found.items()) if each is not None]


def dead_of(plans: Iterable[FilePlan]) -> Iterator[str]:
    """A line for each server that will not start and that no install mends."""
    for outcome in _wrapped(plans):
        found = None if _is_open(outcome) else look_up_at_start(outcome.before, outcome.policy)
        if found is None:
            continue
        try:
            asked = read_command(outcome.before)
        except JailError as error:
            yield _dead(outcome, error.message, error.hint)
        else:
            if asked is None:
                yield _dead(outcome, found.message, found.hint)


def offer(fetched: list[Fetched], *, may_ask: bool) -> None:
    """Pin their packages, if a person is asked and says so; else say how."""
    if not fetched:
        return
    if not (may_ask and sys.stdin.isatty() and sys.stdout.isatty()):
        folded("these are fetched from a registry at each start, which their jails do not reach;")
        _print_cures("pin them, once:", fetched)
        return
    names = ", ".join(each.policy for each in fetched)
    sys.stdout.write(f"Fetch and pin the packages of {names} now? [Y/n] ")
    sys.stdout.flush()
    if sys.stdin.readline().strip().lower() not in {"", "y", "yes"}:
        _print_cures("later:", fetched)
        return
    for each in fetched:
        try:
            pin(judge(name=each.policy, policy_file=None), each.command)
        except JailError as error:
            folded(f"{each.policy} is not pinned: {error.message}", note=error.hint)


def is_unpinned(policy: Policy) -> bool:
    """Whether a policy's server is an npx or uvx command without a package."""
    words = () if policy.server is None else policy.server.command
    return policy.package is None and _is_pinnable(words)


def _wrapped(plans: Iterable[FilePlan]) -> Iterator[Outcome]:
    for plan in plans:
        yield from (each for each in plan.outcomes if each.group is Group.DONE and each.policy)


def _fetched(outcome: Outcome) -> Fetched | None:
    """How a wrapped server is pinned; of its words those that say which package it is."""
    try:
        policy = judge(name=outcome.policy, policy_file=None).policy
    except JailError:
        return None
    named = () if policy.server is None else policy.server.command
    if named or policy.package is not None:
        return Fetched(outcome.policy) if is_unpinned(policy) else None
    if not _is_pinnable(outcome.before):
        return None
    asked = read_command(outcome.before)
    rest = 0 if asked is None else len(asked.arguments)
    return Fetched(outcome.policy, outcome.before[: len(outcome.before) - rest])


def _is_pinnable(words: tuple[str, ...]) -> bool:
    try:
        return read_command(words) is not None
    except JailError:
        return False  # one that cannot be pinned


def _is_open(outcome: Outcome) -> bool:
    """Whether its policy, if it is there already, says how the package gets in."""
    if outcome.policy_is_new:
        return False
    try:
        policy = judge(name=outcome.policy, policy_file=None).policy
    except JailError:
        return False
    return policy.package is not None or policy.network.mode is not NetworkMode.NONE


def _dead(outcome: Outcome, message: str, hint: str) -> str:
    return f"'{outcome.server}' will not start: {message}; {hint}"


def _print_cures(first: str, fetched: list[Fetched]) -> None:
    if len(fetched) == 1:
        bullet(f"  {first} {fetched[0].cure}")
        return
    bullet(f"  {first}")
    for each in fetched:
        bullet(f"    {each.cure}")
