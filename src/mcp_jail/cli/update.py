"""`mcp-jail update [NAME]`: look for a newer version of a pinned package, and what it would change.

The new version is installed beside the old one. Its server is started in the policy's jail, but
without a network and with nothing it may write, and asked for all it lists; the difference to what
you approved is shown. Only then you are asked. Yes writes the version into the policy and approves
what was shown. With --yes nobody is asked, and of the difference only the launch is approved:
changed words stay hidden until `mcp-jail approve`.

Newer is what the command asks for: it stays within a range or at a tag, and with a Python that is
named, and it never goes down. An exact version in the command is no range, since the policy pins.
"""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import ExitStack
from typing import Any

import msgspec

from mcp_jail.cli.agent import refuse_agent
from mcp_jail.cli.chosen import add_policy_arguments
from mcp_jail.cli.comparison import Comparison, Purpose, compare_judged
from mcp_jail.cli.diff import print_comparison
from mcp_jail.cli.for_programs import json_page
from mcp_jail.cli.install import asked_of, installed, version_now
from mcp_jail.cli.out import bullet, folded, heading
from mcp_jail.cli.progress import Shown
from mcp_jail.cli.seeing import LAUNCH_KEY
from mcp_jail.core import versions
from mcp_jail.core.approved import review as reviews
from mcp_jail.core.approved.lock import is_blank
from mcp_jail.core.packages import Pinned, pinned
from mcp_jail.core.policy import Home, Network, Package, Policy
from mcp_jail.errors import ExitCode, JailError, PackageError, UsageError
from mcp_jail.packages.commands import Asked
from mcp_jail.packages.installed import hold
from mcp_jail.packages.policy_line import line_of, with_version
from mcp_jail.proxy.live import LookError
from mcp_jail.proxy.locking import called
from mcp_jail.proxy.prepare import Judged, judge
from mcp_jail.store.approvals import Answer, carry_out
from mcp_jail.store.places import find_places
from mcp_jail.store.policies import policy_names
from mcp_jail.store.policy_edits import replace_policy

EXAMPLE = """\
  mcp-jail update
  mcp-jail update filesystem
  mcp-jail update --json filesystem"""


class Update(msgspec.Struct, frozen=True, kw_only=True):
    """A newer version of one policy's package, and what its server says other than before."""

    judged: Judged
    now: Pinned
    new: Pinned  # the one that is pinned, where no newer one is there
    found: str  # the version that the registry has
    asked: Asked
    comparison: Comparison | None = None  # None: no lock, or nothing approved to compare with
    problem: str = ""  # why its server did not show what it has

    @property
    def is_one(self) -> bool:
        """Whether there is a newer version at all."""
        return self.now != self.new


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what names a policy, and how to answer."""
    add_policy_arguments(parser)
    parser.add_argument("--yes", action="store_true", help="switch without asking")
    parser.add_argument(
        "--json", action="store_true", help="only look, unless --yes; print it for a program"
    )


def run(arguments: argparse.Namespace) -> int:
    """Look, show, ask, switch; 1 if the answer is no, 6 where a package cannot be had.

    One that cannot be had does not keep the others from being looked at.
    """
    code = ExitCode.OK
    facts = []
    chosen = _chosen(arguments)
    for judged, package in chosen:
        try:
            fact, outcome = _one(judged, package, arguments)
        except PackageError as error:
            if len(chosen) == 1 and not arguments.json:
                raise
            _print_failed(judged, error, arguments)
            fact, outcome = _failed(judged, package, error), ExitCode.PACKAGE
        facts.append(fact)
        code = max(code, outcome)
    if arguments.json:
        sys.stdout.write(json_page(facts))
    elif not facts:
        folded("no policy pins a package")
    return code


def _one(
    judged: Judged, package: Pinned, arguments: argparse.Namespace
) -> tuple[dict[str, Any], ExitCode]:
    """One policy's package; what came of it, for a program and as an exit code."""
    shown = Shown(is_quiet=arguments.json)
    with ExitStack() as until_switched:
        try:
            update = _look(judged, package, shown, until_switched)
        finally:
            shown.end()
        if not update.is_one:
            if not arguments.json:
                bullet(_why_none(update))
            return _facts(update, is_switched=False), ExitCode.OK
        is_switched = _is_agreed(update, arguments)
        if is_switched:
            _switch(update, arguments)
    if not is_switched and not arguments.json:
        bullet(f"{judged.policy.name} stays at {package.version}")
        return _facts(update, is_switched=False), ExitCode.NEGATIVE
    return _facts(update, is_switched=is_switched), ExitCode.OK


def _chosen(arguments: argparse.Namespace) -> list[tuple[Judged, Pinned]]:
    """The policies to look at: the one that is named, or all that pin a package."""
    if arguments.name is not None and arguments.policy is not None:
        raise UsageError("give a policy's NAME or --policy FILE", hint="one of them, not both")
    if arguments.name is not None or arguments.policy is not None:
        judged = judge(name=arguments.name, policy_file=arguments.policy)
        package = pinned(judged.policy.package)
        if package is None:
            hint = f"mcp-jail install {called(judged)} pins the package of an npx or uvx server"
            raise UsageError(f"policy '{judged.policy.name}' pins no package", hint=hint)
        return [(judged, package)]
    found = []
    for name in policy_names(find_places()):
        try:
            judged = judge(name=name, policy_file=None)
        except JailError as error:
            sys.stderr.write(f"mcp-jail: warning: '{name}' is left out: {error.message}\n")
            continue
        package = pinned(judged.policy.package)
        if package is not None:
            found.append((judged, package))
    return found


def _look(judged: Judged, package: Pinned, shown: Shown, until_switched: ExitStack) -> Update:
    """A newer version, installed and kept from being removed, and what its server says."""
    asked = asked_of(judged, package)
    found = version_now(judged, package, shown, asked)
    is_newer = versions.is_newer(package.kind, found, package.version)
    new = msgspec.structs.replace(package, version=found) if is_newer else package
    update = Update(judged=judged, now=package, new=new, found=found, asked=asked)
    if not update.is_one:
        return update
    until_switched.callback(os.close, hold(installed(judged, new, shown, asked)))
    shown.end()
    try:
        return msgspec.structs.replace(update, comparison=_comparison(judged, new))
    except LookError as error:
        return msgspec.structs.replace(update, problem=error.message)


def _why_none(update: Update) -> str:
    name, wanted = update.judged.policy.name, update.asked.wanted
    within = f" of '{wanted}', which its command asks for" if wanted else ""
    if update.found == update.now.version:
        return f"{name}: {update.now} is the newest{within}"
    return f"{name}: stays at {update.now}; the newest{within} is {update.found}, which is older"


def _comparison(judged: Judged, new: Pinned) -> Comparison | None:
    """What the new version's server says against what was approved of the old one's."""
    if not judged.policy.lock.enabled:
        return None
    compared = compare_judged(
        msgspec.structs.replace(judged, policy=_for_a_look(judged.policy, new)),
        command=(),
        items=(),
        is_live=lambda approved, _pending: not is_blank(approved),
        purpose=Purpose(again="update"),
    )
    return None if compared.is_first else compared


def _for_a_look(policy: Policy, new: Pinned) -> Policy:
    """The policy with the new version, of which nothing gets out or stays before anybody agreed."""
    package = msgspec.structs.replace(policy.package or Package(), version=new.version)
    files = policy.filesystem
    return msgspec.structs.replace(
        policy,
        package=package,
        network=Network(),
        filesystem=msgspec.structs.replace(
            files,
            read_only=(*files.read_only, *files.read_write),
            read_write=(),
            home=Home.FRESH,
        ),
    )


def _is_agreed(update: Update, arguments: argparse.Namespace) -> bool:
    """Whether a person wants the new version, after seeing what it changes."""
    if arguments.json:
        return bool(arguments.yes) and not update.problem
    _print_update(update)
    if arguments.yes:
        return not update.problem
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            "update asks a person, and this is no terminal",
            hint="--json only looks; --yes switches without asking",
        )
    sys.stdout.write(f"Switch '{update.judged.policy.name}' to {update.new.version}? [y/N] ")
    sys.stdout.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def _print_update(update: Update) -> None:
    name = update.judged.policy.name
    heading(f"{name}: {update.now} -> {update.new.version}")
    if update.problem:
        folded(f"what it says cannot be shown, without a network: {update.problem}")
    elif update.comparison is not None:
        print_comparison(update.comparison)
    elif update.judged.policy.lock.enabled:
        folded("nothing was approved of this server yet, so there is nothing to compare with")
    else:
        folded("the policy keeps no lock, so there is nothing to compare with")


def _switch(update: Update, arguments: argparse.Namespace) -> None:
    """Write the version, then approve: killed in between, the lock refuses the new launch."""
    judged = update.judged
    refuse_agent(judged.on_disk, "update")
    text = with_version(judged.file.text, update.new)
    replace_policy(judged.file, text, by_hand=line_of(update.new))
    comparison = _to_approve(update, is_launch_alone=arguments.yes)
    if comparison is not None:
        carry_out(
            Answer.APPROVED,
            comparison.shown,
            comparison.again,
            files=comparison.files,
            audit=comparison.audit,
            name=judged.policy.name,
        )
    if not arguments.json:
        _print_done(update, comparison)


def _to_approve(update: Update, *, is_launch_alone: bool) -> Comparison | None:
    """All that a person was shown; where nobody was asked, the launch alone."""
    comparison = update.comparison
    if comparison is None or not comparison.shown.taken_up:
        return None
    if not is_launch_alone:
        return comparison
    seen = comparison.seen
    if seen is None or LAUNCH_KEY not in {each.key for each in comparison.shown.drifts}:
        return None
    launch = reviews.review(comparison.approved, seen, (LAUNCH_KEY,))
    return msgspec.structs.replace(comparison, shown=launch)


def _print_done(update: Update, approved: Comparison | None) -> None:
    name = update.judged.policy.name
    bullet(f"{name} is at {update.new.version}; {update.now.version} stays until mcp-jail prune")
    shown = update.comparison
    if approved is not None and shown is not None:
        left = len(shown.shown.drifts) - len(approved.shown.drifts)
        if left:
            folded(f"what it says otherwise stays hidden: mcp-jail approve {name}")


def _print_failed(judged: Judged, error: PackageError, arguments: argparse.Namespace) -> None:
    if not arguments.json:
        bullet(f"{judged.policy.name}: {error.message}", note=error.hint)


def _failed(judged: Judged, package: Pinned, error: PackageError) -> dict[str, Any]:
    return {
        "name": judged.policy.name,
        package.kind.value: package.name,
        "now": package.version,
        "newest": None,
        "changes": [],
        "problem": error.message,
        "switched": False,
    }


def _facts(update: Update, *, is_switched: bool) -> dict[str, Any]:
    comparison = update.comparison
    drifts = () if comparison is None else comparison.shown.drifts
    return {
        "name": update.judged.policy.name,
        update.now.kind.value: update.now.name,
        "now": update.now.version,
        "newest": update.found,
        "changes": [
            {"key": each.key, "change": each.change.value}
            for each in drifts
            if each.key != LAUNCH_KEY
        ],
        "problem": update.problem,
        "switched": is_switched,
    }
